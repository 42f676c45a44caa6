package registries

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
	"github.com/regwarden/regwarden/internal/store"
)

// Synchronizations: what callers ask for and see. How one runs is in syncrun.go.

// SyncStatus is how the synchronization of a registry stands. Status is empty where Supported is false; else it
// is one of store's words.
type SyncStatus struct {
	Supported              bool
	Status                 store.SyncStatus
	Message                string
	LastRunAt, LastEndedAt time.Time // zero when there was none; LastEndedAt is of the content that is seen
}

const neverAsked = "No synchronization was asked for yet."

// syncStatusOf reads a row, which need not be there.
func syncStatusOf(supported bool, s store.RegistrySync) SyncStatus {
	switch {
	case !supported:
		return SyncStatus{Message: "The synchronization of this registry is switched off."}
	case s.Status == "", s.Status == store.SyncPending && s.NextAt.IsZero():
		return SyncStatus{Supported: true, Status: store.SyncPending, Message: neverAsked}
	}
	status := SyncStatus{Supported: true, Status: s.Status, Message: s.Message, LastRunAt: s.LastRunAt, LastEndedAt: s.LastSyncedAt}
	if s.Status == store.SyncInProgress && s.RunRepositories > 0 {
		status.Message = strings.TrimSpace(counted(s.RunRepositories, "repository", "repositories") + " so far. " + s.Message)
	}
	return status
}

// SyncStatusOf tells how the synchronization of a registry in a list stands.
func SyncStatusOf(r Summary) SyncStatus { return syncStatusOf(r.SyncSupported, r.Sync) }

// Sync has a registry synchronized as soon as its turn comes. One under way goes on.
//
// Faults: Forbidden; NotFound; Invalid where the definition switches synchronization off.
func (s *Service) Sync(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	if err := s.allowed(ctx, p, origin, auth.SyncRegistries, audit.RegistrySync, uid); err != nil {
		return err
	}
	if !isUID(uid) {
		return noSuchRegistry()
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		switch supported, err := tx.Registries.Lock(ctx, p.OrgUID, uid); {
		case err != nil:
			return notFound(err)
		case !supported:
			return fault.InvalidFields(fault.Field{Field: "isSyncSupported", Problem: "is false in this registry's definition; write true to have it synchronized"})
		}
		now := s.now()
		at, err := s.scheduleFirstCheck(ctx, tx, p, now)
		if err != nil {
			return err
		}
		if err := tx.Syncs.Request(ctx, p.OrgUID, uid, now, at); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, s.done(p, origin, audit.RegistrySync, p.OrgUID, uid))
	})
	return asDone("ask for a synchronization", err)
}

// scheduleSync does what a new definition means for synchronization: what is under way for an older one is dropped.
func (s *Service) scheduleSync(ctx context.Context, tx *store.Tx, p auth.Principal, r store.Registry, skip bool) error {
	switch {
	case !r.SyncSupported:
		return tx.Syncs.Drop(ctx, r.OrgUID, r.UID)
	case skip:
		return tx.Syncs.Hold(ctx, r.OrgUID, r.UID)
	}
	at, err := s.scheduleFirstCheck(ctx, tx, p, s.now())
	if err != nil {
		return err
	}
	return tx.Syncs.Schedule(ctx, r.OrgUID, r.UID, at)
}

// SyncStatus tells how the synchronization of a registry stands.
//
// Faults: NotFound.
func (s *Service) SyncStatus(ctx context.Context, p auth.Principal, uid string) (SyncStatus, error) {
	r, err := s.Get(ctx, p, uid)
	return r.Sync, err
}

// syncRow reads how a registry's synchronization stands; the zero value when there never was one.
func syncRow(ctx context.Context, tx *store.Tx, orgUID, uid string) (store.RegistrySync, error) {
	row, err := tx.Syncs.Get(ctx, orgUID, uid)
	if errors.Is(err, store.ErrNotFound) {
		return store.RegistrySync{RegistryUID: uid, OrgUID: orgUID}, nil
	}
	return row, err
}

// Bounds of a list of content.
const (
	DefaultContent = 50
	MaxContent     = 500
	contentCounted = 10_000
)

