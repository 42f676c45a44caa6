package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

const importPath = "/v1/registries/oci/basic/import"

// importing is the body of an import.
func importing(definitions ...string) string {
	return `{"items":[` + strings.Join(definitions, ",") + `]}`
}

// results are those of an import, each with the name it has.
func (p person) results(query string, definitions ...string) (results []string) {
	p.t.Helper()
	var body struct {
		Items []struct{ Result, Name string }
	}
	p.do(http.MethodPost, importPath+query, importing(definitions...)).Want(http.StatusOK).Into(&body)
	for _, item := range body.Items {
		results = append(results, strings.TrimSpace(item.Result+" "+item.Name))
	}
	return results
}

// Definitions are stored once, under names from their addresses.
func TestImport(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	first, second := basic("https://registry.example.com", ada, adaPassword), noAuth("https://registry.example.com", content("charts"))
	for _, tt := range []struct {
		query       string
		definitions []string
		want        []string
	}{
		{"?dryRun=true", []string{first, first}, []string{"new registry.example.com", "exists registry.example.com"}},
		{"", []string{first, second}, []string{"stored registry.example.com", "stored registry.example.com/charts"}},
		{"", []string{first, noAuth("not an address"), second},
			[]string{"exists registry.example.com", "notValid", "exists registry.example.com/charts"}},
	} {
		if got := admin.results(tt.query, tt.definitions...); !slices.Equal(got, tt.want) {
			t.Errorf("import%s of %d definitions: %q, want %q", tt.query, len(tt.definitions), got, tt.want)
		}
	}
	var stored items
	if admin.get("/v1/registries/oci/summary", &stored); len(stored.Items) != 2 {
		t.Errorf("stored: %q", stored.names())
	}
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--request-memory", "8"}})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	body := importing(noAuth("https://registry.example.com"))
	client.Do(http.MethodPost, importPath, body).Want(http.StatusUnauthorized)
	client.Do(http.MethodPost, importPath, body, append(good, "ProjectUid", noUID)...).Want(http.StatusNotFound)
	client.Do(http.MethodPost, importPath, body, append(good, "Content-Type", "text/plain")...).Want(http.StatusUnsupportedMediaType)
	client.Do(http.MethodPost, importPath, strings.Repeat(" ", 1<<20+1), good...).Want(http.StatusRequestEntityTooLarge)
	wantFields(t, client.Do(http.MethodPost, importPath+"?dryRun=7", `{"items":7}`, good...).Want(http.StatusBadRequest).Fault(), "dryRun",
		"items")
}
