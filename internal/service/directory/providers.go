package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Limits of the settings of an identity provider.
const (
	maxScopes   = 20
	maxDomains  = 100
	maxClientID = 512
	maxSecret   = 4096

	maxDefaultTeams = 20
)

// endedByUnlink is the reason for sessions that end because their identity was removed or replaced.
const endedByUnlink = "unlinked"

// Provider is the identity provider of an organization. Its secret is masked.
type Provider struct {
	OrgUID, Issuer string
	identities.Settings
	Secret    secret.String
	ChangedAt time.Time // zero: there is none
}

// Providers manages the identity providers of organizations, and who their users are there.
type Providers struct{ *Directory }

// Problems lists the problems of a provider that can be found without the store, under issuer, clientId, clientSecret, name, scopes,
// emailDomains, claims, userInfo, ca, syncSsoTeams and defaultTeams.
func (d Providers) Problems(p Provider) (problems []fault.Field) {
	name := ""
	if p.Name != "" {
		name = names.NameProblem(p.Name)
	}
	for _, field := range []struct{ name, problem string }{{"issuer", trustrule.IssuerProblem(p.Issuer)},
		{"clientId", textProblem(p.ClientID, maxClientID)}, {"clientSecret", secretProblem(p.Secret)}, {"name", name},
		{"scopes", scopesProblem(p.Scopes)}, {"emailDomains", domainsProblem(p.EmailDomains)}, {"claims", claimsProblem(p.Claims)},
		{"userInfo", claimsProblem(p.UserInfo)},
		{"ca", trustrule.CAProblem(p.CA)}, {"syncSsoTeams", syncProblem(p.Settings)}, {"defaultTeams", manyProblem(p.DefaultTeams)}} {
		problems = append(problems, fault.FieldProblem(field.name, field.problem)...)
	}
	return problems
}

// textProblem returns the problem of a text that is sent in a URL.
func textProblem(text string, limit int) string {
	switch {
	case text == "":
		return "is required"
	case len(text) > limit:
		return fmt.Sprintf("must be at most %d bytes", limit)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return "must have only printable ASCII characters"
	}
	return ""
}

func secretProblem(s secret.String) string {
	if s == "" {
		return ""
	}
	return textProblem(s.Reveal(), maxSecret)
}

func scopesProblem(scopes []string) string {
	if len(scopes) > maxScopes {
		return fmt.Sprintf("must have at most %d entries", maxScopes)
	}
	for _, scope := range scopes {
		if problem := textProblem(scope, 200); problem != "" || strings.ContainsAny(scope, " \"\\") {
			return "must be a list of scopes such as email, each without spaces"
		}
	}
	return ""
}

func domainsProblem(domains []string) string {
	if len(domains) > maxDomains {
		return fmt.Sprintf("must have at most %d entries", maxDomains)
	}
	for _, domain := range domains {
		if names.EmailProblem("a@"+domain) != "" || !strings.Contains(domain, ".") {
			return "must be a list of domains such as example.com"
		}
	}
	return ""
}

// syncProblem requires the claim whose groups get teams.
func syncProblem(s identities.Settings) string {
	if s.SyncTeams && s.Claims[identities.ClaimGroups] == "" {
		return "requires the claim groups"
	}
	return ""
}

func manyProblem(teams []string) string {
	if len(teams) > maxDefaultTeams {
		return fmt.Sprintf("must have at most %d entries", maxDefaultTeams)
	}
	return ""
}

func claimsProblem(claims map[string]string) string {
	known := []string{identities.ClaimEmail, identities.ClaimFirstName, identities.ClaimLastName, identities.ClaimGroups,
		identities.ClaimExternalID}
	for key, claim := range claims {
		if !slices.Contains(known, key) || textProblem(claim, 200) != "" {
			return "must have names of claims, by " + strings.Join(known, ", ")
		}
	}
	return ""
}

// Provider returns the identity provider of the caller's organization, without an issuer if there is none. It requires access.ReadTrusts.
//
// Faults: Forbidden.
func (d Providers) Provider(ctx context.Context, p auth.Principal) (Provider, error) {
	if err := p.May(access.ReadTrusts); err != nil {
		return Provider{}, err
	}
	found, err := store.Read(ctx, d.db, func(tx *store.Tx) (identities.Provider, error) {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return identities.Provider{}, err
		}
		found, err := tx.Identities.Provider(ctx, orgUID)
		if errors.Is(err, store.ErrNotFound) {
			return identities.Provider{OrgUID: orgUID}, nil
		}
		return found, err
	})
	return visibleProvider(found), fault.Wrap("look up the identity provider", err)
}

