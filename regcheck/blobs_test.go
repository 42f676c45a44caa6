package regcheck_test

import (
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// blobRequests returns the methods of the requests for blobs, sorted.
func blobRequests(g *regchecktest.Registry) (methods []string) {
	for _, r := range g.Requests() {
		if strings.Contains(r.Target, "/blobs/") {
			methods = append(methods, r.Method)
		}
	}
	slices.Sort(methods)
	return methods
}

func withContent(login, path string) string {
	return strings.TrimSuffix(login, "}") + `,"baseContentPath":"` + path + `"}`
}

// The blobs of an unchanged artifact are asked for once in each day, at a time that differs between registries, and without a pull.
func TestRecheckAsksForBlobsOnceADay(t *testing.T) {
	g := regchecktest.Start(t, "dockerhub")
	c, d := mustRow(t, g, withContent(goodLogin, "charts/nginx"))
	now := time.Now()
	c.Now = func() time.Time { return now }
	_, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err == nil && !slices.Equal(blobRequests(g), []string{"GET", "HEAD"}) {
		t.Errorf("the first check sent %v for blobs, want a GET of the config and a HEAD of the layer", blobRequests(g))
	}
	c.Roots = g.Roots()
	var known regcheck.Known
	asked := []int{}
	for range 1 + 3*24 {
		before := len(blobRequests(g))
		report, err := c.Recheck(t.Context(), regcheck.MustParse(t, d), known, nil)
		if err != nil || !report.Valid {
			t.Fatalf("%s %v", outcomeLine(report, err), err)
		}
		if known = regcheck.ReadKnown(report.Known.String()); known.String() != report.Known.String() {
			t.Fatalf("%s was read as %s", report.Known, known)
		}
		asked = append(asked, len(blobRequests(g))-before)
		now = now.Add(time.Hour)
	}
	if asked[0] != 2 || pulls(g) != 2 {
		t.Errorf("the first recheck asked for %d blobs; %d pulls, want 2 and 2", asked[0], pulls(g))
	}
	var at []int // hours
	for i, n := range asked[1:] {
		if n > 0 {
			at = append(at, i)
		}
	}
	if len(at) != 3 || at[1]-at[0] != 24 || at[2]-at[1] != 24 {
		t.Errorf("the blobs were asked for again after %v hours", at)
	}
}

// A manifest of a platform that was deleted, while the index, its tag and all blobs remain, is found within a day without a pull, also if
// an earlier version recorded the artifact.
func TestRecheckFindsDeletedPlatform(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		g := regchecktest.Start(t, "index-cleaned")
		c, d := mustRow(t, g, withContent(goodLogin, "images/multi:1"))
		now := time.Now()
		c.Now = func() time.Time { return now }
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		for range 3 {
			if err != nil || !report.Valid {
				t.Fatalf("%s %v", outcomeLine(report, err), err)
			}
			now = now.Add(24 * time.Hour)
			report, err = c.Recheck(t.Context(), regcheck.MustParse(t, d), regcheck.ReadKnown(report.Known.String()), nil)
		}
		if pulls(g) != 2 {
			t.Errorf("%d pulls of an unchanged index, want 2", pulls(g))
		}
		known := report.Known.String()
		if !recorded {
			known = regexp.MustCompile(`,"child":"[^"]*"`).ReplaceAllString(known, "")
		}
		g.Release()
		for range 2 {
			now = now.Add(24 * time.Hour)
			report, err = c.Recheck(t.Context(), regcheck.MustParse(t, d), regcheck.ReadKnown(known), nil)
			if err != nil || report.Valid || report.Reason != regcheck.ReasonBlobMissing {
				t.Errorf("%t: %s %v", recorded, outcomeLine(report, err), err)
			}
			known = report.Known.String()
		}
	}
}

