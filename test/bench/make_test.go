package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeTarget = regexp.MustCompile(`(?m)^(bench-[a-z]+|profile):`)
	makesRun   = regexp.MustCompile(`^cd test && \S+ test \./bench -run '\^\$' .* -bench (\w+)\s*$`)
	benchmark  = regexp.MustCompile(`(?m)^func Benchmark(\w+)\(`)
)

// TestMakeRunsEachBenchmark holds the Makefile's targets against the benchmarks there are: no other test runs those.
func TestMakeRunsEachBenchmark(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, target := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "-C", "../..", target[1])
		cmd.Env = append(os.Environ(), "MAKEFLAGS=") // this make is not a part of the one that runs the tests
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", target[1], err, out)
		}
		run := makesRun.FindStringSubmatch(strings.TrimSpace(string(out)))
		if run == nil {
			t.Errorf("make %s runs %s", target[1], out)
			continue
		}
		made = append(made, run[1])
	}
	slices.Sort(made)
	if all := benchmarks(t); !slices.Equal(made, all) {
		t.Errorf("make runs %v, there are %v", made, all)
	}
}

func benchmarks(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range benchmark.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return names
}