// Set replaces the identity provider of the caller's organization. A secret that is empty or masked is the stored one, if the issuer and
// the certificates that it is trusted by stay: it is never sent to another. UserInfo that is nil is the stored one too.
//
// Faults: Invalid with the fields of Problems; Forbidden.
func (d Providers) Set(ctx context.Context, p auth.Principal, origin audit.Origin, input Provider) error {
	input.EmailDomains = canonicals(input.EmailDomains)
	if problems := d.Problems(input); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateTrusts, action: audit.ProviderUpdate,
		object: input.Issuer}, func(tx *store.Tx) (changeResult, error) {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err == nil { // the provider decides who logs in, also as an administrator
			err = roles.MayGive(ctx, tx, p, orgUID, "issuer", auth.RoleAdmin, "")
		}
		if err != nil {
			return changeResult{}, err
		}
		next := identities.Provider{OrgUID: orgUID, Issuer: input.Issuer, Settings: input.Settings, ChangedAt: d.now()}
		stored, err := tx.Identities.Provider(ctx, orgUID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return changeResult{}, err
		}
		if next.Settings.DefaultTeams, err = teamUIDs(ctx, tx, orgUID, input.DefaultTeams, stored.Settings.DefaultTeams); err != nil {
			return changeResult{}, err
		}
		if input.UserInfo == nil {
			next.Settings.UserInfo = stored.Settings.UserInfo
		}
		if next.Secret, err = secretOf(input, stored); err != nil {
			return changeResult{}, err
		}
		return changeResult{orgUID: orgUID, uid: input.Issuer}, tx.Identities.PutProvider(ctx, next)
	})
}

// unixLines returns a PEM text as a file has it: browsers send \r\n.
func unixLines(pem string) string { return strings.TrimSpace(strings.ReplaceAll(pem, "\r\n", "\n")) }

// secretOf returns the secret of a provider that is set: the stored one for one that is empty or masked.
func secretOf(input Provider, stored identities.Provider) (secret.String, error) {
	if input.Secret != "" && input.Secret.Reveal() != secret.Mask {
		return input.Secret, nil
	}
	problem := ""
	switch {
	case stored.Secret != "" && stored.Issuer != input.Issuer:
		problem = "is required with another issuer: the stored one is not sent to it"
	case stored.Secret != "" && input.CA != "" && unixLines(input.CA) != unixLines(stored.Settings.CA):
		problem = "is required with another ca: the owner of its key could pose as the issuer, and get the stored one"
	case stored.Secret == "" && input.Secret != "":
		problem = "is required: none is stored"
	}
	if problem != "" {
		return "", fault.InvalidField("clientSecret", problem)
	}
	return stored.Secret, nil
}

// teamUIDs returns the uids of teams that are given by uid or name. The stored uid of a team that was deleted since stays: a client sends
// it back with every change, and without default teams new users could become members of the organization.
func teamUIDs(ctx context.Context, tx *store.Tx, orgUID string, given, stored []string) (uids []string, err error) {
	var problems []fault.Field
	for i, named := range given {
		team, err := findTeam(ctx, tx, orgUID, named)
		if fault.KindOf(err) == fault.NotFound && slices.Contains(stored, named) {
			team.UID, err = named, nil
		}
		if fault.KindOf(err) == fault.NotFound {
			problems = append(problems, fault.Field{Field: fmt.Sprintf("defaultTeams[%d]", i),
				Problem: "does not exist in your organization"})
		} else if err != nil {
			return nil, err
		}
		uids = append(uids, team.UID)
	}
	if len(problems) > 0 {
		return nil, fault.InvalidFields(problems...)
	}
	return uids, nil
}

func canonicals(given []string) (list []string) {
	for _, name := range given {
		list = append(list, names.Canonical(name))
	}
	return list
}

// Delete deletes the identity provider. Sessions that began there end at their next check.
//
// Faults: Forbidden; NotFound.
func (d Providers) Delete(ctx context.Context, p auth.Principal, origin audit.Origin) error {
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.DeleteTrusts, action: audit.ProviderDelete},
		func(tx *store.Tx) (changeResult, error) {
			orgUID, err := p.FindOrgUID(ctx, tx)
			if err == nil {
				err = providerNotFound(tx.Identities.DeleteProvider(ctx, orgUID))
			}
			return changeResult{orgUID: orgUID}, err
		})
}

