package make_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const maxTargets = 20

// Pages and workflows name only targets that exist, and the list of make stays short enough to be read.
func TestTargets(t *testing.T) {
	list := exec.Command("make", "--no-print-directory")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	if listed := regexp.MustCompile(`(?m)^  make \S+ +\S`).FindAll(out, -1); len(listed) < 10 || len(listed) > maxTargets {
		t.Errorf("make lists %d targets, want at most %d", len(listed), maxTargets)
	}
	var targets []string
	for _, line := range regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindAllStringSubmatch(file(t, "../../Makefile"), -1) {
		targets = append(targets, strings.Fields(line[1])...)
	}
	named := 0
	for _, pattern := range []string{"*.md", "docs/*.md", ".github/*.md", ".github/workflows/*.yml", ".ci/run", ".goreleaser.yaml"} {
		pages, err := filepath.Glob("../../" + pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %v, %v", pattern, pages, err)
		}
		for _, page := range pages {
			for _, use := range regexp.MustCompile("(?m)(?:`|^ {4}|- |run: |^|exec )make "+
				"([a-z]+(?:-[a-z]+)*)").FindAllStringSubmatch(file(t, page), -1) {
				if named++; !slices.Contains(targets, use[1]) {
					t.Errorf("%s: there is no target %q", page, use[1])
				}
			}
		}
	}
	if named < 30 {
		t.Errorf("%d targets are named", named)
	}
}

func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
