// Package engine_test holds the engine against real registries: a valid and an invalid case for each
// stage and each way to log in. Whatever is called valid with content, oras-go can list.
package engine_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	user     = "ada"
	password = "correct horse"
	identity = "an identity token that the token server accepts"
)

// want is what a case expects of a report.
type want struct {
	code     regcheck.Code // empty: valid
	reason   regcheck.Reason
	stage    regcheck.Stage // the one that failed
	field    string
	warnings []regcheck.WarningCode
	unknown  bool // the content stage is unknown
}

var valid = want{}

// check runs the engine as the service does, loopback being allowed.
func check(t *testing.T, d regcheck.Definition) *regcheck.Report {
	t.Helper()
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	checker := &regcheck.Checker{Egress: policy}
	plan, problems := regcheck.Parse(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var seen []regcheck.StageResult
	report, err := checker.Check(t.Context(), plan, func(s regcheck.StageResult) { seen = append(seen, s) })
	if err != nil {
		t.Fatalf("check %s: %v", d.Endpoint, err)
	}
	if len(seen) != 7 || len(report.Stages) != len(seen) {
		t.Errorf("%d stages were observed and %d reported, want all 7", len(seen), len(report.Stages))
	}
	return report
}

func compare(t *testing.T, report *regcheck.Report, w want) {
	t.Helper()
	if report.Valid != (w.code == "") || report.Code != w.code || report.Reason != w.reason ||
		report.Stage != w.stage || report.Field != w.field {
		t.Errorf("valid %t: %s %s at %q, field %q; want %s %s at %q, field %q\n%s", report.Valid, report.Code, report.Reason,
			report.Stage, report.Field,
			w.code, w.reason, w.stage, w.field, describe(report))
	}
	if !report.Valid && (report.Message == "" || report.Hint == "") {
		t.Errorf("the report says too little: message %q, hint %q", report.Message, report.Hint)
	}
	var warnings []regcheck.WarningCode
	for _, warning := range report.Warnings {
		warnings = append(warnings, warning.Code)
	}
	slices.Sort(warnings)
	slices.Sort(w.warnings)
	if !slices.Equal(warnings, w.warnings) {
		t.Errorf("warnings %q, want %q\n%s", warnings, w.warnings, describe(report))
	}
	if last := report.Stages[len(report.Stages)-1]; w.unknown != (last.Status == regcheck.Unknown) {
		t.Errorf("the content stage is %s, want unknown: %t", last.Status, w.unknown)
	}
}

// describe returns the message and the stages as text.
func describe(report *regcheck.Report) string {
	text := report.Message + "\n"
	for _, stage := range report.Stages {
		text += "  " + string(stage.Name) + " " + string(stage.Status) + " " + stage.Detail + "\n"
	}
	return text
}

func noAuth() *regcheck.Auth { return &regcheck.Auth{Type: regcheck.NoAuth} }

func basic(name, pass string) *regcheck.Auth {
	return &regcheck.Auth{Type: regcheck.Basic, Username: name, Password: secret.String(pass)}
}

func token(text string) *regcheck.Auth {
	return &regcheck.Auth{Type: regcheck.Token, Token: secret.String(text)}
}

func trusting(a *regcheck.Auth, ca string) *regcheck.Auth {
	a.TLS.Enabled, a.TLS.CA = true, ca
	return a
}

func showing(a *regcheck.Auth, pair testca.Pair) *regcheck.Auth {
	a.TLS.Enabled, a.TLS.Certificate, a.TLS.Key = true, pair.Certificate, secret.String(pair.Key)
	return a
}

// row is one case at one registry.
type row struct {
	name     string
	auth     *regcheck.Auth
	content  string
	provider regcheck.ProviderType
	want     want
}

func runRows(t *testing.T, registry realregistry.Access, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			report := check(t, regcheck.Definition{Endpoint: registry.Endpoint, BaseContentPath: r.content,
				ProviderType: r.provider, Auth: r.auth})
			compare(t, report, r.want)
			if report.Valid && !r.want.unknown {
				crossCheck(t, registry, r)
			}
		})
	}
}

