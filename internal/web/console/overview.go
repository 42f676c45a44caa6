package console

import (
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const (
	maxListed = 20  // rows of a list of the overview
	maxRead   = 500 // registries that are read to group or sort them

	soon = 30 * 24 * time.Hour // as for the alerts of certificates
)

type overviewPage struct {
	Counts   registries.HealthCounts
	Failing  shortList[failures] // the newest failure first
	Expiring shortList[registries.Summary]
	Soon     int                    // how many registries have something that expires soon
	Keys     shortList[auth.APIKey] // that expire soon, the first to expire first
	Changes  []changelog.Change
	Empty    views.Empty // shown without a registry
}

// failures are registries of one host that fail for one reason, as in an outage.
type failures struct {
	Host       string
	State      store.HealthResult // of the newest failure
	Since      time.Time          // of the oldest one
	Registries []registries.Summary
}

// Named returns the registries that the page names.
func (f failures) Named() []registries.Summary {
	return f.Registries[:min(len(f.Registries), maxListed)]
}

// Others returns how many registries the page does not name.
func (f failures) Others() int { return len(f.Registries) - len(f.Named()) }

// groupFailures groups failing registries by cause and host, in the order of their first ones.
func groupFailures(failing []registries.Summary) (groups []failures) {
	type cause struct{ code, reason, host string }
	at := map[cause]int{}
	for _, r := range failing {
		state := r.Health.State
		key := cause{state.Code, state.Reason, hostOf(r.Endpoint)}
		i, known := at[key]
		if !known {
			i, groups = len(groups), append(groups, failures{Host: key.host, State: state})
			at[key] = i
		}
		group := &groups[i]
		group.Registries, group.Since = append(group.Registries, r), r.Health.Since
	}
	return groups
}

// hostOf returns host and port of an endpoint.
func hostOf(endpoint string) string {
	_, rest, found := strings.Cut(endpoint, "://")
	if !found {
		rest = endpoint
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// firstExpiry returns when the first of certificate and credentials expires that does soon. It is zero if that is not known.
func firstExpiry(state store.HealthResult) (first time.Time) {
	if state.CertificateExpiresSoon {
		first = state.CertificateNotAfter
	}
	if at := state.CredentialsNotAfter; state.CredentialsExpireSoon && !at.IsZero() && (first.IsZero() || at.Before(first)) {
		first = at
	}
	return first
}

// Total is the number of registries.
func (p overviewPage) Total() int64 { return p.Counts.Healthy + p.Counts.Failing + p.Counts.Unknown }

// shortList is the beginning of a list.
type shortList[T any] struct {
	Items []T
	More  bool // there are others
}

// shorten returns a short list of up to maxListed + 1 items.
func shorten[T any](items []T) shortList[T] {
	return shortList[T]{items[:min(len(items), maxListed)], len(items) > maxListed}
}

// overviewHandlers has the first page.
type overviewHandlers struct {
	registries *registries.Service
	keys       *auth.APIKeys
	changes    changelog.Log
}

// overview is GET /console/. It reads only what it shows.
func (h overviewHandlers) overview(c *call) (err error) {
	page := overviewPage{Empty: noRegistries(c.principal)}
	if c.principal.CanAnywhere(access.ReadRegistries) {
		if err := h.readHealth(c, &page); err != nil {
			return err
		}
	}
	keys, err := h.keys.Expiring(c.Context(), c.principal, soon, maxListed+1)
	if err != nil {
		return err
	}
	page.Keys = shorten(keys)
	if page.Changes, err = h.changes.Recent(c.Context(), c.principal, ""); err != nil {
		return err
	}
	return c.show("overview.html", "Overview", page)
}

// readHealth counts the registries of the organization, and lists those that need attention.
func (h overviewHandlers) readHealth(c *call, page *overviewPage) (err error) {
	if page.Counts, err = h.registries.CountHealth(c.Context(), c.principal, ""); err != nil {
		return err
	}
	failing, err := h.registries.Search(c.Context(), c.principal, "", registries.Query{Health: registries.Failing,
		Sort: registries.SortBySince, Request: paging.Request{Limit: maxRead, Uncounted: true}})
	if err != nil {
		return err
	}
	expiring, err := h.registries.Expiring(c.Context(), c.principal, maxRead)
	slices.SortStableFunc(expiring, func(a, b registries.Summary) int {
		return firstExpiry(a.Health.State).Compare(firstExpiry(b.Health.State))
	})
	page.Failing, page.Expiring, page.Soon = shorten(groupFailures(failing.Items)), shorten(expiring), len(expiring)
	return err
}
