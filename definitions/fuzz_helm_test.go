package definitions

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

// fuzzReader gives a reader hostile files. The seeds are the samples of its format, and texts. The result is complete, and does not show a secret
// that is once in the file.
func fuzzReader(f *testing.F, format model.Format, name string, texts ...string) {
	files, err := filepath.Glob("testdata/samples/" + string(format) + "/*/in/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data)
		}
	}
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewScanner(model.Options{Format: format, Now: time.Unix(0, 0)})
		if err := s.AddFile("", fstest.MapFS{name: {Data: data}}, name); err != nil {
			t.Fatal(err)
		}
		result := s.Result()
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range result.Registries {
			if len(r.Sources) == 0 || r.Definition.Endpoint == "" || (r.Resolution == model.Unresolved) != (r.Reason != "") {
				t.Errorf("incomplete: %s", text)
			}
			password := r.Definition.Auth.Password.Reveal()
			if strings.Contains(password, marked) && bytes.Count(data, []byte(password)) == 1 && bytes.Contains(text, []byte(password)) {
				t.Errorf("the result shows a secret: %s", text)
			}
		}
	})
}

func FuzzHelmfile(f *testing.F) { fuzzReader(f, model.Helmfile, "helmfile.yaml") }

func FuzzHelmChart(f *testing.F) { fuzzReader(f, model.HelmChart, "Chart.yaml") }

func FuzzHelmRepositories(f *testing.F) { fuzzReader(f, model.HelmRepositories, "repositories.yaml") }

func FuzzImageUpdater(f *testing.F) { fuzzReader(f, model.ArgoCDImageUpdater, "registries.conf") }
