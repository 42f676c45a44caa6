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
	g := regchecktest.Start(t, "dockerhub")
	content := `,"baseContentPath":"charts/nginx"}`
	c, d := mustRow(t, g, strings.TrimSuffix(goodLogin, "}")+content)
	_, wrong := mustRow(t, g, strings.TrimSuffix(wrongLogin, "}")+content)
	first, err := c.Check(t.Context(), d, nil)
	if err != nil || pulls(g) != 1 {
		t.Fatalf("the first check: %d pulls, %v", pulls(g), err)
	}
	known := first.Known
	for _, d := range []regcheck.Definition{d, wrong, d} {
		before := len(g.Requests())
		report, err := c.Recheck(t.Context(), d, known, nil)
		if err != nil {
			t.Fatal(err)
		}
		if content := report.Stages[6]; report.Valid && !strings.HasSuffix(content.Detail, "is a Helm chart") {
			t.Errorf("content: %s", content.Detail)
		}
		known = report.Known
		if sent := len(g.Requests()) - before; report.Valid && sent > 9 { // docs/registries.md
			t.Errorf("%d requests", sent)
		}
	}
	if pulls(g) != 1 {
		t.Errorf("%d pulls after four checks, want 1", pulls(g))
	}
	if _, err := c.Check(t.Context(), d, nil); err != nil || pulls(g) != 2 {
		t.Errorf("another check that is not a recheck: %d pulls, want 2, %v", pulls(g), err)
	}
	control, found := strings.CutSuffix(known.String(), "kind helm")
	if !found || strings.Contains(control, "kind") {
		t.Errorf("%v: older versions read only the result of the control request, which must precede the kind", known)
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