// Rechecks ask for blobs that had a fault each time, so that the warning does not disappear before the fault.
func TestRecheckRepeatsFaults(t *testing.T) {
	for _, server := range []string{"blobs-layer-lost", "blobs-at-closed", "blobs-429"} {
		g := regchecktest.Start(t, server)
		c, d := mustRow(t, g, withContent(goodLogin, "charts/nginx"))
		known, warned := regcheck.Known{}, []string{}
		for range 3 {
			report, err := c.Recheck(t.Context(), regcheck.MustParse(t, d), known, nil)
			if err != nil {
				t.Fatal(err)
			}
			warned = append(warned, strings.Join(warningCodes(report), " "))
			known = report.Known
		}
		if warned[0] == "" || warned[1] != warned[0] || warned[2] != warned[0] || pulls(g) != 1 {
			t.Errorf("%s: warnings %q with %d pulls", server, warned, pulls(g))
		}
	}
}

// A registry that rejects a token during a long check gets another one. A young token has not expired, and the check ends as before.
func TestExpiredTokenIsRenewed(t *testing.T) {
	for _, row := range []struct {
		path       string
		references string
		full       bool
	}{
		{"charts/nginx", "", false},
		{"charts/nginx", "", true},
		{"charts/nginx:1.2.3", `,"references":["charts/nginx:1.3.0_build.7"]`, false},
	} {
		for _, step := range []time.Duration{0, time.Minute} {
			g := regchecktest.Start(t, "listing-token-expires")
			login := strings.TrimSuffix(withContent(goodLogin, row.path), "}") + row.references + "}"
			c, d := mustRow(t, g, login)
			var calls atomic.Int64
			now := time.Now()
			c.Now = func() time.Time { return now.Add(time.Duration(calls.Add(1)) * step) }
			c.Full = row.full
			report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
			whole := err == nil && report.Valid && len(report.Warnings) == 0
			for _, r := range report.References {
				whole = whole && r.Valid
			}
			if whole != (step > 0) {
				t.Errorf("%s, %s after each other: %s %v; %v", row.path, step, outcomeLine(report, err), err, blobRequests(g))
			}
		}
	}
}

// A check of blobs says what was examined, cause and fix.
func TestDamageHasCauseAndFix(t *testing.T) {
	for _, row := range []struct{ server, path, contains, hint string }{
		{"blobs-at-closed", "charts/nginx", "charts/nginx:1.3.0_build.7: blob sha256:",
			"storage to which it redirects downloads, must be reachable"},
		{"blobs-at-closed", "charts/nginx:1.2.3", "is redirected to https://closed.test. Tried closed.test:443: the connection was refused",
			"storage to which it redirects downloads, must be reachable"},
		{"blobs-at-unknown", "charts/nginx:1.2.3", `is redirected to https://unknown.test. "unknown.test" does not exist`,
			"storage to which it redirects downloads, must be reachable"},
		{"blobs-at-metadata", "charts/nginx:1.2.3", "is redirected to https://metadata.test: ", "allow it in the egress policy"},
		{"blobs-loop", "charts/nginx:1.2.3", "is redirected in a loop, or more than 3 times; 1 more of its 2 blobs cannot be pulled",
			"Contact the registry operator"},
		{"blobs-layer-lost", "charts/nginx:1.2.3", "returned 404 (BLOB_UNKNOWN: blob unknown to registry)", "Push the artifact again"},
		{"blobs-storage-lost", "charts/nginx:1.2.3", "is redirected to https://storage.test, which returned 404 (NOSUCHKEY: ",
			"Push the artifact again"},
		{"blobs-layer-cut", "charts/nginx:1.2.3", "returned 200 with 9 bytes instead of 137 bytes", "Push the artifact again"},
		{"blobs-config-altered", "charts/nginx:1.2.3", "with content that does not have this digest", "stored content was altered"},
		{"blobs-400", "charts/nginx:1.2.3", "returned 400 (UNSUPPORTED: bad request)", "Contact the registry operator"},
		{"blobs-403", "charts/nginx:1.2.3", "returned 403 (DENIED: no permission to download layers)", "ecr:GetDownloadUrlForLayer"},
		{"index-child-lost", "images/multi:1", "its manifest for linux/amd64: GET https://registry.test/v2/images/multi/manifests/sha256:",
			"Push the artifact again"},
		{"htpasswd", "charts/nginx:1.2.4", "GET https://registry.test/v2/charts/nginx/manifests/1.2.4 returned 404",
			"similar names: charts/nginx:1.2.3, charts/nginx:1.3.0_build.7"},
		{"htpasswd", "charts/ngimx:1.2.3", "none at or below this path", "similar names: charts/nginx:1.2.3"},
	} {
		g := regchecktest.Start(t, row.server)
		c, d := mustRow(t, g, withContent(goodLogin, row.path))
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, hint := report.Message, report.Hint
		if report.Valid {
			text = report.Warnings[0].Message
			hint = text
		}
		if !strings.Contains(text, row.contains) || !strings.Contains(hint, row.hint) {
			t.Errorf("%s %s: %s\n%s", row.server, row.path, text, hint)
		}
	}
}

