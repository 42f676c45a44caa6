package definitions

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// Data that exceeds the limit of values, in a directory, is not a problem: no reader would recognize it. It is one in a file that is named.
func TestDenseDataIsNoProblem(t *testing.T) {
	numbers := strings.Repeat("1,", 200_000) + "1"
	for name, text := range map[string]string{
		"map.geojson":        `{"type":"FeatureCollection","features":[{"geometry":{"type":"Polygon","coordinates":[` + numbers + `]}}]}`,
		"dashboard.json":     `{"title":"a","kind":"dashboard","panels":[` + numbers + `]}`,
		"package-lock.json":  `{"name":"a","lockfileVersion":3,"packages":{"node_modules/docker":[` + numbers + `]}}`,
		"values.yaml":        "image: r.test/a\nvalues: [" + numbers + "]\n",
		"prose.yaml":         "text: the kind: and the apiVersions: of it\nvalues: [" + numbers + "]\n",
		"table.csv":          "name,kind,auth\n" + numbers + "\n",
		"script.min.js":      `var a={kind:"List",apiVersion:"v1",b:[` + numbers + `]};`,
		"nested/schema.json": `{"auths_of":1,"xauths":[` + numbers + `]}`,
	} {
		tree := fstest.MapFS{name: {Data: []byte(text)}}
		if r, err := Read(t.Context(), tree, model.Options{}); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s in a directory: %v, %v", name, r.Problems, err)
		}
		named := NewScanner(model.Options{})
		if err := named.AddFile("", tree, name); err != nil || !exceeds(named.Result()) {
			t.Errorf("%s that is named: no problem, %v", name, err)
		}
	}
}

// A file of each format in JSON and YAML is a problem if it exceeds the limit of values, also in a directory.
func TestDenseFilesOfKnownFormatsAreProblems(t *testing.T) {
	tested := map[string]bool{}
	samples := os.DirFS("testdata/samples")
	err := fs.WalkDir(samples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.Contains(name, "/in/") {
			return err
		}
		data, err := fs.ReadFile(samples, name)
		format, sample, _ := strings.Cut(name, "/")
		_, file, _ := strings.Cut(sample, "/in/")
		dense := denser(file, data)
		if r := readOne(t, file, data); err != nil || dense == nil || len(r.Registries)+len(r.Skipped) == 0 || len(r.Problems) > 0 {
			return err
		}
		tested[format] = true
		if len(readOne(t, file, dense).Problems) == 0 {
			t.Errorf("%s: no problem", name)
		}
		return nil
	})
	if err != nil || len(tested) < 16 {
		t.Errorf("samples of %d formats: %v", len(tested), err)
	}
}

// denser returns a file with more values than the limit allows, nil if it is neither a JSON object nor YAML.
func denser(name string, data []byte) []byte {
	data = bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		return slices.Concat([]byte(`{"z":[1`), bytes.Repeat([]byte(",1"), 80_000), []byte("],"), data[1:])
	case !bytes.HasPrefix(data, []byte("[")) && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)):
		return slices.Concat(data, []byte("\n"), bytes.Repeat([]byte("#\n"), 80_000))
	}
	return nil
}

func readOne(t *testing.T, name string, data []byte) model.Result {
	t.Helper()
	r, err := Read(t.Context(), fstest.MapFS{name: {Data: data}}, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func exceeds(r model.Result) bool {
	return slices.ContainsFunc(r.Problems, func(p model.Problem) bool { return strings.Contains(p.Message, "exceeds a limit: more than") })
}
