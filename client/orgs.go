package client

import (
	"context"
	"iter"
	"strings"

	"github.com/regwarden/regwarden/api"
)

// Orgs has the operations on organizations. Over the network only List is allowed, and returns the caller's.
type Orgs struct{ c *Client }

// List returns the organizations that the caller may see.
func (o Orgs) List(ctx context.Context) iter.Seq2[api.Org, error] {
	return list(ctx, o.c, request{path: api.PathOrgs}, func(page *api.Orgs) []api.Org { return page.Items })
}

// Find returns the organization with this name, in any letter case.
func (o Orgs) Find(ctx context.Context, name string) (*api.Org, error) {
	return first(o.List(ctx), "Organization", name, func(one api.Org) bool { return strings.EqualFold(one.Metadata.Name, name) })
}

// Create creates an organization with a project named Default, and returns its uid.
func (o Orgs) Create(ctx context.Context, org api.OrgRequest) (uid string, err error) {
	return o.c.create(ctx, api.PathOrgs, org)
}

// Rename changes the name of an organization.
func (o Orgs) Rename(ctx context.Context, uid, name string) error {
	return o.c.put(ctx, api.PathOrg, api.OrgRequest{Metadata: api.Named{Name: name}}, uid)
}

// Delete deletes an organization. One with registries, or with users who are not administrators, is deleted only with cascade.
func (o Orgs) Delete(ctx context.Context, uid string, cascade bool) error {
	return o.c.deleteWith(ctx, api.PathOrg, uid, cascade)
}

// Contents returns what an organization contains.
func (o Orgs) Contents(ctx context.Context, uid string) (*api.Contents, error) {
	return fetch[api.Contents](ctx, o.c, request{path: api.PathOrgContents, args: []string{uid}})
}
