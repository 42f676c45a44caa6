// Package registrylist has the list of stored registries, without HTTP itself.
package registrylist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

// Page is what the template shows.
type Page struct {
	Filter  []forms.Field
	Columns []Column
	Sort    registries.Sort
	List    paging.Page[registries.Summary]
	Rows    []Row // of List
	MayAdd  bool
	Empty   views.Empty // shown without a registry
}

// Request is which part of the list is shown.
type Request struct {
	registries.Query
	Counts   registries.HealthCounts         // of all registries
	Projects []forms.Option                  // of which the caller may list registries; one alone is no choice
	Path     func(name, value string) string // of the list with another value in its address
	Now      time.Time
}

// Query reads the filter and the order of a list.
func Query(value func(name string) string) registries.Query {
	return registries.Query{Name: value("name"), Health: registries.Health(value("health")), Sort: registries.Sort(value("sort")),
		Expiry: registries.Expiry(value("expiry")), Label: value("label"), Project: value("project")}
}

// Read returns the page of a user.
func Read(ctx context.Context, from *registries.Service, p auth.Principal, r Request) (_ Page, err error) {
	page := Page{Sort: r.Sort, Filter: filter(r), MayAdd: p.CanAnywhere(access.CreateRegistries),
		Empty: views.Empty{Text: "No registry matches.", Path: path, Action: "Show all registries"}}
	if r.Counts == (registries.HealthCounts{}) {
		page.Empty = None(p)
	}
	r.Sort = cmp.Or(r.Sort, registries.SortByHealth)
	page.Columns = columns(r)
	if page.List, err = from.Search(ctx, p, r.Query); err != nil {
		return page, err
	}
	page.Rows, err = Rows(ctx, from, p, page.List.Items, r.Now)
	return page, err
}

const path = "/console/registries"

// None is shown to a caller who sees no registry. Only one who may see all of the organization knows that there is none.
func None(p auth.Principal) (none views.Empty) {
	mayAdd, seesAll := p.CanAnywhere(access.CreateRegistries), p.Can(access.ReadRegistries)
	if none.Text = "There is no registry that you may see."; seesAll {
		none.Text = "Your organization has no registries yet. Registries that you store are checked on a schedule."
	}
	if mayAdd {
		none.Path, none.Action = path+"/new", "Add a registry"
	} else if seesAll {
		none.Text += " An administrator can add one."
	}
	return none
}

func filter(r Request) []forms.Field {
	q, n := r.Query, r.Counts
	counted := func(word string, n int64) string { return fmt.Sprintf("%s (%d)", word, n) }
	fields := []forms.Field{
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
	if len(r.Projects) < 2 && q.Project == "" {
		return fields
	}
	options := append(forms.Options("", "All"), r.Projects...)
	if !slices.ContainsFunc(options, func(o forms.Option) bool { return o.Value == q.Project }) {
		options = append(options, forms.Options(q.Project, "Another one")...)
	}
	return append(fields, forms.Field{Name: "project", Label: "Project", Value: q.Project, Type: "select", Options: options})
}

const maxProjects = 100 // among which to choose

// Projects returns the first projects of which the caller may list registries, by name.
func Projects(ctx context.Context, from *directory.Directory, p auth.Principal) (options []forms.Option, err error) {
	for project, err := range paging.All(func(after directory.Project) ([]directory.Project, bool, error) {
		return from.ListProjects(ctx, p, after)
	}) {
		if err != nil || len(options) >= maxProjects {
			return options, err
		}
		if p.CanIn(access.ReadRegistries, project.UID) {
			options = append(options, forms.Options(project.UID, project.Name)...)
		}
	}
	return options, nil
}
