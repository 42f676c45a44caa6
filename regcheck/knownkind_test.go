package regcheck_test

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// The kind of an artifact is read once: a GET of a manifest is a pull at Docker Hub, a HEAD is not. A check that fails
// does not forget it.
func TestRecheckDoesNotPullUnchanged(t *testing.T) {
	// Each check has its own registry: a request that a check no longer waits for may arrive after its end.
	start := func(login string) (*regchecktest.Registry, *regcheck.Checker, regcheck.Definition) {
		g := regchecktest.Start(t, "dockerhub")
		c, d := mustRow(t, g, strings.TrimSuffix(login, "}")+`,"baseContentPath":"charts/nginx"}`)
		return g, c, d
	}
	g, c, d := start(goodLogin)
	first, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil || pulls(g) != 1 {
		t.Fatalf("the first check: %d pulls, %v", pulls(g), err)
	}
	if _, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil); err != nil || pulls(g) != 2 {
		t.Errorf("another check that is not a recheck: %d pulls, want 2, %v", pulls(g), err)
	}
	known := first.Known
	for _, login := range []string{goodLogin, wrongLogin, goodLogin} {
		g, c, d := start(login)
		report, err := c.Recheck(t.Context(), regcheck.MustParse(t, d), known, nil)
		if err != nil {
			t.Fatal(err)
		}
		if content := report.Stages[6]; report.Valid != (login == goodLogin) || report.Valid &&
			!strings.HasSuffix(content.Detail, "is a Helm chart") {
			t.Errorf("valid: %v; content: %s", report.Valid, content.Detail)
		}
		if sent := len(g.Requests()); sent > 9 || pulls(g) > 0 { // docs/registries.md
			t.Errorf("%d requests, %d of them pulls, want at most 9 and none", sent, pulls(g))
		}
		known = report.Known
	}
	if text := known.String(); !strings.Contains(text, `"kind":"a Helm chart"`) {
		t.Errorf("the kind is not in %s", text)
	}
}

func pulls(g *regchecktest.Registry) (n int) {
	for _, r := range g.Requests() {
		if r.Method == "GET" && strings.Contains(r.Target, "/manifests/") {
			n++
		}
	}
	return n
}
