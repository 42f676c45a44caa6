package registries

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// mask is what a stored secret reads back as, and what means "the stored one" when it is sent.
const mask secret.String = secret.Mask

// Sent is a definition as clients send it.
type Sent struct {
	regcheck.Definition
	RegistryUID string // of the stored registry whose secrets are used; may be empty
	Scope       string
}

// Problems lists what keeps the definition from being tried.
func (s Sent) Problems() []fault.Field {
	return append(LabelProblems(s.RegistryUID, s.Scope), fields(s.Definition.Problems())...)
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

// Complete fills the secrets that a definition leaves empty or masked from the registry that its RegistryUID
// names, if there is one, and lists what then keeps it from being tried. A stored secret goes nowhere but where
// its own definition leads, by the same trust: else whoever may validate could have it sent to a server of
// theirs (CVE-2025-55190 and its like).
//
// Faults: Forbidden; Conflict with CodeSecretUnreadable.
func (s *Service) Complete(ctx context.Context, p auth.Principal, sent Sent) (regcheck.Definition, []fault.Field, error) {
	d := sent.Definition
	if sent.RegistryUID == "" {
		return d, sent.Problems(), nil
	}
	if err := p.May(auth.ValidateRegistries); err != nil {
		return d, nil, err
	}
	kept, err := s.kept(ctx, p.OrgUID, sent.RegistryUID)
	if fault.KindOf(err) == fault.NotFound {
		unknown := []fault.Field{{Field: "registryUid", Problem: "names no registry of your organization"}}
		return d, fault.Join(unknown, without(sent.Problems(), gapsOf(d, store.Registry{}))), nil
	}
	if err != nil {
		return d, nil, err
	}
	filled, unfilled, err := kept.fill(d)
	if err != nil {
		return d, nil, err
	}
	sent.Definition = filled
	return filled, fault.Join(unfilled, sent.Problems()), nil
}

// keptRegistry is a record whose secrets may have turned out to be unreadable.
type keptRegistry struct {
	store.Registry
	damage error
}

// kept reads a record. Damage of its secrets is no error until one is needed.
func (s *Service) kept(ctx context.Context, orgUID, uid string) (k keptRegistry, err error) {
	if !isUID(uid) {
		return k, noSuchRegistry()
	}
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		k.Registry, err = tx.Registries.Get(ctx, orgUID, uid)
		return err
	})
	if errors.Is(err, seal.ErrDamaged) {
		k.damage, err = err, nil
	}
	if err != nil {
		return k, fmt.Errorf("read a registry: %w", notFound(err))
	}
	return k, nil
}

// gap is a secret that a definition wants filled in.
type gap struct {
	field  string
	at     func(*regcheck.Auth) *secret.String
	stored secret.String
	has    bool // one is stored
}

// fill puts stored secrets into the gaps of d. Of each that must not or cannot be filled it tells why.
func (k keptRegistry) fill(d regcheck.Definition) (regcheck.Definition, []fault.Field, error) {
	if d.Auth == nil {
		return d, nil, nil
	}
	gaps := gapsOf(d, k.Registry)
	credentials := *d.Auth
	d.Auth = &credentials
	dropForeignMasks(d.Auth)
	same := sameTarget(d, masked(k.Registry))
	var unfilled []fault.Field
	for _, g := range gaps {
		value := g.at(d.Auth)
		switch {
		case !g.has && *value == mask:
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "is the mask of a stored secret, and none is stored; write the secret itself"})
		case !g.has: // that it is required is for the definition to say
		case !same:
			unfilled = append(unfilled, fault.Field{Field: g.field, Problem: "must be sent: the stored one is used only with the stored endpoint, basePath and auth.tls"})
		case k.damage != nil:
			return d, nil, unreadable(k.damage)
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

// gapsOf lists the secrets that d wants filled from r: those of its type that are empty or masked. A key belongs
// to its certificate, so an empty one is the stored one's only beside the stored certificate; beside another it
// means that there is none.
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

// leftOut tells a secret that is for us to fill in.
func leftOut(value secret.String) bool { return value == "" || value == mask }

// dropForeignMasks takes masks away that do not belong to the type: whoever read a record, changed its type
// and sent it back leaves them behind.
func dropForeignMasks(a *regcheck.Auth) {
	kind := a.Kind()
	if kind != regcheck.Basic && a.Password == mask {
		a.Password = ""
	}
	if kind != regcheck.Token && a.Token == mask {
		a.Token = ""
	}
}

// maskProblems refuses masks where no secret is stored that they could mean.
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

// without leaves out the problems of the secrets that were to be filled in.
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
