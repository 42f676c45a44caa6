package definitions

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// FuzzKubernetes reads Kubernetes objects. The seeds are the samples.
func FuzzKubernetes(f *testing.F) {
	files, err := filepath.Glob("testdata/samples/kubernetes/*/in/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewScanner(model.Options{Format: model.Kubernetes})
		if err := s.AddReader("in", strings.NewReader(string(data))); err != nil {
			t.Fatal(err)
		}
		result := s.Result()
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range result.Registries {
			if r.Definition.Endpoint == "" || len(r.Sources) == 0 || (r.Resolution == model.Unresolved) != (r.Reason != "") {
				t.Errorf("incomplete: %s", text)
			}
			for _, secret := range []string{r.Definition.Auth.Password.Reveal(), r.Definition.Auth.TLS.Key.Reveal()} {
				if strings.Contains(secret, marked) && !bytes.Contains(data, []byte(secret)) && bytes.Contains(text, []byte(secret)) {
					t.Errorf("the result shows a secret: %s", text)
				}
			}
		}
	})
}
