package console

import (
	"time"

	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/registrylist"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const (
	pathRegistries  = "/console/registries"
	pathNewRegistry = pathRegistries + "/new"
	pathRegistry    = pathRegistries + "/{uid}"
)

type registriesPage struct {
	registrylist.Page
	Pager   views.Pager
	Actions []bulkAction // on many registries
	CSV     string       // the address of all registries that match, as a file
}

// registryHandlers has the pages of stored registries.
type registryHandlers struct {
	registries *registries.Service
	watch      *watch.Service
	checks     *checks.Service
	content    *contentsync.Service
	changes    changelog.Log
	now        func() time.Time
}

// listRegistries is GET /console/registries.
func (h registryHandlers) listRegistries(c *call) error {
	query := registrylist.Query(c.query)
	query.Request = c.pageRequest()
	page := registriesPage{Actions: bulkActionsOf(c.principal), CSV: pathRegistries + ".csv?" + c.URL.RawQuery}
	counts, err := c.countHealth()
	if err != nil {
		return err
	}
	projects, err := registrylist.Projects(c.Context(), h.changes.Directory, c.principal)
	if err != nil {
		return err
	}
	page.Page, err = registrylist.Read(c.Context(), h.registries, c.principal,
		registrylist.Request{Query: query, Counts: counts, Projects: projects, Path: c.withQuery, Now: h.now()})
	if err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.List)
	return c.show("registries.html", "Registries", page)
}
