// Package bench measures the built binary and the engine on loopback. Figures that depend on the machine are measured
// next to what the same machine can do, in turn with it and in the same run, so that limits are ratios or processor time.
//
// The Makefile starts the benchmarks: `make bench`, and one alone by `make bench BENCH=name`. The output is that of Go's own benchmarks.
package bench

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

var benchmark = regexp.MustCompile(`(?m)^func Benchmark(\w+)\(`)

// TestMakeRunsEachBenchmark tries what the Makefile makes of the names of benchmarks, since no other test runs those.
func TestMakeRunsEachBenchmark(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range benchmark.FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
	}
	slices.Sort(all)
	for _, name := range all {
		if run := benchmarksOfMake(t, all, "BENCH="+strings.ToLower(name)); !slices.Equal(run, []string{name}) {
			t.Errorf("BENCH=%s runs %v", strings.ToLower(name), run)
		}
	}
	most := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "Growth" })
	if run := benchmarksOfMake(t, all); !slices.Equal(run, most) {
		t.Errorf("make bench runs %v of %v", run, all)
	}
	if err := makeBench("BENCH=unknown").Run(); err == nil {
		t.Error("an unknown benchmark is no error")
	}
}

func makeBench(args ...string) *exec.Cmd {
	cmd := exec.Command("make", append([]string{"--no-print-directory", "-n", "bench"},
		args...)...) // #nosec G204 -- arguments of this file
	cmd.Dir = "../.."
	return cmd
}

// benchmarksOfMake returns which benchmarks the command of make matches.
func benchmarksOfMake(t *testing.T, all []string, args ...string) []string {
	t.Helper()
	command, err := makeBench(args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, pattern, _ := strings.Cut(string(command), "-bench '")
	pattern, _, _ = strings.Cut(pattern, "'")
	matches := regexp.MustCompile(pattern)
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !matches.MatchString("Benchmark" + name) })
}

// A benchmark that fails shows how its server ended, and the log, which is in a file.
func TestLogsInFilesAreShown(t *testing.T) {
	server := instance.Start(t, instance.Options{LogFile: filepath.Join(t.TempDir(), "log")})
	server.Kill()
	if !strings.Contains(server.Log(), "serving") {
		t.Errorf("the log is %q", server.Log())
	}
}
