// Package bench measures the built binary and the engine on loopback. Figures that depend on the machine are measured
// next to what the same machine can do, in turn with it and in the same run, so that limits are ratios or processor time.
//
// The Makefile starts the benchmarks: `make bench`, and one alone by `make bench-…`. The output is that of Go's own benchmarks.
package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

var (
	strict    = flag.Bool("strict", false, "fail when a limit is missed")
	write     = flag.Bool("write", false, "write the figures into docs/benchmarks.md")
	oldBinary = flag.String("old", "", "absolute path of another regwarden binary, which is measured in the same rounds")
	rounds    = flag.Int("rounds", 7, "how often each figure is measured; the median is reported")
	roundTime = flag.Duration("for", 2*time.Second, "how long a figure is measured in each round")
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		if err := runChild(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(instance.Main(m))
}

// target is a service under test: the one built from this source, or the one of -old. The names of its figures begin with the prefix.
type target struct {
	*instance.Server
	prefix string
}

const oldPrefix = "old/"

// startTargets starts the service, and the one of -old if there is one.
func startTargets(b *testing.B, flags ...string) []target {
	b.Helper()
	targets := []target{{start(b, instance.Options{Flags: flags}), ""}}
	if *oldBinary != "" {
		targets = append(targets, target{start(b, instance.Options{Flags: flags, Program: *oldBinary}), oldPrefix})
	}
	return targets
}

// start starts the service with its log in a file, as a supervisor would.
func start(b *testing.B, o instance.Options) *instance.Server {
	b.Helper()
	o.LogFile = b.TempDir() + "/log"
	return instance.Start(b, o)
}

var (
	makeTarget = regexp.MustCompile(`(?m)^(?:bench-[a-z]+|profile):.*\n\t\$\(bench_run\) (\w+)`)
	benchmark  = regexp.MustCompile(`(?m)^func Benchmark(\w+)\(`)
)

// TestMakeRunsEachBenchmark compares the targets of the Makefile with the benchmarks, since no other test runs those.
func TestMakeRunsEachBenchmark(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var made, written []string
	for _, file := range append(files, "../../Makefile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range makeTarget.FindAllStringSubmatch(string(text), -1) {
			made = append(made, found[1])
		}
		for _, found := range benchmark.FindAllStringSubmatch(string(text), -1) {
			written = append(written, found[1])
		}
	}
	slices.Sort(made)
	slices.Sort(written)
	if len(made) == 0 || !slices.Equal(made, written) {
		t.Errorf("make runs %v, there are %v", made, written)
	}
}
