// Package registries stores registry definitions: who may change and read them, their problems, their secrets, and how much an
// organization may store.
//
// It contacts no registry. The packages that do (checks, watch, contentsync) get a definition with its secrets from Load or
// FillSecrets, and have what a user asks for decided, scheduled and recorded by RequestContact.
package registries

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Limits limit what users may store, and the contacts that it causes.
type Limits struct {
	ContactsPerMinute int // registries that one user may have contacted per minute by changes and requests; default 120

	OrgRegistries int64 // stored by one organization; 0: no limit
	OrgBytes      int64 // of all registries that one organization stores; 0: no limit
}

// Service stores registry definitions. It is safe for concurrent use.
type Service struct {
	db     *store.DB
	limits Limits
	now    func() time.Time

	comparisons *perminute.Limiter // of secrets that differ, by user
}

// New returns a service on an opened store.
func New(db *store.DB, limits Limits, now func() time.Time) *Service {
	limits.ContactsPerMinute = cmp.Or(limits.ContactsPerMinute, 120)
	return &Service{db: db, limits: limits, now: now, comparisons: perminute.New(differingPerMinute)}
}

// Registry is a stored registry definition as it may be shown: masks replace stored secrets.
type Registry struct {
	UID, OrgUID, Name                       string
	ProjectUID                              string // empty for none
	Origin                                  string // the object of a cluster that it is read from; empty for none
	Kind                                    Kind
	Version                                 int64 // counts its replacements, from 1
	CreatedAt, UpdatedAt                    time.Time
	Annotations, Labels                     map[string]string
	Definition                              regcheck.Definition // byte for byte as it was sent
	Scope                                   string
	SyncSupported, SpectroManifest, Private bool
	Sync                                    store.RegistrySync // set by Get and Find; the zero value if there was none
	Health                                  store.Health       // set by Get and Find
	ClusterRead                             bool               // a server reads the cluster of Origin now; set by Get and Find
}

// Summary is a registry in a list.
type Summary = store.ListedRegistry

// Get returns a registry of the caller's organization.
//
// Faults: NotFound.
func (s *Service) Get(ctx context.Context, p auth.Principal, uid string) (Registry, error) {
	if err := CheckUID(uid); err != nil {
		return Registry{}, err
	}
	return s.get(ctx, p, func(tx *store.Tx) (store.Registry, error) { return tx.Registries.GetPlain(ctx, p.OrgUID, uid) })
}

// Find looks a registry up by uid or name.
//
// Faults: NotFound.
func (s *Service) Find(ctx context.Context, p auth.Principal, nameOrUID string) (Registry, error) {
	return s.get(ctx, p, func(tx *store.Tx) (store.Registry, error) {
		in, err := p.Org(ctx, tx)
		if err != nil {
			return store.Registry{}, err
		}
		r, err := tx.Registries.ByName(ctx, in.UID, names.Canonical(nameOrUID))
		if errors.Is(err, store.ErrNotFound) {
			r, err = tx.Registries.GetPlain(ctx, in.UID, nameOrUID)
		}
		return r, err
	})
}

// get returns the registry that read returns, with its health and the state of its synchronization.
func (s *Service) get(ctx context.Context, p auth.Principal, read func(*store.Tx) (store.Registry, error)) (found Registry, err error) {
	if err := p.MayAnywhere(access.ReadRegistries); err != nil {
		return found, err
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		r, err := read(tx)
		if err == nil && !p.CanIn(access.ReadRegistries, r.ProjectUID) {
			err = store.ErrNotFound
		}
		if err != nil {
			return NotFound(err)
		}
		found = visible(r)
		if found.Sync, err = tx.Syncs.Get(ctx, r.OrgUID, r.UID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		object, err := tx.Origins.ReadFrom(ctx, r.OrgUID, r.UID, s.now())
		if err != nil {
			return err
		}
		row, err := tx.Watch.Get(ctx, r.OrgUID, r.UID)
		found.ClusterRead, found.Health = object != "", row.Health()
		return NotFound(err)
	})
	return found, fault.Wrap("look up a registry", err)
}

// List returns the page of an organization's registries, by name, after the given one, and whether there may be more. The zero value
// precedes all. buffer is an earlier page whose memory is reused, or nil: for a list of thousands, garbage collection would otherwise
// take longer than reading.
func (s *Service) List(ctx context.Context, p auth.Principal, after Summary, buffer []Summary) (list []Summary, more bool, err error) {
	if err := p.MayAnywhere(access.ReadRegistries); err != nil {
		return nil, false, err
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		if filter := within(p, store.RegistryFilter{OrgUID: orgUID}); filter.InProjects {
			list, err = tx.Registries.Search(ctx, filter, store.RegistryCursor{Name: after.SortKey}, limitedPage+1)
			more, list = len(list) > limitedPage, list[:min(len(list), limitedPage)]
			return err
		}
		list, more, err = tx.Registries.OfOrg(ctx, orgUID, after, buffer)
		return err
	})
	return list, more, fault.Wrap("list registries", err)
}

// limitedPage is the size of a page of List for callers who may read some registries only.
const limitedPage = 100

// CheckUID returns the NotFound fault for text that is not a uid. Public clients send names instead, which may be any text.
func CheckUID(uid string) error {
	if _, err := uuid.Parse(uid); err != nil || len(uid) != len(uuid.UUID{}.String()) {
		return NotFound(store.ErrNotFound)
	}
	return nil
}

// NotFound returns the NotFound fault for store.ErrNotFound, and every other error unchanged.
func NotFound(err error) error { return auth.NotFoundAs(err, "Registry not found.") }
