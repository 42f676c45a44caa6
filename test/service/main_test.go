// Package service_test drives the built binary over HTTP, against real registries.
package service_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) {
	code := instance.Main(m)
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" {
		code = everythingSeen()
	}
	os.Exit(code)
}

// neverSeen has the described responses, as regular expressions, that no test of the whole brings about, and why.
var neverSeen = []struct{ responses, why string }{
	{"POST /v1/registries/(oci/ecr|helm)/validate (409|429|503)|POST /v1/registries/helm (429|503)", "by the same code as for basic ones"},
	{"POST /v1/registries/oci/ecr/validate 204", "needs ECR, which test/palette imitates"},
	{`POST /v1/registries/(oci/ecr|oci/\{uid\}/ecr/sync|helm/\{uid\}/sync) 503`, "an unavailable store is tested next to the store"},
	{`GET /v1/auth/refresh/\{token\} 429`, "refreshes are not throttled yet"},
	{`(POST /v1/orgs (201|409)|(PUT|DELETE) /v1/orgs/\{uid\} (204|409)|GET /v1/orgs/\{uid\}/contents 200)`,
		"only the operator may do it, in process"},
	{`POST /v1/auth/org/\{org\}/oidc/backchannel-logout (429|503)`, "package federation tests it"},
	{`GET /v1/auth/org(/\{org\}/oidc/callback)? 429|GET /v1/auth/org/\{org\}/oidc/callback 500`,
		"by the same code as for the console, where package federation tests it"},
	{"(GET|PUT|PATCH|DELETE) .* 503", "an unavailable store is tested next to the store"},
	{`POST /v1/(auth/(logout|device|mfa/verify|mfa/enroll)|users/me/mfa(/(confirm|remove|recoveryCodes))?|` +
		`registries/oci/basic|registries/oci/bulk|registries/oci/basic/(import|scan)|registries/oci/\{` +
		`uid\}/(basic/sync|check)|orgs|projects|projects/\{uid\}/alerts/\{component\}|projects/\{uid\}/alerts/\{component\}/\{` +
		`alertUid\}/test|users|users/\{uid\}/invitation|users/summary|users/auth/tokens/revoke|roles|roles/\{uid\}/clone|` +
		`teams|teams/summary|apiKeys|apiKeys/revoke|trustRules|alerts/mutes|` +
		`tenants/\{uid\}/(oidc/config|saml/config|domains|sso/auth/providers|password/policy)|` +
		`alerts/confirmations/\{token\}) 503`,
		"an unavailable store is tested next to the store"},
	{"POST /scim/v2/(Users|Groups) 503", "an unavailable store is tested next to the store"},
	{"GET /.well-known/jwks.json 500", "the keys are in memory"},
	{".* 405", "the validator routes no method that is not described; TestWrongInput provokes them"},
}

// everythingSeen reports the responses that are described and were never returned: without a test, the description proves
// nothing about them.
func everythingSeen() int {
	c, err := instance.Description()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	excuses := make([]*regexp.Regexp, len(neverSeen))
	for i, n := range neverSeen {
		excuses[i] = regexp.MustCompile("^" + n.responses + "$")
	}
	seen, code := c.Seen(), 0
	for _, response := range c.Described() {
		excused := slices.ContainsFunc(excuses, func(excuse *regexp.Regexp) bool { return excuse.MatchString(response) })
		if given := slices.Contains(seen, response); given == excused {
			fmt.Fprintf(os.Stderr, "api/openapi.yaml has %s: given in these tests: %t, excused: %t\n", response, given, excused)
			code = 1
		}
	}
	return code
}
