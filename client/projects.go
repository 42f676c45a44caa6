package client

import (
	"context"
	"iter"
	"strings"

	"github.com/regwarden/regwarden/api"
)

// Projects has the operations on projects.
type Projects struct{ c *Client }

// List returns the projects that the caller may see.
func (p Projects) List(ctx context.Context) iter.Seq2[api.ListedProject, error] {
	return list(ctx, p.c, request{path: api.PathProjects}, func(page *api.Projects) []api.ListedProject { return page.Items })
}

// Find returns the project with this name, in any letter case.
func (p Projects) Find(ctx context.Context, name string) (*api.ListedProject, error) {
	return first(p.List(ctx), "Project", name, func(one api.ListedProject) bool { return strings.EqualFold(one.Metadata.Name, name) })
}

// Get returns a project.
func (p Projects) Get(ctx context.Context, uid string) (*api.Project, error) {
	return fetch[api.Project](ctx, p.c, request{path: api.PathProject, args: []string{uid}})
}

// Create creates a project and returns its uid.
func (p Projects) Create(ctx context.Context, project api.ProjectRequest) (uid string, err error) {
	return p.c.create(ctx, api.PathProjects, project)
}

// Replace replaces name, annotations and labels of a project.
func (p Projects) Replace(ctx context.Context, uid string, project api.ProjectRequest) error {
	return p.c.put(ctx, api.PathProject, project, uid)
}

// Rename replaces the name of a project. It reads the annotations and labels first, and sends them unchanged.
func (p Projects) Rename(ctx context.Context, uid, name string) error {
	stored, err := p.Get(ctx, uid)
	if err != nil {
		return err
	}
	return p.Replace(ctx, uid, api.ProjectRequest{Metadata: api.ProjectRequestMetadata{
		Name: name, Annotations: stored.Metadata.Annotations, Labels: stored.Metadata.Labels}})
}

// Delete deletes a project. One with members, registries or alert channels is deleted only with cascade.
func (p Projects) Delete(ctx context.Context, uid string, cascade bool) error {
	return p.c.deleteWith(ctx, api.PathProject, uid, cascade)
}

// Contents returns what a project contains.
func (p Projects) Contents(ctx context.Context, uid string) (*api.Contents, error) {
	return fetch[api.Contents](ctx, p.c, request{path: api.PathProjectContents, args: []string{uid}})
}
