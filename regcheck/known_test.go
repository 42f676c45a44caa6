package regcheck_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// A recheck without control request has the result of the first check, including warnings and texts.
func TestRecheckHasSameResult(t *testing.T) {
	spared := 0
	for _, rows := range matrix(t) {
		for _, row := range rows {
			if row.Problems != nil || row.Limits != "" || !row.Want.Valid || row.Server == "rebinding" {
				continue
			}
			spared += recheckRow(t, row)
		}
	}
	if spared < 10 {
		t.Errorf("a control request was spared %d times only", spared)
	}
}

func recheckRow(t *testing.T, row matrixRow) (spared int) {
	t.Helper()
	g := regchecktest.Start(t, row.Server)
	c, d := checker(g, mustPolicy(t, row), row), mustDefinition(t, g, row)
	c.Header = map[string]string{regchecktest.MarkHeader: "first"}
	first, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Header = map[string]string{regchecktest.MarkHeader: "second"}
	second, err := c.Recheck(t.Context(), regcheck.MustParse(t, d), first.Known, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resultOf(first), resultOf(second)); diff != "" {
		t.Errorf("%s: %s", row.Name, diff)
	}
	// A control request that was sent ahead and is not needed may be sent again, and may or may not arrive before its check ends.
	before, again := controlTargets(g, "first"), controlTargets(g, "second")
	maps.DeleteFunc(before, func(target string, _ bool) bool { return again[target] })
	relied := !first.Known.ControlAt.IsZero() && (d.Auth.Token == "" || first.Known.ControlOpen)
	if relied && len(before) == 0 {
		t.Errorf("%s: the control request was sent again (%v); known: %v", row.Name, again, first.Known)
	}
	if relied && second.Known != first.Known {
		t.Errorf("%s: recorded %v, then %v", row.Name, first.Known, second.Known)
	}
	return len(before)
}

// controlTargets returns the targets of the control requests of a Checker.
func controlTargets(g *regchecktest.Registry, mark string) map[string]bool {
	targets := map[string]bool{}
	for _, s := range g.Sightings() {
		if s.Mark == mark && isControl(s) {
			targets[s.Target] = true
		}
	}
	return targets
}

// resultOf returns the part of a report that must not depend on the control request.
func resultOf(r *regcheck.Report) string {
	return fmt.Sprintf("%s %v", outcomeLine(r, nil), r.Warnings)
}

// controls counts the requests with random credentials.
func controls(g *regchecktest.Registry) (n int) {
	for _, s := range g.Sightings() {
		if isControl(s) {
			n++
		}
	}
	return n
}

func isControl(s regchecktest.Sighting) bool {
	known := []string{regchecktest.Password, regchecktest.Token, regchecktest.RobotPassword,
		regchecktest.WrongPassword, regchecktest.WrongToken}
	return strings.HasPrefix(s.User, "regcheck-") || s.Kind == "bearer" && len(s.Secret) == 32 && !slices.Contains(known, s.Secret)
}

func mustRow(t *testing.T, g *regchecktest.Registry, definition string) (*regcheck.Checker, regcheck.Definition) {
	t.Helper()
	row := matrixRow{Name: t.Name(), Definition: json.RawMessage(definition)}
	return checker(g, egress.Policy{}, row), mustDefinition(t, g, row)
}

const (
	goodLogin  = `{"auth":{"type":"basic","username":"${user}","password":"${password}"}}`
	wrongLogin = `{"auth":{"type":"basic","username":"${user}","password":"${wrongPassword}"}}`
)

// A known result of a correct password does not make a wrong one valid, at an open registry or at a token service.
func TestRecheckDetectsWrongPassword(t *testing.T) {
	for _, server := range []string{"open-checks-credentials", "zot-mixed", "gitea", "google", "bearer", "htpasswd", "hides-behind-404"} {
		g := regchecktest.Start(t, server)
		c, good := mustRow(t, g, goodLogin)
		_, wrong := mustRow(t, g, wrongLogin)
		first, err := c.Check(t.Context(), regcheck.MustParse(t, good), nil)
		if err != nil || !first.Valid {
			t.Fatalf("%s: %v %v", server, first, err)
		}
		second, err := c.Recheck(t.Context(), regcheck.MustParse(t, wrong), first.Known, nil)
		if err != nil || second.Valid || second.Known != (regcheck.Known{}) {
			t.Errorf("%s: a wrong password came to %s %v", server, outcomeLine(second, err), err)
		}
	}
}

