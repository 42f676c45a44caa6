package regcheck_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

func withReferences(login, path string, references ...string) string {
	list, err := json.Marshal(references)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(withContent(login, path), "}") + `,"references":` + string(list) + `}`
}

// referenceLines returns the results of references in short: status, reason or code, reference.
func referenceLines(r *regcheck.Report) (lines []string) {
	for _, one := range r.References {
		line := string(one.Status) + " " + one.Reference
		if one.Code != "" {
			line += " " + string(one.Code) + "/" + string(one.Reason)
		}
		lines = append(lines, line)
	}
	return lines
}

// Each reference has its own result, and the first that fails in the order of the list is that of the report.
func TestReferences(t *testing.T) {
	for _, row := range []struct {
		server, login, path string
		references, want    []string
		code                regcheck.Code
		field               string
		contains, hint      string // of message, or of the detail of the content stage if it is valid, and hint
		warnings            []string
	}{
		{server: "htpasswd", login: goodLogin,
			references: []string{"charts/nginx:1.2.3", "/charts/redis:1.2.3/", "charts/nginx:1.3.0_build.7"},
			want:       []string{"ok charts/nginx:1.2.3", "ok charts/redis:1.2.3", "ok charts/nginx:1.3.0_build.7"},
			contains:   "3 references can be pulled"},
		{server: "htpasswd-http2", login: goodLogin, path: "charts/redis", references: []string{"charts/nginx:1.2.3"},
			want: []string{"ok charts/nginx:1.2.3"}, contains: "blobs are there; 1 reference can be pulled"},
		{server: "htpasswd", login: goodLogin,
			references: []string{"charts/nginx:1.2.3", "charts/nginx:1.2.4", "charts/missing:1", "charts/redis:1.2.3"},
			want: []string{"ok charts/nginx:1.2.3", "failed charts/nginx:1.2.4 RegistryContentNotFound/tagUnknown",
				"failed charts/missing:1 RegistryContentNotFound/", "ok charts/redis:1.2.3"},
			code: regcheck.CodeContentNotFound, field: "references[1]",
			contains: "2 of 4 references cannot be pulled. GET https://registry.test/v2/charts/nginx/manifests/1.2.4",
			hint:     "Correct the tag in references[1]; similar names: charts/nginx:1.2.3"},
		{server: "htpasswd", login: goodLogin, references: []string{"charts/nginx@sha256:" + strings.Repeat("0", 64)},
			want: []string{"failed charts/nginx@sha256:" + strings.Repeat("0", 64) + " RegistryContentNotFound/digestUnknown"},
			code: regcheck.CodeContentNotFound, field: "references[0]", contains: "manifest with this digest. GET ",
			hint: "Correct the digest in references[0]"},
		{server: "blobs-odd", login: goodLogin, references: []string{"odd/foreign:1", "odd/huge:1", "odd/traversal:1"},
			want: []string{"ok odd/foreign:1", "failed odd/huge:1 RegistryContentDamaged/sizeMismatch",
				"failed odd/traversal:1 RegistryContentDamaged/digestMismatch"},
			code: regcheck.CodeContentDamaged, contains: "2 of 3 references cannot be pulled. odd/huge:1: blob",
			hint: "Push the artifact again"},
		{server: "docker-auth", login: goodLogin, references: []string{"vault/secret:1.2.3", "charts/nginx:1.2.3"},
			want: []string{"failed vault/secret:1.2.3 RegistryAccessDenied/", "ok charts/nginx:1.2.3"},
			code: regcheck.CodeAccessDenied, field: "references[0]", hint: "Grant the user permission to pull from vault/secret"},
		{server: "harbor", login: `{"auth":{"type":"noAuth"}}`, references: []string{"public/hello:1.2.3", "charts/nginx:1.2.3"},
			want: []string{"ok public/hello:1.2.3", "failed charts/nginx:1.2.3 RegistryAuthRequired/"},
			code: regcheck.CodeAuthRequired, field: "auth.type", contains: "charts/nginx cannot be read without credentials"},
		{server: "htpasswd", login: goodLogin, path: "charts/missing", references: []string{"charts/nginx:1.2.3"},
			want: []string{"ok charts/nginx:1.2.3"}, code: regcheck.CodeContentNotFound, field: "baseContentPath"},
		{server: "token-needs-scope", login: goodLogin, references: []string{"charts/nginx:1.2.3"},
			want: []string{"ok charts/nginx:1.2.3"}, contains: "1 reference can be pulled"},
		{server: "zot-mixed", login: wrongLogin, references: []string{"charts/nginx:1.2.3"},
			want: []string{"skipped charts/nginx:1.2.3"}, code: regcheck.CodeAuthFailed, field: "auth.password"},
		{server: "htpasswd", login: wrongLogin, references: []string{"charts/nginx:1.2.3"},
			want: []string{"skipped charts/nginx:1.2.3"}, code: regcheck.CodeAuthFailed, field: "auth.password"},
		{server: "blobs-insecure", login: goodLogin, references: []string{"charts/nginx:1.2.3", "charts/redis:1.2.3"},
			want:     []string{"unknown charts/nginx:1.2.3", "unknown charts/redis:1.2.3"},
			contains: "2 of 2 references could not be examined completely", warnings: []string{"contentNotReadable", "contentNotReadable"}},
	} {
		g := regchecktest.Start(t, row.server)
		c, d := mustRow(t, g, withReferences(row.login, row.path, row.references...))
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := report.Message
		if report.Valid {
			text = report.Stages[6].Detail
		}
		if !slices.Equal(referenceLines(report), row.want) || report.Code != row.code || report.Field != row.field ||
			!strings.Contains(text, row.contains) ||
			!strings.Contains(report.Hint, row.hint) || !slices.Equal(warningCodes(report), row.warnings) {
			t.Errorf("%s %q: %q\n%s %s\n%s\n%s\n%v", row.server, row.references, referenceLines(report), report.Code, report.Field, text,
				report.Hint, report.Warnings)
		}
		if faults := append(wellFormed(report), checkSecrets(g, report, nil)...); len(faults) > 0 {
			t.Errorf("%s %q: %q", row.server, row.references, faults)
		}
	}
}

