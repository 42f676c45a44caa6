// Command sbom writes the software bill of materials of a Go binary, in CycloneDX JSON: the modules that the linker recorded in it, and
// the Go version for the standard library. The same binary gives the same bytes.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom: "+err.Error())
		os.Exit(1)
	}
}

func run(binary, version, out string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info, version), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644) // #nosec G306 G703 -- published, and named on the command line
}

type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PackageURL string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func describe(info *debug.BuildInfo, version string) bom {
	application := newComponent("application", info.Main.Path, version)
	for _, setting := range info.Settings {
		application.Properties = append(application.Properties, property{"go:build:" + setting.Key, setting.Value})
	}
	components := []component{newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		c := newComponent("library", module.Path, module.Version)
		if module.Sum != "" {
			c.Properties = []property{{"go:sum", module.Sum}}
		}
		components = append(components, c)
	}
	return bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{application}, Components: components}
}

func newComponent(kind, name, version string) component {
	url := "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: url, Name: name, Version: version, PackageURL: url}
}
