package registries

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// CodeSecretUnreadable is the code for required secrets of a stored registry that cannot be decrypted.
const CodeSecretUnreadable = "RegistrySecretUnreadable"

// Opened is a stored registry with its definition including secrets.
type Opened struct {
	Registry   Registry // secrets masked
	Definition regcheck.Definition
	Plan       *regcheck.Plan // of the definition, from Open
}

// Load reads a registry for the service itself. The caller checks permissions.
//
// Faults: NotFound; Conflict with CodeSecretUnreadable, and then the definition is returned without its secrets.
func (s *Service) Load(ctx context.Context, orgUID, uid string) (Opened, error) {
	stored, err := s.read(ctx, orgUID, uid)
	if err != nil {
		return Opened{}, err
	}
	opened := Opened{Registry: visible(stored.Registry), Definition: definitionOf(stored.Registry)}
	if stored.damage != nil {
		return opened, SecretUnreadable(stored.damage)
	}
	return opened, nil
}

// Open returns a stored registry for a check from the command line, with its definition changed by change for this check. A stored
// secret is used only with the target of the stored definition; change gets masks instead of secrets.
//
// Faults: Forbidden; NotFound; Invalid with the fields of the definition; Conflict with CodeSecretUnreadable.
func (s *Service) Open(ctx context.Context, p auth.Principal, nameOrUID string,
	change func(*regcheck.Definition) error) (Opened, error) {
	if err := p.May(access.OpenRegistries); err != nil {
		return Opened{}, err
	}
	found, err := s.Find(ctx, p, nameOrUID)
	if err != nil {
		return Opened{}, err
	}
	stored, err := s.read(ctx, found.OrgUID, found.UID)
	if err != nil {
		return Opened{}, err
	}
	changed := masked(stored.Registry)
	if err := change(&changed); err != nil {
		return Opened{}, err
	}
	filled, problems, err := stored.fill(changed)
	if err != nil {
		return Opened{}, err
	}
	plan, wrong := regcheck.Parse(filled)
	if problems = fault.Join(problems, faultFields(wrong)); len(problems) > 0 {
		return Opened{}, fault.InvalidFields(problems...)
	}
	return Opened{visible(stored.Registry), filled, plan}, nil
}

// storedRegistry is a stored registry. damage is set if its secrets cannot be decrypted.
type storedRegistry struct {
	store.Registry
	damage error
}

// read reads a registry with its secrets. Damaged secrets are an error only when one is needed.
func (s *Service) read(ctx context.Context, orgUID, uid string) (stored storedRegistry, err error) {
	if err := CheckUID(uid); err != nil {
		return stored, err
	}
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		stored.Registry, err = tx.Registries.Get(ctx, orgUID, uid)
		return err
	})
	if errors.Is(err, seal.ErrDamaged) {
		stored.damage, err = err, nil
	}
	return stored, fault.Wrap("read a registry", NotFound(err))
}

// SecretUnreadable returns the fault with CodeSecretUnreadable.
func SecretUnreadable(cause error) *fault.Error {
	return &fault.Error{Kind: fault.Conflict, Code: CodeSecretUnreadable, Cause: cause,
		Message: "The stored secrets of this registry cannot be decrypted. Send the registry again with its secrets."}
}
