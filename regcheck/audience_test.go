package regcheck_test

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

// A definition or a registry that has a name in braces, as our texts have, is shown as it is.
func TestOnlyOurTextsNameFields(t *testing.T) {
	d := regcheck.Definition{Endpoint: "registry.test", References: []string{"{auth.password}"},
		Auth: &regcheck.Auth{Type: regcheck.NoAuth, Password: "x"}}
	_, problems := regcheck.Parse(d)
	if len(problems) != 2 || !strings.HasSuffix(problems[0].Problem, `and not "{auth.password}"`) ||
		problems[1].Problem != `cannot be combined with type "noAuth"; remove it, or set auth.type to basic` {
		t.Errorf("%+v", problems)
	}
}