// Link stores who a user is at the identity provider, in place of what was stored; without a subject it removes that. It is how an
// existing user, who may have a password, gets to log in there. Sessions that began by what was stored end.
//
// Faults: Invalid with field subject; Forbidden; NotFound for the user or the provider.
func (d Providers) Link(ctx context.Context, p auth.Principal, origin audit.Origin, named, subject string) error {
	if subject != "" {
		if problem := textProblem(subject, 255); problem != "" {
			return fault.InvalidField("subject", problem)
		}
	}
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.ChangeUsers, action: audit.UserLink, object: named},
		func(tx *store.Tx) (changeResult, error) {
			org, user, err := p.FindUser(ctx, tx, named)
			if err == nil {
				err = p.Covers(ctx, tx, user)
			}
			if err != nil {
				return changeResult{}, err
			}
			result := changeResult{orgUID: org.UID, uid: user.UID}
			if err := auth.UserNotFound(d.unlink(ctx, tx, p, origin, user)); err != nil || subject == "" {
				return result, err
			}
			provider, err := tx.Identities.Provider(ctx, org.UID)
			if err != nil {
				return result, providerNotFound(err)
			}
			err = tx.Identities.Insert(ctx, identities.Identity{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID,
				Issuer: provider.Issuer, Subject: subject, CreatedAt: d.now()})
			if errors.Is(err, store.ErrExists) {
				err = fault.InvalidField("subject", "belongs to another user of your organization")
			}
			return result, err
		})
}

// unlink deletes the identities of a user and ends the sessions that began by them: the provider is not asked about them any more.
func (d Providers) unlink(ctx context.Context, tx *store.Tx, p auth.Principal, origin audit.Origin, user store.User) error {
	if err := tx.Users.Lock(ctx, user.OrgUID, user.UID); err != nil {
		return err
	}
	list, err := tx.Identities.OfUser(ctx, user.OrgUID, user.UID)
	for i := 0; i < len(list) && err == nil; i++ {
		err = d.endSessions(ctx, tx, p, origin, list[i])
	}
	if err != nil {
		return err
	}
	return tx.Identities.DeleteOfUser(ctx, user.OrgUID, user.UID)
}

// endSessions ends the live sessions of an identity.
func (d Providers) endSessions(ctx context.Context, tx *store.Tx, p auth.Principal, origin audit.Origin,
	identity identities.Identity) error {
	now := d.now()
	sessions, err := tx.Identities.Live(ctx, identity.UID, now)
	for i := 0; i < len(sessions) && err == nil; i++ {
		if _, err = tx.Sessions.End(ctx, sessions[i], endedByUnlink, now); err == nil {
			record := p.Succeeded(origin, audit.SessionEnd, sessions[i], now)
			record.OrgUID, record.Target, record.Reason = identity.OrgUID, identity.Subject, endedByUnlink
			err = tx.Audits.Append(ctx, record)
		}
	}
	return err
}

// Identity returns who a user is at the identity provider, empty if that is not known: any user of the organization with access.ReadUsers,
// for others themselves.
//
// Faults: Forbidden; NotFound.
func (d Providers) Identity(ctx context.Context, p auth.Principal, named string) (issuer, subject string, err error) {
	if !p.Can(access.ReadUsers) && named != p.UserUID {
		return "", "", p.May(access.ReadUsers)
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		org, user, err := p.FindUser(ctx, tx, named)
		if err != nil {
			return err
		}
		list, err := tx.Identities.OfUser(ctx, org.UID, user.UID)
		for _, one := range list {
			issuer, subject = one.Issuer, one.Subject
		}
		return err
	})
	return issuer, subject, fault.Wrap("look up an identity", err)
}

func providerNotFound(err error) error {
	return auth.NotFoundAs(err, "The organization has no identity provider.")
}

func visibleProvider(p identities.Provider) Provider {
	visible := Provider{OrgUID: p.OrgUID, Issuer: p.Issuer, Settings: p.Settings, ChangedAt: p.ChangedAt}
	if p.Secret != "" {
		visible.Secret = secret.Mask
	}
	return visible
}
