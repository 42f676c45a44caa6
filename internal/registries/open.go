package registries

import (
	"context"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

// Opened is a kept definition with its secrets in it.
type Opened struct {
	Registry   Registry // as it is kept, secrets masked
	Definition regcheck.Definition
}

// Open returns a kept definition to be tried from the command line, with what the operator wants different for
// this once. A stored secret goes nowhere but where the kept definition leads; change sees the masks alone.
//
// Faults: Forbidden; NotFound; Invalid with the fields of the definition; Conflict with CodeSecretUnreadable.
func (s *Service) Open(ctx context.Context, p auth.Principal, org, nameOrUID string, change func(*regcheck.Definition) error) (Opened, error) {
	if err := p.May(auth.OpenRegistries); err != nil {
		return Opened{}, err
	}
	found, err := s.Find(ctx, p, org, nameOrUID)
	if err != nil {
		return Opened{}, err
	}
	kept, err := s.kept(ctx, found.OrgUID, found.UID)
	if err != nil {
		return Opened{}, err
	}
	wanted := masked(kept.Registry)
	if err := change(&wanted); err != nil {
		return Opened{}, err
	}
	filled, problems, err := kept.fill(wanted)
	if err != nil {
		return Opened{}, err
	}
	if problems = fault.Join(problems, fields(filled.Problems())); len(problems) > 0 {
		return Opened{}, fault.InvalidFields(problems...)
	}
	return Opened{visible(kept.Registry), filled}, nil
}
