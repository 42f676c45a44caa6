package console

import (
	"cmp"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const (
	pathRegistries  = "/console/registries"
	pathNewRegistry = pathRegistries + "/new"
	pathRegistry    = pathRegistries + "/{uid}"
)

type registriesPage struct {
	Filter  []forms.Field
	Columns []column
	Sort    registries.Sort
	Page    paging.Page[registries.Summary]
	Pager   views.Pager
	MayAdd  bool
	Actions []bulkAction // on many registries
	CSV     string       // the address of all registries that match, as a file
	Empty   views.Empty  // shown without a registry
}

// column is a heading of the table, with the address of the table in its order; empty if it has none. Order is the value of aria-sort.
type column struct{ Label, Path, Order string }

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
	query := registryQuery(c.query)
	query.Request = c.pageRequest()
	counts, err := h.registries.CountHealth(c.Context(), c.principal, "")
	if err != nil {
		return err
	}
	page := registriesPage{Sort: query.Sort, Filter: registryFilter(query, counts), Actions: bulkActionsOf(c.principal),
		CSV:    pathRegistries + ".csv?" + c.URL.RawQuery,
		MayAdd: c.principal.CanAnywhere(access.CreateRegistries)}
	query.Sort = cmp.Or(query.Sort, registries.SortByHealth)
	page.Columns = registryColumns(c, query.Sort)
	if page.Page, err = h.registries.Search(c.Context(), c.principal, "", query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page)
	page.Empty = views.Empty{Text: "No registry matches.", Path: pathRegistries, Action: "Show all registries"}
	if counts == (registries.HealthCounts{}) {
		page.Empty = noRegistries(c.principal)
	}
	return c.show("registries.html", "Registries", page)
}

// registryQuery reads the filter and the order of the list.
func registryQuery(value func(string) string) registries.Query {
	return registries.Query{Name: value("name"), Health: registries.Health(value("health")), Sort: registries.Sort(value("sort")),
		Expiry: registries.Expiry(value("expiry")), Label: value("label")}
}

// noRegistries is shown in an organization without registries.
func noRegistries(p auth.Principal) views.Empty {
	none := views.Empty{Text: "Your organization has no registries yet. Registries that you store are checked on a schedule."}
	if p.CanAnywhere(access.CreateRegistries) {
		none.Path, none.Action = pathNewRegistry, "Add a registry"
	} else {
		none.Text += " An administrator can add one."
	}
	return none
}

func registryFilter(q registries.Query, n registries.HealthCounts) []forms.Field {
	counted := func(word string, n int64) string { return fmt.Sprintf("%s (%d)", word, n) }
	return []forms.Field{
		{Name: "name", Label: "Name contains", Value: q.Name, Type: "search"},
		{Name: "health", Label: "Health", Value: string(q.Health), Type: "select", Options: forms.Options(
			"", counted("All", n.Healthy+n.Failing+n.Unknown),
			string(registries.Failing), counted("Failing", n.Failing),
			string(registries.Unknown), counted("Unknown", n.Unknown),
			string(registries.Healthy), counted("Healthy", n.Healthy))},
		{Name: "expiry", Label: "Expiry", Value: string(q.Expiry), Type: "select", Options: forms.Options(
			"", "All", string(registries.ExpiresSoon), "Expires soon")},
		{Name: "label", Label: "Label, as key=value", Value: q.Label, Type: "search"},
	}
}

func registryColumns(c *call, sort registries.Sort) []column {
	ordered := func(label string, by registries.Sort, order string) column {
		if by != sort {
			order = ""
		}
		return column{label, c.withQuery("sort", string(by)), order}
	}
	return []column{ordered("Registry", registries.SortByName, "ascending"), ordered("Health", registries.SortByHealth, "other"),
		{Label: "Cause"},
		ordered("Since", registries.SortBySince, "descending"), ordered("Expires", registries.SortByExpiry, "ascending"),
		{Label: "Last check"}}
}
