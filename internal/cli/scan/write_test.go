package scan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

// What cannot be written is noticed before a scan, and nothing is left behind.
func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"new.json": "", "old.json": "", "missing/new.json": "does not exist", ".": "is a directory"} {
		write(t, filepath.Join(dir, "old.json"), "old")
		err := CheckWritable(filepath.Join(dir, name))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseReports([]string{"junit=" + filepath.Join(dir, "missing", "a.xml")}, false); err == nil {
		t.Error("a report that cannot be written is accepted")
	}
	entries, err := os.ReadDir(dir)
	if text, _ := os.ReadFile(filepath.Join(dir, "old.json")); err != nil || len(entries) != 1 || string(text) != "old" {
		t.Errorf("%v, %v", entries, err)
	}
}

// A link such as /dev/stdout, or one that a team has for its baseline, stays a link.
func TestWriteFileKeepsLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "old.json"), "old")
	for _, name := range []string{"old.json", "new.json"} {
		link, target := filepath.Join(dir, name), filepath.Join(outside, name)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := CheckWritable(link); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := writeFile(link, []byte("text")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, _ := os.ReadFile(target)
		if leads, err := os.Readlink(link); err != nil || leads != target || string(got) != "text" {
			t.Errorf("%s leads to %q, which has %q: %v", name, leads, got, err)
		}
	}
}

// The CA is added to what a definition trusts, and does not turn on settings that have no effect.
func TestWithCA(t *testing.T) {
	for _, row := range []struct {
		endpoint  string
		tls, want regcheck.TLS
	}{
		{"https://one.test", regcheck.TLS{}, regcheck.TLS{Enabled: true, CA: "CA"}},
		{"https://one.test", regcheck.TLS{Enabled: true, CA: "own\n"}, regcheck.TLS{Enabled: true, CA: "own\n\nCA"}},
		{"https://one.test", regcheck.TLS{Certificate: "ignored"}, regcheck.TLS{Enabled: true, CA: "CA"}},
		{"https://one.test", regcheck.TLS{Enabled: true, InsecureSkipVerify: true}, regcheck.TLS{Enabled: true, InsecureSkipVerify: true}},
		{"http://one.test", regcheck.TLS{}, regcheck.TLS{}},
	} {
		d := regcheck.Definition{Endpoint: row.endpoint, Auth: &regcheck.Auth{TLS: row.tls}}
		if got := withCA(d, "CA").Auth.TLS; got != row.want || d.Auth.TLS != row.tls {
			t.Errorf("%s, %+v: %+v", row.endpoint, row.tls, got)
		}
	}
}
