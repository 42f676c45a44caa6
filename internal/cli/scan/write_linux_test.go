package scan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Standard output that a shell appends to a log is appended to, and not replaced.
func TestWriteFileAppendsToOpenFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "build.log")
	write(t, name, "before\n")
	log, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	open := fmt.Sprintf("/proc/self/fd/%d", log.Fd())
	if err := errors.Join(CheckWritable(open), writeFile(open, []byte("report\n"))); err != nil {
		t.Error(err)
	}
	if _, err := log.WriteString("after\n"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); string(text) != "before\nreport\nafter\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := CheckWritable("/proc/self/fd/none"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a descriptor that does not exist: %v", err)
	}
}
