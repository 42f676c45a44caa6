package console

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/overviewpage"
	"github.com/regwarden/regwarden/internal/web/console/registrylist"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const (
	minFailing = 3   // rows of the list of what fails, if there are as many
	maxFailing = 15  // and at most
	maxListed  = 5   // rows of the other lists
	maxRows    = 17  // of what fails, what expires and the first steps: with the changes two screens of 1,280 by 800 pixels
	maxRead    = 500 // registries that are read to group or sort them

	soon = 30 * 24 * time.Hour // as for the alerts of certificates
)

type overviewPage struct {
	Counts   registries.HealthCounts
	Failing  shortList[overviewpage.Outage] // the newest failure first
	Partial  bool                           // older failures were not read
	Expiring shortList[registries.Summary]
	Soon     string                 // how many registries have something that expires soon, "" for none
	Keys     shortList[auth.APIKey] // that expire soon, the first to expire first
	Changes  []changelog.Change
	Steps    []overviewpage.Step
	Empty    views.Empty // shown without a registry
	caller   auth.Principal
}

// MayOpen reports whether the caller may open the page of a key.
func (p overviewPage) MayOpen(k auth.APIKey) bool { return mayOpenKey(p.caller, k.UserUID) }

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

// NoChanges is shown without changes. The caller sees only its own unless it may read all audit records.
func (p overviewPage) NoChanges() string {
	if p.caller.Can(access.ReadAllAudits) {
		return "Nothing has changed yet."
	}
	return "You have changed no registry yet."
}

// room is the number of rows of the list of what fails.
func (p overviewPage) room() int {
	others := len(p.Expiring.Items) + len(p.Keys.Items) + len(p.Steps)
	return max(minFailing, min(maxFailing, maxRows-others))
}

// Total is the number of registries.
func (p overviewPage) Total() int64 { return p.Counts.Healthy + p.Counts.Failing + p.Counts.Unknown }

// shortList is the beginning of a list.
type shortList[T any] struct {
	Items []T
	More  bool // there are others
}

// shorten returns the first n items.
func shorten[T any](items []T, n int) shortList[T] {
	return shortList[T]{items[:min(len(items), n)], len(items) > n}
}

// overviewHandlers has the first page.
type overviewHandlers struct {
	registries *registries.Service
	keys       *auth.APIKeys
	changes    changelog.Log
	steps      overviewpage.Steps
	now        func() time.Time
}

// overview is GET /console/. It reads only what it shows.
func (h overviewHandlers) overview(c *call) (err error) {
	page := overviewPage{Empty: registrylist.None(c.principal), caller: c.principal}
	if c.principal.CanAnywhere(access.ReadRegistries) {
		if err := h.readHealth(c, &page); err != nil {
			return err
		}
	}
	keys, err := h.keys.Expiring(c.Context(), c.principal, soon, maxListed+1)
	if err != nil {
		return err
	}
	page.Keys = shorten(keys, maxListed)
	page.Changes, err = h.changes.Recent(c.Context(), c.principal, "")
	if err != nil {
		return err
	}
	page.Changes = page.Changes[:min(len(page.Changes), maxListed)]
	if c.cookie(stepsCookie) == "" {
		if page.Steps, err = h.steps.First(c.Context(), c.principal, page.Total()); err != nil {
			return err
		}
	}
	page.Failing = shorten(page.Failing.Items, page.room())
	return c.show("overview.html", "Overview", page)
}

// hideSteps is POST /console/first-steps.
func (h overviewHandlers) hideSteps(c *call) error {
	c.setCookie(stepsCookie, "hidden", h.now().AddDate(1, 0, 0))
	return c.redirect(pathOverview, "")
}

// readHealth counts the registries of the organization, and lists those that need attention.
func (h overviewHandlers) readHealth(c *call, page *overviewPage) (err error) {
	if page.Counts, err = c.countHealth(); err != nil {
		return err
	}
	failing, err := h.registries.Search(c.Context(), c.principal, registries.Query{Health: registries.Failing,
		Sort: registries.SortBySince, Request: paging.Request{Limit: maxRead, Uncounted: true}})
	if err != nil {
		return err
	}
	expiring, err := h.registries.Expiring(c.Context(), c.principal, maxRead+1)
	slices.SortStableFunc(expiring, func(a, b registries.Summary) int {
		return firstExpiry(a.Health.State).Compare(firstExpiry(b.Health.State))
	})
	page.Failing.Items, page.Partial = overviewpage.Outages(failing.Items), failing.Continue != ""
	page.Expiring = shorten(expiring, maxListed)
	switch n := len(expiring); {
	case n > maxRead:
		page.Soon = fmt.Sprintf("at least %d", n)
	case n > 0:
		page.Soon = strconv.Itoa(n)
	}
	return err
}
