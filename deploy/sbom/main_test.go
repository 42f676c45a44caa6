package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// The test's own binary has its modules recorded as every other binary.
func TestBillOfMaterials(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sbom.json")
	if err := run(os.Args[0], "1.2.3", out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var got bom
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	application := got.Metadata.Component
	if got.Format != "CycloneDX" || application.Version != "1.2.3" || !slices.Contains(application.Properties, property{"go:build:GOOS", runtime.GOOS}) {
		t.Errorf("%s of %+v", got.Format, application)
	}
	if want := newComponent("library", "std", strings.TrimPrefix(runtime.Version(), "go")); len(got.Components) == 0 || got.Components[0].PackageURL != want.PackageURL {
		t.Errorf("the standard library is missing in %+v", got.Components)
	}
}

func TestModulesOfABillOfMaterials(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v2.0.0+incompatible", Sum: "h1:a="},
		{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}},
	}}
	var got []string
	for _, c := range describe(info, "1.2.3").Components {
		got = append(got, c.PackageURL)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.com/a@v2.0.0%2Bincompatible", "pkg:golang/example.com/fork@v1.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
