package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
)

// Each operation, schema and error of the description is on a page, and each link leads to something.
func TestDocsAreComplete(t *testing.T) {
	var described struct {
		Tags  []struct{ Name string }
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
		}
		Components struct{ Responses, Schemas map[string]any }
	}
	if err := yaml.Unmarshal(api.OpenAPI, &described); err != nil {
		t.Fatal(err)
	}
	w, pages := mustWorld(t, true), ""
	paths := []string{pathDocs}
	for _, tag := range described.Tags {
		paths = append(paths, pathDocs+"/"+tag.Name)
	}
	for _, path := range paths {
		got := w.send("GET", path, "")
		page := got.Body.String()
		t.Logf("%s %d", path, len(page))
		if got.Code != http.StatusOK || len(page) > 100_000 || got.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %d with %d bytes, %v", path, got.Code, len(page), got.err)
		}
		for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, `id="`+link[1]+`"`) {
				t.Errorf("%s: the link to %s leads to nothing", path, link[1])
			}
		}
		if path == pathDocs {
			continue
		}
		pages += page
	}
	index := w.send("GET", pathDocs, "").Body.String()
	for path, methods := range described.Paths {
		for method, o := range methods {
			if !strings.Contains(pages, `<p id="`+o.OperationID+`">`) ||
				!strings.Contains(pages, `<code>`+strings.ToUpper(method)+" "+path+`</code>`) ||
				!strings.Contains(index, "#"+o.OperationID+`"`) {
				t.Errorf("%s %s is on no page", method, path)
			}
		}
	}
	for name := range described.Components.Schemas {
		if !strings.Contains(pages, `id="schema-`+name+`"`) {
			t.Errorf("the schema %s is on no page", name)
		}
	}
	for name := range described.Components.Responses {
		if !strings.Contains(pages, `id="error-`+name+`"`) {
			t.Errorf("the error %s is on no page", name)
		}
	}
}

func TestDocsNeedNoLogin(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	if page := w.send("GET", pathDocs, "").Body.String(); strings.Contains(page, `aria-label="Main"`) {
		t.Errorf("without a login: %s", page)
	}
	if page := w.send("GET", pathDocs+"/users", "", "Cookie", cookie).Body.String(); !strings.Contains(page, email) ||
		!strings.Contains(page, `<a href="/docs" aria-current="page">`) {
		t.Errorf("with a login: %.2000s", page)
	}
	if got := w.send("GET", pathDocs+"/nothing", ""); got.Code != http.StatusNotFound {
		t.Errorf("an unknown group: %d", got.Code)
	}
	if got := w.send("GET", "/console/docs", ""); got.Header().Get("Location") != pathDocs {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	if got := w.send("POST", "/console/theme", "theme=dark&next=/docs/users"); got.Header().Get("Location") != "/docs/users" {
		t.Errorf("the choice of colors leads to %v", got.Header())
	}
}
