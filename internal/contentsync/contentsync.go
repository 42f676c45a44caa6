// Package contentsync lists the content of stored registries: a synchronization copies the repositories and tags of a registry into
// the store, where callers list them.
//
// Package inventory reads the content from a registry.
package contentsync

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Service synchronizes the content of stored registries. It is safe for concurrent use.
type Service struct {
	db         *store.DB
	registries *registries.Service
	checker    *regcheck.Checker
	now        func() time.Time
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
	request := registries.ContactRequest{Permission: auth.SyncRegistries, Action: audit.RegistrySync, UID: uid}
	return s.registries.RequestContact(ctx, p, origin, request, func(tx *store.Tx, c registries.Contact) error {
		if !c.SyncSupported {
			return fault.InvalidFields(fault.Field{Field: "isSyncSupported", Problem: "must be true in the definition of this registry"})
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

// Limits of a list of content.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	maxCount     = 10_000
)

// Query selects content of a registry.
type Query struct {
	Repository string // this repository and those below it; empty for all
	Limit      int    // of one page; 0 is DefaultLimit
	Continue   string // Page.Continue of the previous page
	Uncounted  bool   // omits Page.Count
}

// Content is one tag of a repository, or with an empty tag the repository itself with its problem.
type Content = store.RegistryContent

// Page is a part of a list, by repository and tag.
type Page struct {
	Items    []Content
	Continue string // Query.Continue of the next page; empty if there is none
	Count    int64  // items of the whole list, counted up to 10,000
	Offset   int    // items before the next page
	Limit    int
	Sync     Status // Status.LastEndedAt is when the content was read from the registry
}

// Problems returns all problems of a query.
func (q Query) Problems() (problems []fault.Field) {
	if q.Limit < 0 || q.Limit > MaxLimit {
		problems = append(problems, fault.Field{Field: "limit", Problem: fmt.Sprintf("must be 1–%d", MaxLimit)})
	}
	if !isText(q.Repository) {
		problems = append(problems, fault.Field{Field: "repository", Problem: "must be valid UTF-8 without NUL characters"})
	}
	if _, err := readCursor(q.Continue); err != nil {
		problems = append(problems, fault.Field{Field: "continue", Problem: "must be the value of an earlier list"})
	}
	return problems
}

// isText reports whether the databases can store the text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

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
	page := Page{Limit: q.Limit, Sync: StatusOf(r.SyncSupported, r.Sync)}
	if page.Limit == 0 {
		page.Limit = DefaultLimit
	}
	err = s.db.View(ctx, func(tx *store.Tx) error { return page.read(ctx, tx, r, q) })
	return page, fault.Wrap("list the content of a registry", err)
}

func (page *Page) read(ctx context.Context, tx *store.Tx, r registries.Registry, q Query) error {
	row, err := tx.Syncs.Get(ctx, r.OrgUID, r.UID)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // without a row, the run is 0 and has no content
		return err
	}
	prefix := strings.Trim(q.Repository, "/")
	if !q.Uncounted {
		if page.Count, err = tx.Contents.Count(ctx, row, row.ShownRun, prefix, maxCount); err != nil {
			return err
		}
	}
	from, err := readCursor(q.Continue)
	if err != nil {
		return err
	}
	// One item beyond the page shows whether there is a next page.
	page.Items, err = tx.Contents.List(ctx, row, row.ShownRun, prefix, from.after, page.Limit+1)
	more := len(page.Items) > page.Limit
	page.Items = page.Items[:min(len(page.Items), page.Limit)]
	page.Offset = from.offset + len(page.Items)
	if more {
		page.Continue = cursor{page.Items[len(page.Items)-1], page.Offset}.String()
	}
	return err
}

// cursor is the end of a page, by name, so that it stays valid for the content of later synchronizations.
type cursor struct {
	after  Content
	offset int
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d\n%s\n%s", c.offset, c.after.Repository, c.after.Tag))
}

// readCursor parses the result of String. The empty text is the zero cursor.
func readCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "\n")
	if err != nil || len(parts) != 3 || !isText(string(raw)) {
		return cursor{}, errors.New("not a cursor")
	}
	offset, err := strconv.Atoi(parts[0])
	if err != nil || offset < 0 {
		return cursor{}, errors.New("not an offset of a cursor")
	}
	return cursor{Content{Repository: parts[1], Tag: parts[2]}, offset}, nil
}
