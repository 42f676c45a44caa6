package definitions

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

// fuzzReader gives a reader hostile files. The seeds are the samples of its format, and texts.
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
		checkFuzzed(t, data, s.Result())
	})
}

var keyText = base64.StdEncoding.EncodeToString([]byte("the key " + marked))

// checkFuzzed holds what is true of every result: it is complete, limited by the size of the file, and shows no secret that is not in an
// address or a name.
func checkFuzzed(t *testing.T, data []byte, result model.Result) {
	t.Helper()
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if found := len(result.Registries) + len(result.Skipped) + len(result.Problems); found > 20*len(data)+20 {
		t.Errorf("%d results of %d bytes", found, len(data))
	}
	if bytes.Contains(text, []byte(keyText)) {
		t.Errorf("the result shows a private key: %s", text)
	}
	for _, r := range result.Registries {
		auth := r.Definition.Auth
		isAddressMissing := r.Definition.Endpoint == "" && r.Reason != model.UnresolvedTemplate
		if isAddressMissing || len(r.Sources) == 0 || (r.Resolution == model.Unresolved) != (r.Reason != "") {
			t.Errorf("incomplete: %s", text)
		}
		for _, hidden := range []string{auth.Password.Reveal(), auth.Token.Reveal(), auth.TLS.Key.Reveal()} {
			if strings.Contains(hidden, marked) && strings.Count(string(data), hidden) <= 1 && bytes.Contains(text, []byte(hidden)) {
				t.Errorf("the result shows a secret: %s", text)
			}
		}
	}
}

// FuzzKubernetes reads Kubernetes objects.
func FuzzKubernetes(f *testing.F) { fuzzReader(f, model.Kubernetes, "in.yaml") }

func FuzzHelmfile(f *testing.F) { fuzzReader(f, model.Helmfile, "helmfile.yaml") }

func FuzzHelmChart(f *testing.F) { fuzzReader(f, model.HelmChart, "Chart.yaml") }

func FuzzHelmRepositories(f *testing.F) { fuzzReader(f, model.HelmRepositories, "repositories.yaml") }

func FuzzImageUpdater(f *testing.F) { fuzzReader(f, model.ArgoCDImageUpdater, "registries.conf") }
