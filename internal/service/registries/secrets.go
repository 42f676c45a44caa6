package registries

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
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

// Problems lists all problems of a definition to check, including LabelProblems.
func Problems(d regcheck.Definition, registryUID, scope string) []fault.Field {
	return append(LabelProblems(registryUID, scope), Fields(d.Problems())...)
}

// LabelProblems lists the problems of the fields that the engine does not have.
func LabelProblems(registryUID, scope string) (found []fault.Field) {
	for _, f := range []fault.Field{
		{Field: "registryUid", Problem: regcheck.TextProblem(registryUID)}, {Field: "scope", Problem: regcheck.TextProblem(scope)},
	} {
		if f.Problem != "" {
			found = append(found, f)
		}
	}
	return found
}

// FillSecrets returns the definition with empty or masked secrets filled in from the stored registry with its RegistryUID, if set, and
// lists the remaining problems. A stored secret is used only with the target and the trusted certificates of its own definition:
// otherwise every user who may validate could have it sent to a server of their choice (CVE-2025-55190).
//
// Faults: Forbidden; Conflict with CodeSecretUnreadable.
func (s *Service) FillSecrets(ctx context.Context, p auth.Principal, sent SentDefinition) (regcheck.Definition, []fault.Field, error) {
	d, problems := sent.Definition, func(d regcheck.Definition) []fault.Field { return Problems(d, sent.RegistryUID, sent.Scope) }
	if sent.RegistryUID == "" {
		return d, problems(d), nil
	}
	if err := p.May(auth.ValidateRegistries); err != nil {
		return d, nil, err
	}
	stored, err := s.read(ctx, p.OrgUID, sent.RegistryUID)
	if fault.KindOf(err) == fault.NotFound {
		unknown := []fault.Field{{Field: "registryUid", Problem: "does not exist in your organization"}}
		return d, fault.Join(unknown, without(problems(d), gapsOf(d, store.Registry{}))), nil
	}
	if err != nil {
		return d, nil, err
	}
	filled, unfilled, err := stored.fill(d)
	if err != nil {
		return d, nil, err
	}
	return filled, fault.Join(unfilled, problems(filled)), nil
}

// gap is a secret that must be filled in.
type gap struct {
	field  string
	at     func(*regcheck.Auth) *secret.String
	stored secret.String
	has    bool // a secret is stored
}

// fill fills the gaps of d with stored secrets. unfilled has the reasons for gaps that must not or cannot be filled.
func (r storedRegistry) fill(d regcheck.Definition) (filled regcheck.Definition, unfilled []fault.Field, err error) {
	if d.Auth == nil {
		return d, nil, nil
	}
	gaps := gapsOf(d, r.Registry)
	credentials := *d.Auth
	d.Auth = &credentials
	dropForeignMasks(d.Auth)
	same := sameTarget(d, masked(r.Registry))
	for _, g := range gaps {
		value := g.at(d.Auth)
		switch {
		case !g.has && *value == mask:
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "is a mask, but no secret is stored; send the secret itself"})
		case !g.has: // reported by the definition as required
		case !same:
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "must be sent: the stored secret is used only with the stored endpoint, basePath and auth.tls"})
		case r.damage != nil:
			return d, nil, SecretUnreadable(r.damage)
		default:
			*value = g.stored
		}
	}
	return d, unfilled, nil
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
// empty key stands for the stored one only with the stored certificate.
func gapsOf(d regcheck.Definition, r store.Registry) []gap {
	a := d.Auth
	if a == nil {
		return nil
	}
	var gaps []gap
	if a.Kind() == regcheck.Basic && leftOut(a.Password) {
		gaps = append(gaps, gap{"auth.password", func(a *regcheck.Auth) *secret.String { return &a.Password }, r.Secrets.Password, r.HasPassword})
	}
	if a.Kind() == regcheck.Token && leftOut(a.Token) {
		gaps = append(gaps, gap{"auth.token", func(a *regcheck.Auth) *secret.String { return &a.Token }, r.Secrets.Token, r.HasToken})
	}
	pair := a.TLS.Enabled && a.TLS.Certificate != "" && a.TLS.Certificate == r.Certificate && r.HasKey
	if a.TLS.Key == mask || a.TLS.Key == "" && pair {
		gaps = append(gaps, gap{"auth.tls.key", func(a *regcheck.Auth) *secret.String { return &a.TLS.Key }, r.Secrets.Key, r.HasKey})
	}
	return gaps
}

// leftOut reports whether a secret must be filled in.
func leftOut(value secret.String) bool { return value == "" || value == mask }

// dropForeignMasks removes masks of other authentication types. They remain when a client reads a definition, changes its type and
// sends it back.
func dropForeignMasks(a *regcheck.Auth) {
	kind := a.Kind()
	if kind != regcheck.Basic && a.Password == mask {
		a.Password = ""
	}
	if kind != regcheck.Token && a.Token == mask {
		a.Token = ""
	}
}

// maskProblems reports masks in a new definition, which has no stored secrets.
func maskProblems(d regcheck.Definition) (found []fault.Field) {
	if d.Auth == nil {
		return nil
	}
	for _, s := range []struct {
		field string
		value secret.String
	}{{"auth.password", d.Auth.Password}, {"auth.token", d.Auth.Token}, {"auth.tls.key", d.Auth.TLS.Key}} {
		if s.value == mask {
			found = append(found, fault.Field{Field: s.field, Problem: "is a mask; send the secret itself"})
		}
	}
	return found
}

// without returns the problems except those of gaps.
func without(problems []fault.Field, gaps []gap) (rest []fault.Field) {
	skip := map[string]bool{}
	for _, g := range gaps {
		skip[g.field] = true
	}
	for _, p := range problems {
		if !skip[p.Field] {
			rest = append(rest, p)
		}
	}
	return rest
}
