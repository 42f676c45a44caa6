// Package search finds pages, registries, projects, users and operations of the API by a part of their name, without HTTP itself.
package search

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/reference"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

// maxHits bounds each group that has a list of all: a search leads to a page, and lists show the rest.
const maxHits = 10

// Page is what the template shows.
type Page struct {
	Text   string
	Groups []Group // without the empty ones
}

// Group has the hits of one kind, and where all of them are listed. All is empty for pages, which are few.
type Group struct {
	Title, All string
	Hits       []Hit
	More       bool // there are more than those shown
}

// Hit is a link, with a text that distinguishes equal names.
type Hit struct{ Label, Detail, Path string }

// Search has what is searched.
type Search struct {
	Registries *registries.Service
	Directory  *directory.Directory
	Reference  *reference.Reference
	Pages      []views.NavEntry // that the user may open
}

// Find returns what a user may see and whose name contains the text. The empty text finds nothing.
func (s Search) Find(ctx context.Context, p auth.Principal, text string) (Page, error) {
	page := Page{Text: text}
	part := names.Canonical(strings.TrimSpace(text))
	if part == "" {
		return page, nil
	}
	for _, find := range []func(context.Context, auth.Principal, string) (Group, error){
		s.pages, s.registries, s.projects, s.users, s.operations} {
		found, err := find(ctx, p, part)
		if err != nil {
			return page, err
		}
		if len(found.Hits) > 0 {
			page.Groups = append(page.Groups, found)
		}
	}
	return page, nil
}

// add adds a hit if one of the texts contains the part, and reports whether the group has room for more.
func (g *Group) add(part string, hit Hit, texts ...string) bool {
	for _, text := range texts {
		if !strings.Contains(names.Canonical(text), part) {
			continue
		}
		if g.More = g.All != "" && len(g.Hits) == maxHits; !g.More {
			g.Hits = append(g.Hits, hit)
		}
		break
	}
	return !g.More
}

// actions are pages that the navigation does not have.
var actions = []struct {
	label, path string
	permissions []access.Permission
}{
	{"Add a registry", "/console/registries/new", []access.Permission{access.CreateRegistries}},
	{"Create an API key", "/console/api-keys/new", nil},
	{"Create a project", "/console/projects/new", []access.Permission{access.CreateProjects}},
	{"Invite a user", "/console/users/invite", []access.Permission{access.CreateUsers, access.SetPasswords}},
}

func (s Search) pages(_ context.Context, p auth.Principal, part string) (Group, error) {
	g := Group{Title: "Pages"}
	for _, page := range s.Pages {
		g.add(part, Hit{Label: page.Label, Path: page.Path}, page.Label)
	}
	for _, a := range actions {
		if !slices.ContainsFunc(a.permissions, func(needed access.Permission) bool { return !p.CanAnywhere(needed) }) {
			g.add(part, Hit{Label: a.label, Path: a.path}, a.label)
		}
	}
	return g, nil
}

func (s Search) registries(ctx context.Context, p auth.Principal, part string) (Group, error) {
	g := Group{Title: "Registries", All: "/console/registries?" + url.Values{"name": {part}}.Encode()}
	if !p.CanAnywhere(access.ReadRegistries) {
		return g, nil
	}
	found, err := s.Registries.Search(ctx, p, registries.Query{Name: part,
		Request: paging.Request{Limit: maxHits, Uncounted: true}})
	for _, r := range found.Items {
		g.Hits = append(g.Hits, Hit{r.Name, r.Endpoint, "/console/registries/" + url.PathEscape(r.UID)})
	}
	g.More = found.Continue != ""
	return g, err
}

func (s Search) projects(ctx context.Context, p auth.Principal, part string) (g Group, err error) {
	list := func(name string) string { return "/console/projects?" + url.Values{"filter": {name}}.Encode() }
	g = Group{Title: "Projects", All: list(part)}
	for project, err := range paging.All(func(after directory.Project) ([]directory.Project, bool, error) {
		return s.Directory.ListProjects(ctx, p, after)
	}) {
		if err != nil || !g.add(part, Hit{Label: project.Name, Path: list(project.Name)}, project.Name) {
			return g, err
		}
	}
	return g, nil
}

func (s Search) users(ctx context.Context, p auth.Principal, part string) (g Group, err error) {
	g = Group{Title: "Users", All: "/console/users?" + url.Values{"filter": {part}}.Encode()}
	if !p.Can(access.ReadUsers) {
		return g, nil
	}
	for u, err := range paging.All(func(after directory.User) ([]directory.User, bool, error) {
		return s.Directory.ListUsers(ctx, p, after)
	}) {
		full := strings.TrimSpace(u.FirstName + " " + u.LastName)
		if err != nil || !g.add(part, Hit{u.Email, full, "/console/users/" + url.PathEscape(u.UID)}, u.Email, full, u.Name) {
			return g, err
		}
	}
	return g, nil
}

func (s Search) operations(_ context.Context, _ auth.Principal, part string) (Group, error) {
	g := Group{Title: "API operations", All: "/docs?" + url.Values{"q": {part}}.Encode()}
	for _, group := range s.Reference.Groups {
		for _, o := range group.Operations {
			line := o.Method + " " + o.Path
			g.add(part, Hit{o.Summary, line, "/docs/" + url.PathEscape(group.Name) + "#" + url.PathEscape(o.ID)}, o.Summary, line, o.ID)
		}
	}
	return g, nil
}