// References of a registry that stalls take no longer than the whole check may. Requests for blobs do not exceed a limit of the registry.
func TestReferencesAreBounded(t *testing.T) {
	many := make([]string, regcheck.MaxReferences)
	for i := range many {
		many[i] = fmt.Sprintf("charts/nginx%d:1", i)
	}
	g := regchecktest.Start(t, "slow-tags")
	c, d := mustRow(t, g, withReferences(goodLogin, "", many...))
	c.Limits = regcheck.Limits{Total: 5 * time.Second} // a busy machine may need most of it before the first response
	began := time.Now()
	report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range report.References {
		if one.Code != regcheck.CodeUnavailable || !one.Retryable {
			t.Errorf("%+v", one)
		}
	}
	if took := time.Since(began); took > 20*time.Second || report.Code != regcheck.CodeUnavailable || report.Field != "" {
		t.Errorf("%s %q after %s", report.Code, report.Field, took)
	}

	g = regchecktest.Start(t, "blobs-many")
	c, d = mustRow(t, g, withReferences(goodLogin, "", "charts/nginx:40", "charts/nginx:9000"))
	if report, err = c.Check(t.Context(), regcheck.MustParse(t, d), nil); err != nil || !report.Valid || len(report.Warnings) > 0 ||
		len(blobRequests(g)) != 32 {
		t.Errorf("%s %v after %d requests for blobs: %q", outcomeLine(report, err), err, len(blobRequests(g)), report.Warnings)
	}
}

// A recheck pulls none of the references that did not change, also after a check that examined none of them.
func TestRecheckDoesNotPullReferences(t *testing.T) {
	references := []string{"charts/nginx:1.2.3", "charts/redis:1.2.3", "charts/team/web:1.3.0_build.7"}
	var known regcheck.Known
	for i, login := range []string{goodLogin, goodLogin, wrongLogin, goodLogin} {
		g := regchecktest.Start(t, "dockerhub")
		c, d := mustRow(t, g, withReferences(login, "", references...))
		report, err := c.Recheck(t.Context(), regcheck.MustParse(t, d), known, nil)
		if err != nil || report.Valid != (login == goodLogin) {
			t.Fatalf("%s %v", outcomeLine(report, err), err)
		}
		if want := map[int]int{0: 3}[i]; pulls(g) != want || i > 0 && len(blobRequests(g)) > 0 {
			t.Errorf("check %d: %d pulls, want %d; %v for blobs", i, pulls(g), want, blobRequests(g))
		}
		if known = regcheck.ReadKnown(report.Known.String()); known.String() != report.Known.String() {
			t.Errorf("%s was read as %s", report.Known, known)
		}
	}
}

// A full check downloads the blobs of one reference after the other.
func TestFullCheckOfReferences(t *testing.T) {
	for server, want := range map[string][]string{
		"htpasswd": {"ok charts/nginx:1.2.3", "ok charts/redis:1.2.3"},
		"blobs-layer-altered": {"failed charts/nginx:1.2.3 RegistryContentDamaged/digestMismatch",
			"failed charts/redis:1.2.3 RegistryContentDamaged/digestMismatch"},
	} {
		g := regchecktest.Start(t, server)
		c, d := mustRow(t, g, withReferences(goodLogin, "", "charts/nginx:1.2.3", "charts/redis:1.2.3"))
		ended := 0
		c.Full, c.Progress = true, func(done, total int64) {
			if done == total {
				ended++
			}
		}
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil || !slices.Equal(referenceLines(report), want) || ended < 2 {
			t.Errorf("%s: %q, %d downloads, %v", server, referenceLines(report), ended, err)
		}
	}
}
