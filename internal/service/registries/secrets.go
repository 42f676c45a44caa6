package registries

import (
	"context"
	"maps"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// mask replaces a stored secret that is shown, and stands for the stored secret when it is sent.
const mask secret.String = secret.Mask

// SentDefinition is a definition to check, as clients send it.
type SentDefinition struct {
	regcheck.Definition
	RegistryUID string // the stored registry whose secrets are used; may be empty
	Scope       string
}

// parse parses a definition, and lists its problems with those of the fields that the engine does not have.
func (d SentDefinition) parse() (*regcheck.Plan, []fault.Field) {
	found := append(fault.FieldProblem("registryUid", regcheck.TextProblem(d.RegistryUID)),
		fault.FieldProblem("scope", regcheck.TextProblem(d.Scope))...)
	plan, problems := regcheck.Parse(d.Definition)
	return plan, append(found, faultFields(problems)...)
}

// Parse parses a definition whose empty or masked secrets are filled in from the stored registry with its RegistryUID, if set, and
// lists all problems. The plan can be used only without any. A stored secret is used only with the target and the trusted certificates
// of its own definition: otherwise every user who may validate could have it sent to a server of their choice (CVE-2025-55190).
//
// Faults: Forbidden; Conflict with CodeSecretUnreadable.
func (s *Service) Parse(ctx context.Context, p auth.Principal, sent SentDefinition) (*regcheck.Plan, []fault.Field, error) {
	if sent.RegistryUID == "" {
		plan, problems := sent.parse()
		return plan, problems, nil
	}
	if err := p.MayAnywhere(access.ValidateRegistries); err != nil {
		return nil, nil, err
	}
	stored, err := s.read(ctx, p.OrgUID, sent.RegistryUID)
	if err == nil && !p.CanIn(access.ValidateRegistries, stored.ProjectUID) {
		err = NotFound(store.ErrNotFound)
	}
	if fault.KindOf(err) == fault.NotFound {
		_, problems := sent.parse()
		unknown := []fault.Field{{Field: "registryUid", Problem: "does not exist in your organization"}}
		return nil, fault.Join(unknown, without(problems, gapsOf(sent.Definition, store.Registry{}))), nil
	}
	if err != nil {
		return nil, nil, err
	}
	filled, unfilled, err := stored.fill(sent.Definition)
	if err != nil {
		return nil, nil, err
	}
	sent.Definition = filled
	plan, problems := sent.parse()
	return plan, fault.Join(unfilled, problems), nil
}

// Why a stored secret is not used.
const (
	otherTarget regcheck.Text = "must be sent: the stored secret is used only with the stored {endpoint}, {basePath} and {auth.tls}"
	otherHosts  regcheck.Text = "must be sent: the stored secret is sent to other hosts only if it was stored with {auth.passCredentials}"
)

// gap is a secret that must be filled in.
type gap struct {
	regcheck.AuthSecret
	stored secret.String
	has    bool // a secret is stored
}

// fill fills the gaps of d with stored secrets. unfilled has the reasons for gaps that must not or cannot be filled.
func (r storedRegistry) fill(d regcheck.Definition) (filled regcheck.Definition, unfilled []fault.Field, err error) {
	if d.Auth == nil {
		return d, nil, nil
	}
	d.Auth = d.Auth.Clone()
	dropForeignMasks(d.Auth)
	gaps := gapsOf(d, r.Registry)
	same := sameTarget(d, masked(r.Registry))
	for _, g := range gaps {
		switch {
		case !g.has && *g.Value == mask:
			unfilled = append(unfilled, fault.Field{Field: g.Field, Problem: noneStored(d.Auth)})
		case !g.has: // reported by the definition as required
		case !same:
			unfilled = append(unfilled, unusedSecret(g.Field, otherTarget))
		case passes(d) && !passes(masked(r.Registry)):
			unfilled = append(unfilled, unusedSecret(g.Field, otherHosts))
		case r.damage != nil:
			return d, nil, SecretUnreadable(r.damage)
		default:
			*g.Value = g.stored
		}
	}
	return d, unfilled, nil
}

func unusedSecret(field string, why regcheck.Text) fault.Field {
	return fault.Field{Field: field, Problem: regcheck.Audience{}.Show(why), Text: why}
}

// passes reports whether credentials are sent to the hosts that the index of a chart repository names.
func passes(d regcheck.Definition) bool { return d.Auth != nil && d.Auth.PassCredentials }

// noneStored is the problem of a mask for which there is no secret.
func noneStored(a *regcheck.Auth) string {
	if a.Kind().IsObtained() {
		return "must be sent: a stored secret is used only with the settings that it was stored with"
	}
	return "is a mask, but no secret is stored; send the secret itself"
}

// sameTarget reports whether secrets stored with one definition may be sent by the other: both have the same scheme, host, port and
// path and trust the same certificates. A definition that is not valid has no target.
func sameTarget(a, b regcheck.Definition) bool {
	return a.Registry() != "" && a.Registry() == b.Registry() && trust(a) == trust(b)
}

// trust returns the part of auth.tls that decides which servers are trusted.
func trust(d regcheck.Definition) regcheck.TLS {
	if d.Auth == nil || !d.Auth.TLS.Enabled {
		return regcheck.TLS{}
	}
	tls := d.Auth.TLS
	return regcheck.TLS{CA: strings.TrimSpace(tls.CA), Certificate: strings.TrimSpace(tls.Certificate),
		InsecureSkipVerify: tls.InsecureSkipVerify}
}

// gapsOf lists the secrets of d to fill in from r: those of its type that are empty or masked. A key belongs to its certificate, so an
// empty key stands for the stored one only with the stored certificate; a secret with which credentials are obtained belongs to its
// identity in the same way.
func gapsOf(d regcheck.Definition, r store.Registry) []gap {
	a := d.Auth
	if a == nil {
		return nil
	}
	var gaps []gap
	_, encrypted := settingsOf(a)
	same := sameIdentity(a, r)
	for _, s := range a.Secrets() {
		g, optional := gap{s, r.Secrets.Password, r.HasPassword && same}, false
		switch {
		case s.Field == "auth.tls.key":
			g.stored, g.has = r.Secrets.Key, r.HasKey
			optional = !a.TLS.Enabled || a.TLS.Certificate == "" || a.TLS.Certificate != r.Certificate || !r.HasKey
		case s.Type != a.Kind():
			continue
		case s.Value == encrypted.second:
			g.stored, g.has = r.Secrets.Token, r.HasToken && same
			optional = s.Type != regcheck.Token
		}
		if *s.Value == mask || *s.Value == "" && !optional {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// sameIdentity reports whether stored secrets belong to the identity with which a obtains credentials. A secret of one that is obtained
// with must never be sent to a registry as its password.
func sameIdentity(a *regcheck.Auth, r store.Registry) bool {
	kind, stored := a.Kind(), regcheck.AuthType(r.AuthType)
	if !kind.IsObtained() {
		return !stored.IsObtained()
	}
	settings, _ := settingsOf(a)
	return kind == stored && maps.Equal(settings, r.AuthSettings)
}

// dropForeignMasks removes masks of other authentication types. They remain when a client reads a definition, changes its type and
// sends it back.
func dropForeignMasks(a *regcheck.Auth) {
	for _, s := range a.Secrets() {
		if s.Type != "" && s.Type != a.Kind() && *s.Value == mask {
			*s.Value = ""
		}
	}
}

// maskProblems reports masks in a new definition, which has no stored secrets.
func maskProblems(d regcheck.Definition) (found []fault.Field) {
	if d.Auth == nil {
		return nil
	}
	for _, s := range d.Auth.Secrets() {
		if *s.Value == mask {
			found = append(found, fault.Field{Field: s.Field, Problem: "is a mask; send the secret itself"})
		}
	}
	return found
}

// without returns the problems except those of gaps.
func without(problems []fault.Field, gaps []gap) (rest []fault.Field) {
	skip := map[string]bool{}
	for _, g := range gaps {
		skip[g.Field] = true
	}
	for _, p := range problems {
		if !skip[p.Field] {
			rest = append(rest, p)
		}
	}
	return rest
}
