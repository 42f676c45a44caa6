package registries

import (
	"context"
	"slices"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Visible returns store.ErrNotFound unless the principal may read a registry of an organization: that of another project does not exist
// for it. Without any such permission it returns a fault of kind Forbidden.
func Visible(ctx context.Context, tx *store.Tx, p auth.Principal, orgUID, uid string) error {
	if err := p.MayAnywhere(access.ReadRegistries); err != nil || p.Can(access.ReadRegistries) {
		return err
	}
	project, err := tx.Projects.OfRegistry(ctx, orgUID, uid)
	if err == nil && !p.CanIn(access.ReadRegistries, project) {
		err = store.ErrNotFound
	}
	return err
}

// allowedOn is allowed for a stored registry, in whose project the principal may have the permission.
//
// Faults: Forbidden, which is recorded; NotFound for a registry that the principal may not read.
func (s *Service) allowedOn(ctx context.Context, p auth.Principal, origin audit.Origin, permission access.Permission,
	action audit.Action, uid string) error {
	if p.Can(permission) || p.Grants == nil && p.Limit.Project == "" {
		return s.allowed(ctx, p, origin, permission, action, uid)
	}
	project, err := store.Read(ctx, s.db, func(tx *store.Tx) (string, error) {
		if err := Visible(ctx, tx, p, p.OrgUID, uid); err != nil {
			return "", err
		}
		return tx.Projects.OfRegistry(ctx, p.OrgUID, uid)
	})
	if err != nil {
		return NotFound(err)
	}
	return s.recordRefusal(ctx, p, origin, action, uid, p.MayIn(permission, project))
}

// within restricts a filter to what the principal may read.
func within(p auth.Principal, f store.RegistryFilter) store.RegistryFilter {
	if p.Can(access.ReadRegistries) {
		return f
	}
	readable := p.Where(access.ReadRegistries)
	if f.InProjects {
		readable = slices.DeleteFunc(f.Projects, func(uid string) bool { return !slices.Contains(readable, uid) })
	}
	f.InProjects, f.Projects = true, readable
	return f
}
