package regcheck_test

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// The newest version in a range is examined, as Helm and Flux choose it from the tags; a range without one is not valid.
func TestRangesOfVersions(t *testing.T) {
	const version = "Correct the version in baseContentPath"
	const repository = "Correct the repository in baseContentPath: append the name of the chart if it is missing."
	for _, row := range []struct {
		server, path, contains string
		code                   regcheck.Code
		reason                 regcheck.Reason
		hint                   string // its beginning
	}{
		{server: "htpasswd", path: "charts/nginx:^1.2", contains: "charts/nginx:1.3.0_build.7 is"},
		{server: "htpasswd", path: "charts/nginx:~1.2", contains: "charts/nginx:1.2.3 is"},
		{server: "htpasswd", path: "charts/nginx:=1.2", contains: "charts/nginx:1.2.3 is"},
		{server: "htpasswd", path: "charts/nginx:>=1 <2", contains: "charts/nginx:1.3.0_build.7 is"},
		{server: "htpasswd", path: "charts/nginx:>=2", contains: "charts/nginx has 2 tags, and none in the range >=2.",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: version},
		{server: "htpasswd", path: "charts/missing:>=2", contains: "charts/missing", code: regcheck.CodeContentNotFound},
		{server: "htpasswd", path: "charts:^1.2", contains: "No version of charts is in the range ^1.2: GET ",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: repository},
		{server: "htpasswd", path: "empty/none:^1.2", contains: "No version of empty/none is in the range ^1.2: GET ",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: repository},
		{server: "harbor", path: "charts:^1.2", contains: "No version of charts is in the range ^1.2: GET ",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: repository},
		{server: "dockerhub", path: "charts/missing:^1.2", contains: "No version of charts/missing is in the range ^1.2: GET ",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: repository},
		{server: "quay-per-repository", path: "charts:^1.2", contains: "The credentials are valid, but GET ",
			code: regcheck.CodeAccessDenied},
		{server: "quay-per-repository", path: "charts/nginx:^1.2", contains: "charts/nginx:1.3.0_build.7 is"},
		{server: "listing-tags-loop", path: "charts/nginx:^1.2", contains: "charts/nginx:1.2.3 is"},
		{server: "listing-tags-endless", path: "charts/nginx:>=2", contains: "the first 10 tags of charts/nginx are not in the range >=2"},
		{server: "listing-tags-empty-end", path: "charts/nginx:^1.2", contains: "charts/nginx:1.2.3 is"},
		{server: "listing-tags-empty-end", path: "charts/nginx:>=2", contains: "charts/nginx has 1 tag, and none in the range >=2.",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: version},
		{server: "listing-tags-unavailable", path: "charts/nginx:^1.2", contains: "returned 503", code: regcheck.CodeUnavailable},
		{server: "listing-tags-denied", path: "charts/nginx:^1.2", contains: "the tags of charts/nginx were read in part: GET "},
		{server: "listing-tags-unpaged", path: "charts/nginx:>=0.9", contains: "charts/nginx:1.2.3 is"},
		{server: "listing-tags-unpaged", path: "charts/nginx:^1.2", contains: "charts/nginx:1.2.3 is"},
		{server: "listing-tags-unpaged", path: "charts/nginx:>=2", contains: "charts/nginx has 2002 tags, and none in the range >=2.",
			code: regcheck.CodeContentNotFound, reason: "versionUnknown", hint: version},
	} {
		g := regchecktest.Start(t, row.server)
		c, d := mustRow(t, g, withContent(goodLogin, row.path))
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := report.Message
		if report.Valid {
			text = report.Stages[len(report.Stages)-1].Detail
		}
		if report.Code != row.code || report.Reason != row.reason || !strings.Contains(text, row.contains) ||
			!strings.HasPrefix(report.Hint, row.hint) {
			t.Errorf("%s %s: %s %q %q", row.server, row.path, outcomeLine(report, err), text, report.Hint)
		}
		if faults := append(wellFormed(report), checkSecrets(g, report, nil)...); len(faults) > 0 {
			t.Errorf("%s %s: %q", row.server, row.path, faults)
		}
	}
}
