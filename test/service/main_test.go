// Package service_test drives the built binary over HTTP, against real registries.
package service_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
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

// neverSeen has the described answers that no test of the whole brings about, and why.
var neverSeen = []struct{ answer, why string }{
	{" 403", "no operation is closed to an authenticated user yet"},
	{"/v1/auth 429", "failed sign-ins are not throttled yet"},
	{"/v1/auth/authenticate 429", "failed sign-ins are not throttled yet"},
	{"/v1/auth/refresh/{token} 429", "refreshes are not throttled yet"},
	{"/v1/auth/refresh/{token} 503", "a store that is away is tested beside the store"},
	{"/v1/projects/alerts 503", "a store that is away is tested beside the store"},
	{"/readyz 503", "a store that is away is tested beside the store"},
	{"/.well-known/jwks.json 500", "the keys are in memory"},
	{" 405", "the validator routes no method that is not described; TestWrongInput provokes them"},
}

// everythingSeen tells of answers that are described and were never given: a description nobody has
// held against the service is a promise, not a contract.
func everythingSeen() int {
	c, err := instance.Description()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	seen, code := c.Seen(), 0
	for _, answer := range c.Described() {
		excused := slices.ContainsFunc(neverSeen, func(n struct{ answer, why string }) bool { return strings.HasSuffix(answer, n.answer) })
		if given := slices.Contains(seen, answer); given == excused {
			fmt.Fprintf(os.Stderr, "api/openapi.yaml has %s: given in these tests: %t, excused: %t\n", answer, given, excused)
			code = 1
		}
	}
	return code
}