// crossCheck reads with oras-go what the engine called readable.
func crossCheck(t *testing.T, registry realregistry.Access, r row) {
	t.Helper()
	if r.auth.Type == regcheck.Basic {
		registry = registry.As(r.auth.Username, r.auth.Password.Reveal())
	}
	if r.auth.Type == regcheck.Token && r.auth.Username != "" {
		registry = registry.As(r.auth.Username, r.auth.Token.Reveal())
	} else if r.auth.Type == regcheck.Token {
		registry.Token = r.auth.Token.Reveal()
	}
	registry.Client = testca.Pair{Certificate: r.auth.TLS.Certificate, Key: r.auth.TLS.Key.Reveal()}
	if r.content == "" {
		if r.auth.Type == regcheck.Basic { // oras-go asks for no scope-less anonymous token
			if err := realregistry.Ping(t, registry); err != nil {
				t.Errorf("valid for us, but oras-go says: %v", err)
			}
		}
		return
	}
	for _, path := range []string{realregistry.ChartPath, realregistry.ZarfPath, realregistry.PackPath,
		realregistry.ImagePath, realregistry.EmptyPath} {
		if path != r.content && !below(path, r.content) {
			continue
		}
		if _, err := realregistry.Tags(t, registry, path); err != nil {
			t.Errorf("%s is readable for us, but oras-go says of %s: %v", r.content, path, err)
		}
	}
}

func below(path, prefix string) bool {
	return len(path) > len(prefix) && path[:len(prefix)] == prefix && path[len(prefix)] == '/'
}

// contentRows are the same for every registry that accepts auth.
func contentRows(auth *regcheck.Auth, warnings ...regcheck.WarningCode) []row {
	also := func(more ...regcheck.WarningCode) want {
		return want{warnings: append(slices.Clone(warnings), more...)}
	}
	return []row{
		{"chart", auth, realregistry.ChartPath, "", also()},
		{"chart by its directory", auth, "charts", "", also()},
		{"zarf package", auth, realregistry.ZarfPath, regcheck.Zarf, also()},
		{"pack", auth, realregistry.PackBase, regcheck.Pack, also()},
		{"another kind", auth, realregistry.ImagePath, "", also(regcheck.WarnContentKindMismatch)},
		{"zarf package for helm", auth, realregistry.ZarfPath, regcheck.Helm, also(regcheck.WarnContentKindMismatch)},
		{"emptied", auth, realregistry.EmptyPath, "", also(regcheck.WarnEmptyContent)},
		// Distribution has no route for such a name and returns 404 in text, not NAME_INVALID.
		{"upper case", auth, "Charts/Podinfo", "",
			want{code: regcheck.CodeContentNotFound, reason: regcheck.ReasonNameInvalid, stage: regcheck.StageContent,
				field: "baseContentPath", warnings: warnings}},
	}
}

func absentRow(auth *regcheck.Auth, warnings ...regcheck.WarningCode) row {
	return row{"absent", auth, realregistry.AbsentPath, "",
		want{code: regcheck.CodeContentNotFound, stage: regcheck.StageContent, field: "baseContentPath", warnings: warnings}}
}

func halfNameRow(auth *regcheck.Auth, warnings ...regcheck.WarningCode) row {
	return row{"half a name", auth, "char", "",
		want{code: regcheck.CodeContentNotFound, stage: regcheck.StageContent, field: "baseContentPath", warnings: warnings}}
}

func refusedPassword(warnings ...regcheck.WarningCode) want {
	return want{code: regcheck.CodeAuthFailed, reason: regcheck.ReasonRefused, stage: regcheck.StageAuth,
		field: "auth.password", warnings: warnings}
}

func wanted(warnings ...regcheck.WarningCode) want {
	return want{code: regcheck.CodeAuthRequired, stage: regcheck.StageAuth, field: "auth.type", warnings: warnings}
}

// The engine leaves nothing running behind. The registry in this process does: the broadcaster of its
// notifications has no end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/docker/go-events.(*Broadcaster).run"))
}