// A control request is repeated after a day.
func TestControlRequestIsRepeatedAfterDay(t *testing.T) {
	g := regchecktest.Start(t, "open-checks-credentials")
	c, d := mustRow(t, g, goodLogin)
	now := time.Now()
	c.Now = func() time.Time { return now }
	first, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil || first.Known == (regcheck.Known{}) {
		t.Fatal(first, err)
	}
	for _, row := range []struct {
		name  string
		d     regcheck.Definition
		known regcheck.Known
		after time.Duration
		sent  int
	}{
		{"within the day", d, first.Known, regcheck.ControlAgain - time.Minute, 0},
		{"a day later", d, first.Known, regcheck.ControlAgain, 1},
		{"the clock was set back", d, first.Known, -time.Hour, 1},
		{"as text", d, regcheck.ReadKnown(first.Known.String()), regcheck.ControlAgain - time.Minute, 0},
		{"nothing known", d, regcheck.Known{}, 0, 1},
	} {
		c.Now = func() time.Time { return now.Add(row.after) }
		before := controls(g)
		report, err := c.Recheck(t.Context(), regcheck.MustParse(t, row.d), row.known, nil)
		if err != nil || !report.Valid {
			t.Errorf("%s: %s", row.name, outcomeLine(report, err))
		}
		if sent := controls(g) - before; sent != row.sent {
			t.Errorf("%s: %d control requests, want %d", row.name, sent, row.sent)
		}
	}
}

// Known contains nothing of the credentials and is not part of the JSON of the report.
func TestKnownContainsNoSecret(t *testing.T) {
	g := regchecktest.Start(t, "open")
	c, good := mustRow(t, g, goodLogin)
	_, wrong := mustRow(t, g, wrongLogin)
	now := time.Now()
	c.Now = func() time.Time { return now }
	a, errA := c.Check(t.Context(), regcheck.MustParse(t, good), nil)
	b, errB := c.Check(t.Context(), regcheck.MustParse(t, wrong), nil)
	if errA != nil || errB != nil || !a.Known.ControlOpen || a.Known != b.Known {
		t.Errorf("two passwords on a registry that looks at none: %v and %v", a.Known, b.Known)
	}
	encoded, err := json.Marshal(a)
	if err != nil || strings.Contains(string(encoded), a.Known.String()) {
		t.Errorf("%s %v", encoded, err)
	}
}

// Replicas of other versions read the same column: what they wrote in another form is not known, and what was added is ignored.
func TestKnownText(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for text, want := range map[string]regcheck.Known{
		"": {}, "{}": {}, "null": {}, "- checked 1700000000;0a1b kind helm": {}, `{"controlAt":0}`: {}, `{"controlAt":-1}`: {},
		`{"controlAt":"soon"}`:                         {},
		`{"controlOpen":true}`:                         {},
		`{"controlAt":1700000000}`:                     {ControlAt: at},
		`{"controlAt":1700000000,"controlOpen":true}`:  {ControlAt: at, ControlOpen: true},
		`{"controlAt":1700000000,"new":1}`:             {ControlAt: at},
		`{"artifacts":[{"id":"0a","kind":"another"}]}`: {},
	} {
		if got := regcheck.ReadKnown(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", `{"controlAt":1700000000}`,
		`{"artifacts":[{"id":"0a","kind":"a Helm chart","child":""},{"id":"0b","kind":"a Helm chart","child":"sha256:1b"}]}`,
		`{"controlAt":1700000000,"controlOpen":true,"artifacts":[{"id":"0a","kind":"a Helm ` +
			`chart","at":1700000000,"blobs":[{"digest":"sha256:1b","size":2}]}]}`} {
		if got := regcheck.ReadKnown(text).String(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
