package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// Trusts has the operations on the rules by which an organization accepts tokens of other issuers.
type Trusts struct{ c *Client }

// List returns the rules of the organization, without their projects.
func (t Trusts) List(ctx context.Context) ([]api.TrustRule, error) {
	rules, err := read[api.TrustRules](ctx, t.c, request{path: api.PathTrustRules})
	return rules.Items, err
}

// Get returns a rule.
func (t Trusts) Get(ctx context.Context, uid string) (*api.TrustRule, error) {
	return fetch[api.TrustRule](ctx, t.c, request{path: api.PathTrustRule, args: []string{uid}})
}

// Create creates a rule and returns its uid.
func (t Trusts) Create(ctx context.Context, rule api.TrustRuleRequest) (uid string, err error) {
	return t.c.create(ctx, api.PathTrustRules, rule)
}

// Delete deletes a rule. Tokens that were issued by it are not accepted any more.
func (t Trusts) Delete(ctx context.Context, uid string) error {
	return t.c.delete(ctx, api.PathTrustRule, uid)
}

// Exchange returns an authorization token for a token of an issuer that the organization trusts, and uses it from then on. Rule may be
// empty where only one accepts the token.
func (t Trusts) Exchange(ctx context.Context, org, rule string, token secret.String) (secret.String, error) {
	form := url.Values{api.ParamGrantType: {api.GrantTokenExchange}, api.ParamSubjectTokenType: {api.TokenTypeJWT},
		api.ParamSubjectToken: {token.Reveal()}}
	maps.Copy(form, query(api.ParamOrg, org, api.ParamRule, rule))
	r := request{method: http.MethodPost, path: api.PathToken, form: form, anonymous: true}
	issued, err := fetch[api.IssuedToken](ctx, t.c, r)
	if err != nil {
		return "", err
	}
	if issued.AccessToken == "" {
		return "", fmt.Errorf("%s: the response has no token", t.c.name(r))
	}
	return secret.String(issued.AccessToken), t.c.auth.use(ctx, secret.String(issued.AccessToken))
}