// Of many blobs a sample is asked for, and the stage says so. The default platform is chosen from an index, and a platform that
// the index does not have is a failure that names those that it has.
func TestExaminedIsNamed(t *testing.T) {
	for _, row := range []struct {
		server, path, platform, contains string
		blobs                            int
		valid                            bool
	}{
		{"htpasswd", "charts/nginx", "", "1.3.0_build.7 is a Helm chart, and its 2 blobs are there", 2, true},
		{"blobs-many", "charts/nginx:40", "",
			"charts/nginx:40 is a Helm chart, and 16 of its 41 blobs that were asked for are there", 16, true},
		{"blobs-many", "charts/nginx:9000", "", "and 16 of its 4096 or more blobs that were asked for are there", 16, true},
		{"index", "images/multi:1", "", "images/multi:1 is a container image (linux/amd64), and its 2 blobs are there", 2, true},
		{"index", "images/multi:1", "linux/arm64", "is a container image (linux/arm64/v8)", 2, true},
		{"index", "images/multi:1", "linux/arm64/v8", "is a container image (linux/arm64/v8)", 2, true},
		{"index", "images/multi:1", "linux/arm64/v7", "no manifest for linux/arm64/v7; it has: linux/arm64/v8, linux/amd64", 0, false},
		{"index", "images/multi:1", "windows/amd64", "no manifest for windows/amd64; it has: linux/arm64/v8, linux/amd64", 0, false},
		{"index", "images/multi:arm", "", "is a container image (linux/arm64/v8)", 2, true},
		{"index", "images/multi:zarf", "", "is a container image (multi/amd64)", 2, true},
		{"index", "images/multi:zarf", "linux/arm64", "is a container image (multi/arm64)", 2, true},
		{"htpasswd", "images/alpine:3.20", "windows/amd64", "images/alpine:3.20 is a container image, and its 2 blobs are there", 2, true},
	} {
		g := regchecktest.Start(t, row.server)
		c, d := mustRow(t, g, withContent(goodLogin, row.path))
		c.Platform = row.platform
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil {
			t.Fatal(err)
		}
		if detail := report.Stages[6].Detail; !strings.Contains(detail, row.contains) || len(blobRequests(g)) != row.blobs ||
			report.Valid != row.valid {
			t.Errorf("%s %s %s: %s %d blobs", row.server, row.path, row.platform, detail, len(blobRequests(g)))
		}
	}
}

// A digest of a manifest that breaks the grammar is not sent, and a layer outside of the registry is not requested.
func TestOddDescriptorsAreNotRequested(t *testing.T) {
	g := regchecktest.Start(t, "blobs-odd")
	for _, path := range []string{"odd/traversal:1", "odd/query:1", "odd/nodigest:1", "odd/foreign:1"} {
		c, d := mustRow(t, g, withContent(goodLogin, path))
		if _, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range g.Requests() {
		if strings.Contains(r.Target, "..") || strings.Contains(r.Target, "a=b") ||
			strings.HasSuffix(r.Target, "/blobs/") || r.At != g.Endpoint {
			t.Errorf("%s %s %s", r.At, r.Method, r.Target)
		}
	}
}
