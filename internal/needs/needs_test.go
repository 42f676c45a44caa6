package needs

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// outcome records how a test ends.
type outcome struct {
	testing.TB
	how string
}

func (o *outcome) Skipf(string, ...any)  { o.how = "skipped" }
func (o *outcome) Fatalf(string, ...any) { o.how = "failed" }

func TestDebianPackage(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	for _, tt := range []struct {
		name, short, list string
		installed         bool
		want              string
	}{
		{"installed", "false", "", true, ""},
		{"missing", "false", "", false, "failed"},
		{"missing, and listed", "false", list, false, "skipped"},
		{"make check", "true", "", true, "skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer setShort(t, setShort(t, tt.short))
			t.Setenv(leftOut, tt.list)
			got := &outcome{TB: t}
			DebianPackage(got, "nginx", tt.installed)
			if got.how != tt.want {
				t.Errorf("the test is %q, want %q", got.how, tt.want)
			}
		})
	}
	text, err := os.ReadFile(list)
	if want := "nginx: TestDebianPackage/missing,_and_listed\n"; err != nil || string(text) != want {
		t.Errorf("the list is %q (%v), want %q", text, err, want)
	}
}

// setShort sets -short, and returns what it was.
func setShort(t *testing.T, value string) (before string) {
	t.Helper()
	before = flag.Lookup("test.short").Value.String()
	if err := flag.Set("test.short", value); err != nil {
		t.Fatal(err)
	}
	return before
}
