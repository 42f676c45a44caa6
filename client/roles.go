package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/regwarden/regwarden/api"
)

// Roles has the operations on roles and on the permissions that they grant.
type Roles struct{ c *Client }

// List returns all roles.
func (r Roles) List(ctx context.Context) iter.Seq2[api.Role, error] {
	return list(ctx, r.c, request{path: api.PathRoles}, func(page *api.Roles) []api.Role { return page.Items })
}

// Get returns a role by its uid.
func (r Roles) Get(ctx context.Context, uid string) (*api.Role, error) {
	return fetch[api.Role](ctx, r.c, request{path: api.PathRole, args: []string{uid}})
}

// Create defines a role and returns its uid.
func (r Roles) Create(ctx context.Context, role api.RoleRequest) (uid string, err error) {
	return r.c.create(ctx, api.PathRoles, role)
}

// Clone defines a role with what another one has, under another name, and returns its uid.
func (r Roles) Clone(ctx context.Context, uid, name string) (string, error) {
	var created api.Created
	body := api.RoleCloneRequest{Metadata: api.RoleRequestMetadata{Name: name}}
	err := r.c.do(ctx, request{method: http.MethodPost, path: api.PathRoleClone, args: []string{uid}, in: body, creates: true}, &created)
	return created.UID, err
}

// Replace replaces a role that the organization defines.
func (r Roles) Replace(ctx context.Context, uid string, by api.RoleRequest) error {
	return r.c.put(ctx, api.PathRole, by, uid)
}

// Delete deletes a role that no user, team and trust rule has.
func (r Roles) Delete(ctx context.Context, uid string) error {
	return r.c.delete(ctx, api.PathRole, uid)
}

// Permissions returns the permissions that roles can grant, by what they are about.
func (r Roles) Permissions(ctx context.Context) ([]api.Permissions, error) {
	return read[[]api.Permissions](ctx, r.c, request{path: api.PathPermissions})
}
