package console

import (
	"fmt"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
)

const (
	pathRegistries  = "/console/registries"
	pathNewRegistry = pathRegistries + "/new"
	pathRegistry    = pathRegistries + "/{uid}"
)

type registriesPage struct {
	Filter  []field
	Columns []column
	Sort    registries.Sort
	Page    paging.Page[registries.Summary]
	Pager   pager
	MayAdd  bool
	Empty   empty // shown without a registry
}

// column is a heading of the table, with the address of the table in its order; empty if it has none. Order is the value of aria-sort.
type column struct{ Label, Path, Order string }

// listRegistries is GET /console/registries.
func (s *Console) listRegistries(c *call) error {
	query := registries.Query{Name: c.query("name"), Health: registries.Health(c.query("health")), Sort: registries.Sort(c.query("sort")), Request: c.pageRequest()}
	counts, err := s.Registries.CountHealth(c.Context(), c.principal, "")
	if err != nil {
		return err
	}
	page := registriesPage{Sort: query.Sort, Filter: registryFilter(query, counts), Columns: c.registryColumns(query.Sort), MayAdd: c.principal.Can(auth.CreateRegistries)}
	if page.Page, err = s.Registries.Search(c.Context(), c.principal, "", query); err != nil {
		return err
	}
	page.Pager = pagerOf(c, page.Page)
	page.Empty = empty{"No registry matches.", pathRegistries, "Show all registries"}
	if counts == (registries.HealthCounts{}) {
		page.Empty = noRegistries(c.principal)
	}
	return c.show("registries.html", "Registries", page)
}

// noRegistries is shown in an organization without registries.
func noRegistries(p auth.Principal) empty {
	none := empty{Text: "Your organization has no registries yet. Registries that you store are checked on a schedule."}
	if p.Can(auth.CreateRegistries) {
		none.Path, none.Action = pathNewRegistry, "Add a registry"
	} else {
		none.Text += " An administrator can add one."
	}
	return none
}

func registryFilter(q registries.Query, n registries.HealthCounts) []field {
	counted := func(word string, n int64) string { return fmt.Sprintf("%s (%d)", word, n) }
	return []field{
		{Name: "name", Label: "Name contains", Value: q.Name, Type: "search"},
		{Name: "health", Label: "Health", Value: string(q.Health), Type: "select", Options: []option{
			{"", counted("All", n.Healthy+n.Failing+n.Unknown)},
			{string(registries.Failing), counted("Failing", n.Failing)},
			{string(registries.Unknown), counted("Unknown", n.Unknown)},
			{string(registries.Healthy), counted("Healthy", n.Healthy)}}},
	}
}

func (c *call) registryColumns(sort registries.Sort) []column {
	if sort == "" {
		sort = registries.SortByName
	}
	ordered := func(label string, by registries.Sort, order string) column {
		if by != sort {
			order = ""
		}
		return column{label, c.withQuery("sort", string(by)), order}
	}
	return []column{ordered("Registry", registries.SortByName, "ascending"), ordered("Health", registries.SortByHealth, "other"), {Label: "Cause"},
		ordered("Since", registries.SortBySince, "descending"), {Label: "Last check"}}
}
