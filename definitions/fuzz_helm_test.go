package definitions

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// fuzzReader gives a reader hostile files. Its result is complete, and does not show a secret that is once in the file.
func fuzzReader(f *testing.F, format Format, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewScanner(Options{Format: format, Now: time.Unix(0, 0)})
		if err := s.AddFile("", fstest.MapFS{name: {Data: data}}, name); err != nil {
			t.Fatal(err)
		}
		result := s.Result()
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range result.Registries {
			if len(r.Sources) == 0 || r.Definition.Endpoint == "" || (r.Resolution == Unresolved) != (r.Reason != "") {
				t.Errorf("incomplete: %s", text)
			}
			password := r.Definition.Auth.Password.Reveal()
			if strings.HasPrefix(password, marked) && bytes.Count(data, []byte(password)) == 1 && bytes.Contains(text, []byte(password)) {
				t.Errorf("the result shows a secret: %s", text)
			}
		}
	})
}

func FuzzHelmfile(f *testing.F) {
	fuzzReader(f, Helmfile, "helmfile.yaml",
		"repositories:\n- {name: a, url: a.test/x, oci: true, username: u, password: hunter2secret, caFile: ca.pem}\nreleases:\n- {name: r, chart: a/b}\n- {name: s, chart: oci://a.test/c:1}\n",
		"repositories:\n- name: a\n  url: oci://a.test\n  password: hunter2secret\nhelmDefaults: {plainHttp: true}\nreleases: [{chart: ./x}, {chart: '{{ x }}'}]\n",
		"repositories:\n{{ range }}\n- name: a\n")
}

func FuzzHelmChart(f *testing.F) {
	fuzzReader(f, HelmChart, "Chart.yaml",
		"apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies:\n- {name: b, repository: oci://a.test/x}\n- {name: c, repository: '@d'}\n- {name: e, repository: file://x}\n- {repository: oci://u:hunter2secret@a.test}\n")
}

func FuzzHelmRepositories(f *testing.F) {
	fuzzReader(f, HelmRepositories, "repositories.yaml", "generated: now\nrepositories:\n- name: a\n  url: https://u@a.test\n  password: hunter2secret\n")
}
