// The race detector makes these ten times slower, and they have no goroutines.

//go:build !race

package node

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	repeat := func(text string, n int) string { return strings.Repeat(text, n) }
	laughs := "a0: &a0 [x, x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	wide, narrow := "a: &a {", "b:\n"
	for i := range 1000 {
		wide += fmt.Sprintf("k%d: 1, ", i)
		narrow += "- {<<: *a}\n"
	}
	for name, text := range map[string]string{
		"values":            repeat("- a\n", maxNodes+1),
		"values in flow":    "[" + repeat("?,", maxNodes),
		"UTF-16":            "\xff\xfe" + repeat("-\x00 \x00", maxNodes),
		"documents":         repeat("--- a\n", maxDocuments+1),
		"tags":              "%TAG !a! tag:a,\n---\na: b\n",
		"tags in UTF-16":    "\xff\xfe%\x00T\x00A\x00G\x00 \x00",
		"tags after a BOM":  "\ufeff%TAG !a! tag:a,\n---\na: b\n",
		"later tags":        "a: b\n...\u2028%TAG !a! tag:a,\n---\na: b\n",
		"depth in flow":     repeat("[", maxDepth+2) + repeat("]", maxDepth+2),
		"depth in blocks":   repeat("- ", maxDepth+2) + "a",
		"aliases":           laughs,
		"depth by aliases":  "a: &a " + repeat("[", 60) + repeat("]", 60) + "\nb: " + repeat("[", 60) + "*a" + repeat("]", 60),
		"merged members":    wide + "}\n" + narrow,
		"values in aliases": "a: &a\n" + repeat("- x\n", maxNodes/4) + "b: [*a, *a, *a, *a]\n",
	} {
		if documents, err := YAML([]byte(text)); !errors.Is(err, ErrLimit) || documents != nil {
			t.Errorf("%s: %d documents, %v", name, len(documents), err)
		}
	}
	if _, err := YAML([]byte("a: b %TAG\n")); err != nil {
		t.Error("such a text within a line is refused", err)
	}
	for name, text := range map[string]string{
		"values": "[" + repeat("1,", maxNodes) + "1]",
		"depth":  repeat("[", maxDepth+2) + repeat("]", maxDepth+2),
	} {
		if _, err := JSON([]byte(text)); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is allocated in all is more than a file ever needs at once. Files that the limits allow are a tenth of the largest.
func TestHostileFilesNeedLittleMemory(t *testing.T) {
	const size, limit = 8 << 20, 20 << 20
	for name, text := range map[string]string{
		"members":           strings.Repeat("aaaaaaaaaa: bbbbb\n", maxNodes/2/10),
		"objects":           strings.Repeat("- a: b\n", maxNodes/3/10),
		"members in JSON":   "{" + strings.Repeat(`"a":"b",`, maxNodes/10) + `"a":1}`,
		"objects in JSON":   "[" + strings.Repeat("[{},{}],", maxNodes/3/10) + "1]",
		"words":             strings.Repeat("a ", size/2/10),
		"unfinished string": `["` + strings.Repeat(`\n`, size/2/10),
		"brackets":          strings.Repeat("[", size),
		"empty members":     "[" + strings.Repeat("?,", size/2),
		"comments":          strings.Repeat("# a\n", size/4),
		"aliases":           "a: &a 1\nb: [" + strings.Repeat("*a ,", size/4),
	} {
		read := YAML
		if strings.HasSuffix(name, "JSON") {
			read = func(data []byte) ([]*Node, error) { root, err := JSON(data); return []*Node{root}, err }
		}
		data := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		documents, err := read(data)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d documents, %d KiB, %v", name, len(documents), allocated>>10, err)
		if allocated > limit {
			t.Errorf("%s: %d MiB", name, allocated>>20)
		}
	}
}
