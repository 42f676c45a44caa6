package scanner

import (
	"path"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// Keys are found as JSON and YAML write them, in any case, and not as parts of words or in minified programs.
func TestKeysOfAText(t *testing.T) {
	x := newKeyIndex([]Reader{{Name: "a", Keys: []string{"apiVersion kind", "auths"}}})
	for text, want := range map[string]bool{
		"apiVersion: v1\nkind: Secret\n":               true,
		`{"kind":"Secret","apiVersion":"v1"}`:          true,
		"- kind : a\n  apiVersion\t: b\n":              true,
		"? kind\n: a\n? apiVersion\n: b\n":             true,
		"{kind: a, 'apiVersion': b}":                   true,
		"\xef\xbb\xbfAUTHS: {}\n":                      true,
		"auths:":                                       true,
		"{auths:[1]}":                                  true,
		"kind: a\n":                                    false,
		"var a={kind:\"List\",apiVersion:\"v1\"}":      false,
		"akind: a\napiVersions: b\n":                   false,
		"kind of apiVersion: a\n":                      false,
		"https://auths/\nauths = 1\n":                  false,
		strings.Repeat("a", 300) + "auths: 1\n":        false,
		strings.Repeat("a: b\n", 300) + "auths: 1\n":   true,
		"::::" + strings.Repeat(" ", 300) + ":auths: ": false,
	} {
		found := x.in([]byte(text))
		if got := found.has(x.needed[0][0]) || found.has(x.needed[0][1]); got != want {
			t.Errorf("%.80q: %v", text, got)
		}
	}
}

// UTF-16 has a zero next to each byte of the keys.
func TestKeysOfUTF16(t *testing.T) {
	s := New(model.Options{})
	s.Formats = []Reader{{Keys: []string{"auths"}}}
	f := &File{Scanner: s, Data: []byte("\xff\xfea\x00u\x00t\x00h\x00s\x00:\x00 \x00")}
	if !f.hasKeys(0) {
		t.Error("not found")
	}
}

func TestHasName(t *testing.T) {
	for _, name := range []string{"a", "Chart.yaml", "x/Chart.yaml", "xChart.yaml", ".github/workflows/a.yml", "b/.github/workflows/a.yml",
		"workflows/a.yml", "helmfile.d/b.yaml", "Dockerfile.dev", "a.Dockerfile", "Dockerfile", ""} {
		for _, pattern := range []string{"Chart.yaml", "*.yaml", ".github/workflows/*.yml", "helmfile.d/*.yaml", "Dockerfile.*",
			"*.Dockerfile", "*hart*.yaml", "[aC]hart.yaml", "workflows/a.yml", "*"} {
			parts, n := strings.Split(name, "/"), strings.Count(pattern, "/")+1
			want, _ := path.Match(pattern, strings.Join(parts[max(0, len(parts)-n):], "/"))
			if got := (&File{Path: name}).HasName(pattern); got != want {
				t.Errorf("%q, %q: %v", name, pattern, got)
			}
		}
	}
}
