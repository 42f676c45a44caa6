package registries

import (
	"cmp"
	"context"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Kind is what a registry is for public clients, which find each kind by routes of its own. It follows from the definition.
type Kind string

// Kinds.
const (
	AnyKind  Kind = ""     // in requests; of a stored registry: an OCI registry that has no other kind
	ECRKind  Kind = "ecr"  // an OCI registry of Amazon
	HelmKind Kind = "helm" // a chart repository
)

// kindOf returns the kind of a definition, which was or is to be of another kind. Only an open registry of Amazon may have two: it stays
// what it was.
func kindOf(d regcheck.Definition, other Kind) Kind {
	auth := d.Auth.Kind()
	switch {
	case d.Kind == regcheck.KindChartRepository:
		return HelmKind
	case auth == regcheck.ECR, other == ECRKind && auth == regcheck.NoAuth && regcheck.ObtainedBy(d.Endpoint) == regcheck.ECR:
		return ECRKind
	}
	return AnyKind
}

// is reports whether the routes of a kind serve a stored registry.
func (k Kind) is(stored store.Registry) bool { return k == AnyKind || string(k) == stored.Kind }

// CheckKind returns the NotFound fault unless a registry of the caller's organization has a kind.
func (s *Service) CheckKind(ctx context.Context, p auth.Principal, uid string, kind Kind) error {
	if err := cmp.Or(p.MayAnywhere(access.ReadRegistries), CheckUID(uid)); err != nil {
		return err
	}
	err := s.db.View(ctx, func(tx *store.Tx) error {
		r, err := tx.Registries.GetPlain(ctx, p.OrgUID, uid)
		if err == nil && (!kind.is(r) || !p.CanIn(access.ReadRegistries, r.ProjectUID)) {
			err = store.ErrNotFound
		}
		return NotFound(err)
	})
	return fault.Wrap("look up a registry", err)
}
