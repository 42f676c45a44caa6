package client

import (
	"context"
	"net/url"

	"github.com/regwarden/regwarden/api"
)

// OrgLogin returns how the users of an organization log in. Empty is the default organization. A login at an identity provider needs the
// cookie of the response, which is not returned: programs log in with Devices instead.
func (t Tenants) OrgLogin(ctx context.Context, org string) (*api.OrgLogin, error) {
	return fetch[api.OrgLogin](ctx, t.c, request{path: api.PathOrgLogin, query: url.Values{"orgName": {org}}, anonymous: true})
}

// Orgs returns how the users of the own organization log in.
func (t Tenants) Orgs(ctx context.Context) ([]api.OrgLoginOf, error) {
	found, err := read[api.OrgLogins](ctx, t.c, request{path: api.PathOrgLogins})
	return found.Organizations, err
}

// SendOrgs has the names of the organizations of a user sent to its address. Nothing shows whether there is such a user.
func (t Tenants) SendOrgs(ctx context.Context, email string) error {
	return t.c.do(ctx, request{path: api.PathOrgForgotten, query: url.Values{"emailId": {email}}, anonymous: true}, nil)
}
