package registries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const maxNameBytes = 256 // of a search, and of a label

// Words of a query.
type (
	Health = store.HealthState
	Sort   = store.RegistrySort
	Expiry string
)

// Values of the words.
const (
	Healthy = store.Healthy
	Failing = store.Failing
	Unknown = store.Unknown

	SortByName   = store.SortByName
	SortByHealth = store.SortByHealth
	SortBySince  = store.SortBySince
	SortByExpiry = store.SortByExpiry

	ExpiresSoon Expiry = "soon"
)

// HealthCounts are the numbers of registries with each health.
type HealthCounts = store.HealthCounts

var (
	healthStates = []Health{Healthy, Failing, Unknown}
	sorts        = []Sort{SortByName, SortByHealth, SortBySince, SortByExpiry}
)

// Query selects registries of an organization. A zero field matches all.
type Query struct {
	paging.Request
	Name   string // part of the name, without regard to case
	Health Health
	Expiry Expiry
	Label  string // KEY=VALUE, or KEY alone for every value
	// Project is the uid of the project in which the registries were stored. One that the caller may not read has none.
	Project string
	Sort    Sort // by name if it is empty; "-" before a word turns the order around
}

// Problems returns all problems of a query.
func (q Query) Problems() (problems []fault.Field) {
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{len(q.Name) > maxNameBytes, "name", fmt.Sprintf("must be at most %d bytes", maxNameBytes)},
		{q.Health != "" && !slices.Contains(healthStates, q.Health), "health", "must be one of healthy, failing, unknown"},
		{q.Sort != "" && !slices.Contains(sorts, q.Sort) && !slices.Contains(sorts, q.Sort.Opposite()), "sort",
			"must be one of name, health, since, expiry, or one of them after a hyphen"},
		{q.Expiry != "" && q.Expiry != ExpiresSoon, "expiry", "must be soon"},
		{q.Project != "" && CheckUID(q.Project) != nil, "project", "must be the uid of a project"},
		{len(q.Label) > maxNameBytes, "label", fmt.Sprintf("must be at most %d bytes", maxNameBytes)},
	} {
		if rule.broken {
			problems = append(problems, fault.Field{Field: rule.field, Problem: rule.problem})
		}
	}
	_, _, err := readCursor(q.Continue)
	return append(problems, q.Request.Problems(err)...)
}

// Search returns a page of the organization's registries that match the query.
//
// Faults: Invalid with the fields of Problems.
func (s *Service) Search(ctx context.Context, p auth.Principal, q Query) (page paging.Page[Summary], err error) {
	if problems := q.Problems(); len(problems) > 0 {
		return page, fault.InvalidFields(problems...)
	}
	if err := p.MayAnywhere(access.ReadRegistries); err != nil {
		return page, err
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		page, err = search(ctx, tx, within(p, q.filter(orgUID)), q)
		return err
	})
	return page, fault.Wrap("search registries", err)
}

func (q Query) filter(orgUID string) store.RegistryFilter {
	key, value, _ := strings.Cut(q.Label, "=")
	filter := store.RegistryFilter{OrgUID: orgUID, Name: names.Canonical(q.Name), Health: q.Health, Sort: q.Sort,
		ExpiresSoon: q.Expiry == ExpiresSoon, Label: [2]string{key, value}}
	if q.Project != "" {
		filter.InProjects, filter.Projects = true, []string{q.Project}
	}
	return filter
}

func search(ctx context.Context, tx *store.Tx, filter store.RegistryFilter, q Query) (page paging.Page[Summary], err error) {
	after, offset, err := readCursor(q.Continue)
	if err != nil {
		return page, err
	}
	count := func(limit int) (int64, error) { return tx.Registries.CountSearch(ctx, filter, limit) }
	list := func(limit int) ([]Summary, error) { return tx.Registries.Search(ctx, filter, after, limit) }
	return paging.Read(q.Request, offset, count, list, func(r Summary) []string { return position(filter.Cursor(r)) })
}

// position is the inverse of readCursor.
func position(c store.RegistryCursor) []string {
	return []string{strconv.FormatInt(c.Key, 10), c.Name}
}

// readCursor parses Query.Continue. The empty text is the zero cursor.
func readCursor(text string) (after store.RegistryCursor, offset int, err error) {
	offset, position, err := paging.ReadCursor(text)
	if err != nil || text == "" {
		return after, 0, err
	}
	if after.Name = position[1]; after.Name == "" {
		return after, 0, errors.New("no name in a cursor")
	}
	after.Key, err = strconv.ParseInt(position[0], 10, 64)
	return after, offset, err
}

// Expiring lists at most limit registries of the caller's organization whose certificate or credentials expire soon, as SortByExpiry does.
func (s *Service) Expiring(ctx context.Context, p auth.Principal, limit int) (list []Summary, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		filter := within(p, store.RegistryFilter{OrgUID: p.OrgUID, ExpiresSoon: true, Sort: SortByExpiry})
		if filter.InProjects {
			list, err = tx.Registries.Search(ctx, filter, store.RegistryCursor{}, limit)
			return err
		}
		list, err = tx.Registries.Expiring(ctx, p.OrgUID, limit)
		return err
	})
	return list, fault.Wrap("list expiring registries", err)
}

// Names returns the names of registries of the caller's organization, by uid. Those of deleted registries, and of those that the caller may
// not read, are empty.
func (s *Service) Names(ctx context.Context, p auth.Principal, uids []string) (map[string]string, error) {
	names := map[string]string{}
	err := s.db.View(ctx, func(tx *store.Tx) error {
		for _, uid := range uids {
			if _, known := names[uid]; known {
				continue
			}
			err := Visible(ctx, tx, p, p.OrgUID, uid)
			if fault.KindOf(err) == fault.Forbidden {
				continue
			}
			if err == nil {
				names[uid], err = tx.Registries.Name(ctx, p.OrgUID, uid)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return names, fault.Wrap("look up names of registries", err)
}

// CountHealth counts the organization's registries by their health.
func (s *Service) CountHealth(ctx context.Context, p auth.Principal) (counts HealthCounts, err error) {
	if err := p.MayAnywhere(access.ReadRegistries); err != nil {
		return counts, err
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		if filter := within(p, store.RegistryFilter{OrgUID: orgUID}); filter.InProjects {
			counts, err = countWithin(ctx, tx, filter)
			return err
		}
		counts, err = tx.Registries.CountHealth(ctx, orgUID)
		return err
	})
	return counts, fault.Wrap("count registries by health", err)
}

// maxCounted bounds the count of registries for callers who may read some only.
const maxCounted = 1_000_000

// countWithin counts the registries of a filter by their health. The first expiries are not read.
func countWithin(ctx context.Context, tx *store.Tx, filter store.RegistryFilter) (counts HealthCounts, err error) {
	for health, n := range map[Health]*int64{Healthy: &counts.Healthy, Failing: &counts.Failing, Unknown: &counts.Unknown} {
		filter.Health = health
		if *n, err = tx.Registries.CountSearch(ctx, filter, maxCounted); err != nil {
			return counts, err
		}
	}
	return counts, nil
}
