package server

import (
	"io"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/regcheck"
)

// What the server can return is described: each route, and each code of a check.
func TestRoutesAndCodesAreDescribed(t *testing.T) {
	var description struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas struct {
				RegistryCode struct{ Enum []string } `yaml:"RegistryCode"`
			}
		}
	}
	if err := yaml.Unmarshal(api.OpenAPI, &description); err != nil {
		t.Fatal(err)
	}
	for _, r := range edge(io.Discard).routes() {
		if description.Paths[r.path][strings.ToLower(r.method)] == nil {
			t.Errorf("api/openapi.yaml does not describe %s %s", r.method, r.path)
		}
	}
	for _, entry := range regcheck.Entries() {
		if entry.Code != "" && !slices.Contains(description.Components.Schemas.RegistryCode.Enum, string(entry.Code)) {
			t.Errorf("api/openapi.yaml does not list %s", entry.Code)
		}
	}
}
