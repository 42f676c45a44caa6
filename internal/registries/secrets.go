package registries

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// mask is what a stored secret reads back as, and what means "the stored one" when it is sent.
const mask secret.String = secret.Mask

// SentDefinition is a definition to check, as clients send it.
type SentDefinition struct {
	regcheck.Definition
	RegistryUID string // of the stored registry whose secrets are used; may be empty
	Scope       string
}

// Problems lists what keeps a definition from being checked, those of LabelProblems among them.
func Problems(d regcheck.Definition, registryUID, scope string) []fault.Field {
	return append(LabelProblems(registryUID, scope), Fields(d.Problems())...)
}

// LabelProblems lists what is wrong with the fields that the engine does not have.
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

// FillSecrets returns the definition with the secrets that it leaves empty or masked filled in from the registry that its
// RegistryUID names, if there is one, and lists what then keeps it from being checked. A stored secret is used only with the target
// and the trust of its own definition: otherwise every user who may validate could have it sent to a server of their choice
// (CVE-2025-55190).
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
		unknown := []fault.Field{{Field: "registryUid", Problem: "names no registry of your organization"}}
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

// gap is a secret to be filled in.
type gap struct {
	field  string
	at     func(*regcheck.Auth) *secret.String
	stored secret.String
	has    bool // one is stored
}

// fill fills the gaps of d with stored secrets. unfilled says why a gap must not or cannot be filled.
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
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "is the mask of a stored secret, and none is stored; write the secret itself"})
		case !g.has: // that it is required is for the definition to say
		case !same:
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "must be sent: the stored one is used only with the stored endpoint, basePath and auth.tls"})
		case r.damage != nil:
			return d, nil, SecretUnreadable(r.damage)
		default:
			*value = g.stored
		}
	}
	return d, unfilled, nil
}

// sameTarget reports whether secrets stored with one definition may be sent by the other: both have the same scheme, host,
// port and path and trust the same certificates. A definition that cannot be used has no target.
func sameTarget(a, b regcheck.Definition) bool {
	return a.Registry() != "" && a.Registry() == b.Registry() && trust(a) == trust(b)
}

// trust returns the part of auth.tls that decides which servers are trusted.
func trust(d regcheck.Definition) regcheck.TLS {
	if d.Auth == nil || !d.Auth.TLS.Enabled {
		return regcheck.TLS{}
	}
	tls := d.Auth.TLS
	return regcheck.TLS{CA: strings.TrimSpace(tls.CA), Certificate: strings.TrimSpace(tls.Certificate), InsecureSkipVerify: tls.InsecureSkipVerify}
}

// gapsOf lists the secrets of d that are to be filled from r: those of its type that are empty or masked. A key belongs to its
// certificate, so an empty key means the stored one only with the stored certificate; with another certificate there is none.
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

// leftOut reports whether a secret is to be filled in.
func leftOut(value secret.String) bool { return value == "" || value == mask }

// dropForeignMasks removes the masks that do not belong to the type. They are left in a definition that was read, given another
// type and sent back.
func dropForeignMasks(a *regcheck.Auth) {
	kind := a.Kind()
	if kind != regcheck.Basic && a.Password == mask {
		a.Password = ""
	}
	if kind != regcheck.Token && a.Token == mask {
		a.Token = ""
	}
}

// maskProblems refuses the masks of a new definition, which has no stored secret.
func maskProblems(d regcheck.Definition) (found []fault.Field) {
	if d.Auth == nil {
		return nil
	}
	for _, s := range []struct {
		field string
		value secret.String
	}{{"auth.password", d.Auth.Password}, {"auth.token", d.Auth.Token}, {"auth.tls.key", d.Auth.TLS.Key}} {
		if s.value == mask {
			found = append(found, fault.Field{Field: s.field, Problem: "is the mask of a stored secret; write the secret itself"})
		}
	}
	return found
}

// without returns the problems but those of gaps.
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
