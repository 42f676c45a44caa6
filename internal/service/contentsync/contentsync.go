// Package contentsync lists the content of stored registries: a synchronization copies the repositories and tags of a registry into
// the store, where callers list them.
//
// Package inventory reads the content from a registry.
package contentsync

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Service synchronizes the content of stored registries. It is safe for concurrent use.
type Service struct {
	db         *store.DB
	registries *registries.Service
	checker    *regcheck.Checker
	now        func() time.Time

	Ambient ambient.Policy // who may use the identity of the server; none by default
}

// New returns a service that reads registries with checker.
func New(db *store.DB, stored *registries.Service, checker *regcheck.Checker, now func() time.Time) *Service {
	return &Service{db: db, registries: stored, checker: checker, now: now}
}

// Status is the state of a registry's synchronization.
type Status struct {
	Supported              bool
	Status                 store.SyncStatus // empty where Supported is false
	Message                string
	LastRunAt, LastEndedAt time.Time // zero if there was none; LastEndedAt is the time of the listed content
	Repositories, Tags     int64     // of the listed content
}

const neverRequested = "No synchronization has been requested."

// StatusOf returns the state of a registry's synchronization. s is its row, or the zero value if there is none.
func StatusOf(supported bool, s store.RegistrySync) Status {
	switch {
	case !supported:
		return Status{Message: "Synchronization is disabled for this registry."}
	case s.Status == "", s.Status == store.SyncPending && s.NextAt.IsZero():
		return Status{Supported: true, Status: store.SyncPending, Message: neverRequested}
	}
	status := Status{Supported: true, Status: s.Status, Message: s.Message, LastRunAt: s.LastRunAt, LastEndedAt: s.LastSyncedAt,
		Repositories: s.Repositories, Tags: s.Tags}
	if s.Status == store.SyncInProgress && s.RunRepositories > 0 {
		status.Message = strings.TrimSpace(counted(s.RunRepositories, "repository", "repositories") + " so far. " + s.Message)
	}
	return status
}

// Request requests a synchronization as soon as the user's contacts allow it. A running synchronization continues.
//
// Faults: Forbidden; NotFound; Invalid if the definition disables synchronization.
func (s *Service) Request(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	request := registries.ContactRequest{Permission: access.SyncRegistries, Action: audit.RegistrySync, UID: uid}
	return s.registries.RequestContact(ctx, p, origin, request, func(tx *store.Tx, c registries.Contact) error {
		if !c.SyncSupported {
			return fault.InvalidField("isSyncSupported", "must be true in the definition of this registry")
		}
		return tx.Syncs.Request(ctx, c.OrgUID, c.UID, c.Now, c.At)
	})
}

// Status returns the state of a registry's synchronization.
//
// Faults: NotFound.
func (s *Service) Status(ctx context.Context, p auth.Principal, uid string) (Status, error) {
	r, err := s.registries.Get(ctx, p, uid)
	return StatusOf(r.SyncSupported, r.Sync), err
}

// Query selects content of a registry.
type Query struct {
	paging.Request
	Repository string // this repository and those below it; empty for all
}

// Content is one tag of a repository, or with an empty tag the repository itself with its problem.
type Content = store.RegistryContent

// Page is a part of a list, by repository and tag.
type Page struct {
	paging.Page[Content]
	Sync Status // Status.LastEndedAt is when the content was read from the registry
}

// Problems returns all problems of a query.
func (q Query) Problems() (problems []fault.Field) {
	if !utf8.ValidString(q.Repository) || strings.Contains(q.Repository, "\x00") {
		problems = append(problems, fault.Field{Field: "repository", Problem: "must be valid UTF-8 without NUL characters"})
	}
	_, _, err := paging.ReadCursor(q.Continue)
	return append(problems, q.Request.Problems(err)...)
}

// List lists the content that the last finished synchronization found.
//
// Faults: Invalid with the fields of Problems; NotFound.
func (s *Service) List(ctx context.Context, p auth.Principal, uid string, q Query) (Page, error) {
	if problems := q.Problems(); len(problems) > 0 {
		return Page{}, fault.InvalidFields(problems...)
	}
	r, err := s.registries.Get(ctx, p, uid)
	if err != nil {
		return Page{}, err
	}
	page := Page{Sync: StatusOf(r.SyncSupported, r.Sync)}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		page.Page, err = readPage(ctx, tx, r, q)
		return err
	})
	return page, fault.Wrap("list the content of a registry", err)
}

func readPage(ctx context.Context, tx *store.Tx, r registries.Registry, q Query) (page paging.Page[Content], err error) {
	row, err := tx.Syncs.Get(ctx, r.OrgUID, r.UID)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // without a row, the run is 0 and has no content
		return page, err
	}
	// A position is a name, so that a cursor stays valid for the content of later synchronizations.
	offset, position, err := paging.ReadCursor(q.Continue)
	if err != nil {
		return page, err
	}
	prefix := strings.Trim(q.Repository, "/")
	count := func(limit int) (int64, error) { return tx.Contents.Count(ctx, row, row.ShownRun, prefix, limit) }
	list := func(limit int) ([]Content, error) {
		return tx.Contents.List(ctx, row, row.ShownRun, prefix, Content{Repository: position[0], Tag: position[1]}, limit)
	}
	return paging.Read(q.Request, offset, count, list, func(last Content) []string { return []string{last.Repository, last.Tag} })
}
