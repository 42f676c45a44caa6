package federation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// refusal is the error of a login that the provider vouches for and that is refused here.
type refusal string

func (r refusal) Error() string { return "the login is refused: " + string(r) }

// vouch returns the login of a person. Without a refresh token the provider cannot be asked, so then the session ends instead.
// The login is completed once: a provider that accepts a code again does not make a cookie that was retained one of a new session.
func (s *SSO) vouch(ctx context.Context, origin audit.Origin, org store.Org, p *provider, begun pending, claimed presented,
	token *oauth2.Token) auth.Vouched {
	now := s.service.config.Now()
	next, refresh := now.Add(s.recheck), secret.String(token.RefreshToken)
	v := auth.Vouched{OrgUID: org.UID, Method: audit.MethodOIDC, Target: claimed.subject, RecheckAt: next}
	if refresh == "" {
		v.Until, v.RecheckAt = next, time.Time{}
	}
	var identity identities.Identity
	state := sha256.Sum256([]byte("state\x00" + begun.State))
	v.User = func(tx *store.Tx) (user store.User, err error) {
		if first, err := tx.Identities.UseOnce(ctx, org.UID, state[:], now, begun.Ends); err != nil || !first {
			return user, cmp.Or(err, error(refusal(reasonUsed)))
		}
		if identity, user, err = s.userOf(ctx, tx, origin, p, claimed); err == nil && !user.DisabledAt.IsZero() {
			err = refusal(reasonUserDisabled)
		}
		if err == nil {
			err = s.setTeams(ctx, tx, origin, p.Provider, user, claimed.claims)
		}
		return user, err
	}
	v.Stored = func(tx *store.Tx, session string) error {
		sid, _ := claimed.claims["sid"].(string)
		err := tx.Identities.Bind(ctx, identities.Session{SessionUID: session, IdentityUID: identity.UID, SID: sid,
			IDToken: secret.String(claimed.raw)})
		if err != nil || refresh == "" {
			return err
		}
		return tx.Identities.Verified(ctx, identity.UID, refresh, next)
	}
	return v
}

// userOf returns the user that a person is, by issuer and subject. A person who is not known becomes a new user. An email never leads to
// an existing user: another one may own it at the provider, or claim to.
func (s *SSO) userOf(ctx context.Context, tx *store.Tx, origin audit.Origin, p *provider, claimed presented) (
	identity identities.Identity, user store.User, err error) {
	identity, err = tx.Identities.BySubject(ctx, p.OrgUID, p.Issuer, claimed.subject)
	if err == nil {
		user, err = tx.Users.Get(ctx, p.OrgUID, identity.UserUID)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return identity, user, err
	}
	if identity, user, err = s.provisionedUser(ctx, tx, origin, p, claimed); !errors.Is(err, store.ErrNotFound) {
		return identity, user, err
	}
	user, reason := s.newUser(p, claimed)
	if reason != "" {
		return identity, user, refusal(reason)
	}
	if _, err = tx.Users.ByEmail(ctx, p.OrgUID, user.Canonical); err == nil {
		err = refusal(reasonEmailTaken)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return identity, user, err
	}
	identity = identities.Identity{UID: uuid.NewString(), OrgUID: p.OrgUID, UserUID: user.UID, Issuer: p.Issuer, Subject: claimed.subject,
		CreatedAt: user.CreatedAt}
	if err = tx.Users.Insert(ctx, user); err == nil {
		err = tx.Identities.Insert(ctx, identity)
	}
	if err == nil {
		err = tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: user.CreatedAt, OrgUID: p.OrgUID, ActorUID: user.UID,
			ActorName: user.Email, Method: audit.MethodOIDC, Action: audit.UserCreate, Object: user.UID, Outcome: audit.Succeeded,
			Origin: origin})
	}
	return identity, user, err
}

// provisionedUser returns the user that the identity provider created by SCIM for a person, and stores that both are the same from now on.
// It is one without a password and without another subject there: who has one is not handed over because an id was set later.
func (s *SSO) provisionedUser(ctx context.Context, tx *store.Tx, origin audit.Origin, p *provider, claimed presented) (
	identity identities.Identity, user store.User, err error) {
	id, _ := claimed.claims[p.Settings.Claim(identities.ClaimExternalID)].(string)
	if id == "" {
		return identity, user, store.ErrNotFound
	}
	found, err := tx.SCIM.Users.ByExternalID(ctx, p.OrgUID, id)
	if err != nil {
		return identity, user, err
	}
	if user, err = tx.Users.Get(ctx, p.OrgUID, found.UID); err != nil {
		return identity, user, err
	}
	known, err := tx.Identities.OfUser(ctx, p.OrgUID, user.UID)
	isHere := func(i identities.Identity) bool { return i.Issuer == p.Issuer }
	if err != nil || !found.Created || user.PasswordHash != "" || slices.ContainsFunc(known, isHere) {
		return identity, user, cmp.Or(err, store.ErrNotFound)
	}
	now := s.service.config.Now()
	identity = identities.Identity{UID: uuid.NewString(), OrgUID: p.OrgUID, UserUID: user.UID, Issuer: p.Issuer, Subject: claimed.subject,
		CreatedAt: now}
	if err = tx.Identities.Insert(ctx, identity); err == nil {
		err = tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: p.OrgUID, ActorUID: user.UID, ActorName: user.Email,
			Method: audit.MethodOIDC, Action: audit.UserLink, Object: user.UID, Target: claimed.subject, Outcome: audit.Succeeded,
			Reason: "externalId", Origin: origin})
	}
	return identity, user, err
}

// newUser returns the user of a person who is not known yet, or why there is none.
func (s *SSO) newUser(p *provider, claimed presented) (user store.User, reason string) {
	text := func(key string) string {
		value, _ := claimed.claims[p.Settings.Claim(key)].(string)
		return strings.TrimSpace(value)
	}
	email := text(identities.ClaimEmail)
	said, given := isVerified(claimed.claims["email_verified"])
	about := p.Settings.Claim(identities.ClaimEmail) == "email" && // email_verified is about that claim alone
		cmp.Or(p.Settings.UserInfo[identities.ClaimEmail], "email") == "email"
	verified := said && about || (!given || said) && p.Settings.EmailsVerified
	_, domain, _ := strings.Cut(names.Canonical(email), "@")
	switch restricted := len(p.Settings.EmailDomains) > 0; {
	case names.EmailProblem(email) != "":
		return user, reasonNoEmail
	case given && !said, restricted && !verified:
		return user, reasonUnverified
	case restricted && !slices.Contains(p.Settings.EmailDomains, domain):
		return user, reasonEmailDomain
	}
	now, role := s.service.config.Now(), access.Member
	if p.Settings.UseTeams() {
		role = access.None
	}
	return store.User{UID: uuid.NewString(), OrgUID: p.OrgUID, Email: email, Canonical: names.Canonical(email),
		FirstName: name(text(identities.ClaimFirstName)), LastName: name(text(identities.ClaimLastName)), Role: string(role),
		PasswordChangedAt: now, CreatedAt: now}, ""
}

// name returns a name that can be stored.
func name(text string) string {
	if names.NameProblem(text) != "" {
		return ""
	}
	return text
}

// isVerified reads the claim email_verified, which some providers send as a text.
func isVerified(claim any) (verified, given bool) {
	switch value := claim.(type) {
	case nil:
		return false, false
	case bool:
		return value, true
	}
	return claim == "true", true
}
