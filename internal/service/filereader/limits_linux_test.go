//go:build !race

package filereader

import (
	"strings"
	"testing"
)

func init() {
	children["service"] = defaultLimits
	children["killedByKernel"] = changed(func(l *limits) { l.collectAt, l.endMemory, l.killMemory = 1<<40, 1<<40, 140<<20 })
}

// The kernel ends a process that maps too much memory. The log has the reason, and nothing of the file.
func TestKernelLimit(t *testing.T) {
	r, log := newTestReader(t, "killedByKernel")
	wantLimited(t, r, "The file takes too long or too much memory to read. Nothing of it is shown. Give the parts that have registries.")
	if n := strings.Count(log.String(), "file reading process failed"); n != 2 || !strings.Contains(log.String(), "memory") ||
		strings.Contains(log.String(), "hunter2") {
		t.Errorf("log: %s", log)
	}
}
