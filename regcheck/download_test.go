package regcheck_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// A full check downloads each blob: it finds what a HEAD cannot, and ends at blobs that do not.
func TestFullCheck(t *testing.T) {
	for _, row := range []struct {
		server, path string
		limits       regcheck.Limits
		reason       regcheck.Reason
		code         regcheck.Code
		status       regcheck.Status
		contains     string
	}{
		{server: "htpasswd", path: "charts/nginx:1.2.3", status: regcheck.OK,
			contains: "charts/nginx:1.2.3 is a Helm chart, and its 2 blobs have their digests (189 B downloaded)"},
		{server: "htpasswd", path: "charts/nginx", status: regcheck.OK, contains: "and its 2 blobs have their digests"},
		{server: "blobs-redirected", path: "charts/nginx:1.2.3", status: regcheck.OK, contains: "and its 2 blobs have their digests"},
		{server: "blobs-signed", path: "charts/nginx:1.2.3", status: regcheck.OK, contains: "and its 2 blobs have their digests"},
		{server: "blobs-many", path: "charts/nginx:40", status: regcheck.OK, contains: "and its 41 blobs have their digests"},
		{server: "htpasswd", path: "charts/nginx:1.2.3", limits: regcheck.Limits{Download: 100}, status: regcheck.Unknown,
			contains: "and 1 of its 2 blobs have their digests (52 B downloaded); the others exceed the limit of a download"},
		{server: "blobs-layer-altered", path: "charts/nginx:1.2.3", code: regcheck.CodeContentDamaged,
			reason: regcheck.ReasonDigestMismatch,
			status: regcheck.Failed, contains: "with content that does not have this digest"},
		{server: "blobs-layer-altered", path: "charts/nginx", status: regcheck.Unknown,
			contains: "with content that does not have this digest"},
		{server: "blobs-layer-cut", path: "charts/nginx:1.2.3", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonSizeMismatch,
			status: regcheck.Failed, contains: "returned 200 with 9 bytes instead of 137 bytes"},
		{server: "blobs-layer-lost", path: "charts/nginx:1.2.3", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonBlobMissing,
			status: regcheck.Failed, contains: "returned 404"},
		{server: "blobs-at-metadata", path: "charts/nginx:1.2.3", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonBlobUnreachable,
			status: regcheck.Failed, contains: "https://metadata.test: "},
		{server: "blobs-endless", path: "charts/nginx:1.2.3", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonSizeMismatch,
			status: regcheck.Failed, contains: "returned 200 with more than 137 bytes"},
		{server: "blobs-stall", path: "charts/nginx:1.2.3", limits: regcheck.Limits{Response: 3 * time.Second},
			code: regcheck.CodeUnavailable, status: regcheck.Failed, contains: "the download ended early or stalled"},
		{server: "blobs-odd", path: "odd/huge:1", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonSizeMismatch,
			status: regcheck.Failed, contains: "1 bytes instead of 4611686018427387904 bytes"},
		{server: "blobs-odd", path: "odd/traversal:1", code: regcheck.CodeContentDamaged, reason: regcheck.ReasonDigestMismatch,
			status: regcheck.Failed, contains: "digest is not valid"},
		{server: "blobs-odd", path: "odd/algorithm:1", status: regcheck.Unknown, contains: "the algorithm is not known"},
	} {
		t.Run(row.server+" "+row.path, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			c, d := mustRow(t, g, withContent(goodLogin, row.path))
			c.Full, c.Limits = true, row.limits
			report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
			if err != nil {
				t.Fatal(err)
			}
			content := report.Stages[6]
			if report.Code != row.code || report.Reason != row.reason || content.Status != row.status ||
				!strings.Contains(content.Detail, row.contains) {
				t.Errorf("%s %s: %s", outcomeLine(report, nil), content.Status, content.Detail)
			}
			if faults := checkSecrets(g, report, nil); len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

// A download takes little memory, and its progress ends at its size.
func TestFullCheckTakesLittleMemory(t *testing.T) {
	g := regchecktest.Start(t, "blobs-large")
	c, d := mustRow(t, g, withContent(goodLogin, "charts/large:1"))
	var last, calls int64
	c.Full, c.Progress = true, func(done, total int64) {
		if calls++; done < last || total <= regchecktest.LargeBlob {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	runtime.ReadMemStats(&after)
	if err != nil || !report.Valid || last <= regchecktest.LargeBlob || calls < 10 {
		t.Errorf("%s %v; progress ended at %d after %d calls", outcomeLine(report, err), err, last, calls)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > regchecktest.LargeBlob/4 {
		t.Errorf("a download of %d MiB allocated %d MiB", regchecktest.LargeBlob>>20, allocated>>20)
	}
}

// The time of downloads is limited.
func TestFullCheckEnds(t *testing.T) {
	g := regchecktest.Start(t, "blobs-stall")
	c, d := mustRow(t, g, withContent(goodLogin, "charts/nginx:1.2.3"))
	c.Full, c.Limits = true, regcheck.Limits{Total: 2 * time.Second, DownloadTime: time.Second, Response: time.Hour}
	report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil || report.Code != regcheck.CodeUnavailable || report.Duration > 20*time.Second {
		t.Errorf("%s %v", outcomeLine(report, err), err)
	}
}
