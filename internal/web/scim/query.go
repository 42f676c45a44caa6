package scim

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
)

// Sizes of pages.
const (
	defaultCount = 100
	maxCount     = 200
)

// query is what a list is asked for.
type query struct {
	lookup  directory.Lookup
	terms   []term
	members bool // of groups
	start   int  // of the first resource, from 1
}

// readQuery reads the query of a list, whose resources are also found by the attributes that are their names.
func readQuery(values url.Values, names ...string) (q query, err error) {
	if q.terms, err = parseFilter(values.Get("filter")); err != nil {
		return q, err
	}
	count := defaultCount
	if q.start, err = number(values, "startIndex", 1, 1); err == nil {
		count, err = number(values, "count", defaultCount, 0)
	}
	if err != nil {
		return q, err
	}
	q.members = wantsMembers(values)
	q.lookup.Limit, q.lookup.Offset = min(count, maxCount), q.start-1
	if len(q.terms) == 0 || q.find(names) {
		return q, nil
	}
	return q, fault.InvalidField("filter", "must compare id, externalId, userName of a user, or displayName of a group")
}

// find makes the lookup that of the first term by which resources are found.
func (q *query) find(names []string) bool {
	for _, t := range q.terms {
		value := t.value
		switch {
		case t.attr == "id":
			q.lookup.UID = &value
		case t.attr == "externalid":
			q.lookup.ExternalID = &value
		case slices.Contains(names, t.attr):
			q.lookup.Name = &value
		default:
			continue
		}
		return true
	}
	return false
}

// number returns a number of the query, at least least, as RFC 7644 reads smaller ones.
func number(values url.Values, name string, standard, least int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return standard, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fault.InvalidField(name, "must be a number")
	}
	return max(int(n), least), nil
}

// wantsMembers reports whether groups are shown with their members.
func wantsMembers(values url.Values) bool {
	has := func(parameter string) bool {
		return slices.ContainsFunc(strings.Split(values.Get(parameter), ","), func(name string) bool {
			p, _, _ := readName(strings.TrimSpace(name))
			return p.attr == "members"
		})
	}
	return !has("excludedAttributes") && (values.Get("attributes") == "" || has("attributes"))
}

// matches reports whether all terms hold.
func (q query) matches(has func(term) bool) bool {
	return !slices.ContainsFunc(q.terms, func(t term) bool { return !has(t) })
}

// page returns the resources of a page.
func (q query) page(resources []any, total int64) api.SCIMList {
	if len(q.terms) > 0 {
		total = int64(len(resources))
	}
	return api.SCIMList{Schemas: []string{api.SCIMListSchema}, TotalResults: total, StartIndex: q.start, ItemsPerPage: len(resources),
		Resources: append([]any{}, resources...)}
}