// ContentQuery asks for the content of a registry.
type ContentQuery struct {
	Repository string // it and those below it; empty for all
	Limit      int    // of one page; 0 is DefaultContent
	Continue   string // of the page before
	Uncounted  bool   // leaves ContentPage.Count out
}

// Content is one tag of a repository, or with an empty tag what is to be said of the repository itself.
type Content = store.RegistryContent

// ContentPage is a part of a list, by repository and tag.
type ContentPage struct {
	Items    []Content
	Continue string // asks for the next page; empty: there is none
	Count    int64  // of the whole list, counted up to 10,000
	Offset   int    // how many come before the next page
	Limit    int
	Sync     SyncStatus // SyncStatus.LastEndedAt is when the content was seen in the registry
}

// Problems returns everything that is wrong with a query.
func (q ContentQuery) Problems() (problems []fault.Field) {
	if q.Limit < 0 || q.Limit > MaxContent {
		problems = append(problems, fault.Field{Field: "limit", Problem: fmt.Sprintf("is not from 1 to %d", MaxContent)})
	}
	if !isText(q.Repository) {
		problems = append(problems, fault.Field{Field: "repository", Problem: "is not a name"})
	}
	if _, err := readContentPlace(q.Continue); err != nil {
		problems = append(problems, fault.Field{Field: "continue", Problem: "is not what a list answered"})
	}
	return problems
}

// isText tells what every database can be asked for.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// Content lists what the last finished synchronization found.
//
// Faults: Invalid with the fields of Problems; NotFound.
func (s *Service) Content(ctx context.Context, p auth.Principal, uid string, q ContentQuery) (ContentPage, error) {
	if problems := q.Problems(); len(problems) > 0 {
		return ContentPage{}, fault.InvalidFields(problems...)
	}
	r, err := s.Get(ctx, p, uid)
	if err != nil {
		return ContentPage{}, err
	}
	page := ContentPage{Limit: q.Limit, Sync: r.Sync}
	if page.Limit == 0 {
		page.Limit = DefaultContent
	}
	err = s.db.View(ctx, func(tx *store.Tx) error { return page.read(ctx, tx, r, q) })
	return page, asDone("list the content of a registry", err)
}

func (page *ContentPage) read(ctx context.Context, tx *store.Tx, r Registry, q ContentQuery) error {
	row, err := syncRow(ctx, tx, r.OrgUID, r.UID)
	if err != nil {
		return err
	}
	prefix := strings.Trim(q.Repository, "/")
	if !q.Uncounted {
		if page.Count, err = tx.Contents.Count(ctx, row, row.ShownRun, prefix, contentCounted); err != nil {
			return err
		}
	}
	from, err := readContentPlace(q.Continue)
	if err != nil {
		return err
	}
	// One more than the page has tells whether there is a next one.
	page.Items, err = tx.Contents.List(ctx, row, row.ShownRun, prefix, from.after, page.Limit+1)
	more := len(page.Items) > page.Limit
	page.Items = page.Items[:min(len(page.Items), page.Limit)]
	page.Offset = from.offset + len(page.Items)
	if more {
		page.Continue = contentPlace{page.Items[len(page.Items)-1], page.Offset}.String()
	}
	return err
}

// contentPlace is where a page ended, by name: content that a later synchronization replaced goes on there.
type contentPlace struct {
	after  Content
	offset int
}

func (p contentPlace) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d\n%s\n%s", p.offset, p.after.Repository, p.after.Tag))
}

// readContentPlace reads what String wrote; the empty text is the zero place.
func readContentPlace(text string) (contentPlace, error) {
	if text == "" {
		return contentPlace{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "\n")
	if err != nil || len(parts) != 3 || !isText(string(raw)) {
		return contentPlace{}, errors.New("not of the form of a place")
	}
	offset, err := strconv.Atoi(parts[0])
	if err != nil || offset < 0 {
		return contentPlace{}, errors.New("not the offset of a place")
	}
	return contentPlace{Content{Repository: parts[1], Tag: parts[2]}, offset}, nil
}
