package registries

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// Limits of a search.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	maxCount     = 10_000 // counting reads all rows
	maxNameBytes = 256
)

// Words of a query.
type (
	Health = store.HealthState
	Sort   = store.RegistrySort
)

// Values of the words.
const (
	Healthy = store.Healthy
	Failing = store.Failing
	Unknown = store.Unknown

	SortByName   = store.SortByName
	SortByHealth = store.SortByHealth
	SortBySince  = store.SortBySince
)

// HealthCounts are the numbers of registries with each health.
type HealthCounts = store.HealthCounts

var (
	healthStates = []Health{Healthy, Failing, Unknown}
	sorts        = []Sort{SortByName, SortByHealth, SortBySince}
)

// Query selects registries of an organization. A zero field matches all.
type Query struct {
	Name      string // part of the name, without regard to case
	Health    Health
	Sort      Sort   // by name if it is empty
	Limit     int    // per page; 0 is DefaultLimit
	Continue  string // Page.Continue of the previous page
	Uncounted bool   // omits Page.Count
}

// Page is a part of a list of registries.
type Page struct {
	Items    []Summary
	Continue string // Query.Continue of the next page; empty if there is none
	Count    int64  // registries of the whole list, counted up to 10,000
	Offset   int    // registries before the next page
}

// Problems returns all problems of a query.
func (q Query) Problems() (problems []fault.Field) {
	_, errContinue := readCursor(q.Continue)
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{len(q.Name) > maxNameBytes, "name", fmt.Sprintf("must be at most %d bytes", maxNameBytes)},
		{q.Health != "" && !slices.Contains(healthStates, q.Health), "health", "must be one of healthy, failing, unknown"},
		{q.Sort != "" && !slices.Contains(sorts, q.Sort), "sort", "must be one of name, health, since"},
		{q.Limit < 0 || q.Limit > MaxLimit, "limit", fmt.Sprintf("must be 1–%d", MaxLimit)},
		{errContinue != nil, "continue", "must be the value that the previous page returned"},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	return problems
}

// Search returns a page of the organization's registries that match the query. An operator names the organization; others leave it empty.
//
// Faults: Invalid with the fields of Problems; NotFound for an operator's organization.
func (s *Service) Search(ctx context.Context, p auth.Principal, org string, q Query) (page Page, err error) {
	if problems := q.Problems(); len(problems) > 0 {
		return page, fault.InvalidFields(problems...)
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx, org)
		if err != nil {
			return err
		}
		page, err = search(ctx, tx, store.RegistryFilter{OrgUID: orgUID, Name: auth.Canonical(q.Name), Health: q.Health, Sort: q.Sort}, q)
		return err
	})
	return page, fault.Wrap("search registries", err)
}

func search(ctx context.Context, tx *store.Tx, filter store.RegistryFilter, q Query) (page Page, err error) {
	from, err := readCursor(q.Continue)
	if err != nil {
		return page, err
	}
	if !q.Uncounted {
		if page.Count, err = tx.Registries.CountSearch(ctx, filter, maxCount); err != nil {
			return page, err
		}
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	// One item beyond the page shows whether there is a next page.
	page.Items, err = tx.Registries.Search(ctx, filter, from.after, limit+1)
	more := len(page.Items) > limit
	page.Items = page.Items[:min(len(page.Items), limit)]
	page.Offset = from.offset + len(page.Items)
	if more {
		page.Continue = cursor{filter.Cursor(page.Items[limit-1]), page.Offset}.String()
	}
	return page, err
}

// cursor is the end of a page.
type cursor struct {
	after  store.RegistryCursor
	offset int
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d\n%d\n%s", c.offset, c.after.Key, c.after.Canonical))
}

// readCursor parses the result of String. The empty text is the zero cursor.
func readCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(raw), "\n", 3)
	if err != nil || len(parts) != 3 || parts[2] == "" || !utf8.Valid(raw) || strings.Contains(parts[2], "\x00") {
		return cursor{}, errors.New("not a cursor")
	}
	offset, errOffset := strconv.Atoi(parts[0])
	key, errKey := strconv.ParseInt(parts[1], 10, 64)
	if errOffset != nil || errKey != nil || offset < 0 {
		return cursor{}, errors.New("not the numbers of a cursor")
	}
	return cursor{store.RegistryCursor{Key: key, Canonical: parts[2]}, offset}, nil
}

// CountHealth counts the organization's registries by their health. An operator names the organization; others leave it empty.
//
// Faults: NotFound for an operator's organization.
func (s *Service) CountHealth(ctx context.Context, p auth.Principal, org string) (counts HealthCounts, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx, org)
		if err != nil {
			return err
		}
		counts, err = tx.Registries.CountHealth(ctx, orgUID)
		return err
	})
	return counts, fault.Wrap("count registries by health", err)
}
