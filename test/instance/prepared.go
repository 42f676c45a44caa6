package instance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// prepared has the files of a data directory after a first start, by name. A first start takes three times as long as another.
var prepared struct {
	sync.Mutex
	files map[string][]byte
}

// prepare fills a new data directory with the files of a first start that another server of this test process made. A start
// with other bootstrap settings, store or program makes its own first start, and so do benchmarks, which measure it.
func (o Options) prepare(t testing.TB) {
	t.Helper()
	if _, test := t.(*testing.T); !test || o.Bare || o.DiskMiB > 0 || o.Program != "" || slices.ContainsFunc(o.Env, isSetting) ||
		slices.ContainsFunc(o.Flags, namesStore) {
		return
	}
	if err := os.Mkdir(o.DataDir, 0o700); os.IsExist(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	for name, content := range firstFiles(t) {
		if err := os.WriteFile(filepath.Join(o.DataDir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func isSetting(variable string) bool { return strings.HasPrefix(variable, "REGWARDEN_") }

func namesStore(flag string) bool {
	return strings.HasPrefix(flag, "--database-url") || strings.HasPrefix(flag, "--master-key-file")
}

// firstFiles makes the first start if no test before did.
func firstFiles(t testing.TB) map[string][]byte {
	t.Helper()
	prepared.Lock()
	defer prepared.Unlock()
	if prepared.files == nil {
		dir := filepath.Join(t.TempDir(), "prepared")
		if code := start(t, Options{DataDir: dir}).Stop(syscall.SIGTERM); code != 0 {
			t.Fatalf("the first start ended with exit code %d", code)
		}
		prepared.files = readFiles(t, dir)
	}
	return prepared.files
}

func readFiles(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
