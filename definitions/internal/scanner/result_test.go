package scanner

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"

	"github.com/regwarden/regwarden/regcheck"
)

func TestUnusableDefinitionsAreNotValid(t *testing.T) {
	r := model.Result{Registries: []model.Registry{
		{Resolution: model.Resolved, Definition: regcheck.Definition{Endpoint: "https://a.test", Auth: &regcheck.Auth{Username: "ada",
			Password: "x\n"}}},
		{Resolution: model.Unresolved, Definition: regcheck.Definition{Endpoint: "", Auth: &regcheck.Auth{}}},
		{Resolution: model.Resolved, Definition: regcheck.Definition{Endpoint: "https://a.test", Auth: &regcheck.Auth{}}},
	}}
	r.Validate()
	var counts []int
	for _, found := range r.Registries {
		counts = append(counts, len(found.DefinitionProblems))
	}
	if want := (model.Summary{Found: 3, NotValid: 1, Unresolved: 1}); !slices.Equal(counts, []int{1, 0, 0}) || r.Summary != want {
		t.Errorf("problems %v, summary %+v", counts, r.Summary)
	}
}

// Files outside of the tree are read only by Options.ReadFile, under the path from where the user is.
func TestFilesOutsideOfTheTree(t *testing.T) {
	tree := fstest.MapFS{"sub/a.toml": {Data: []byte("a")}, "sub/in.pem": {Data: []byte("in")}}
	var asked []string
	outside := func(name string) ([]byte, error) { asked = append(asked, name); return []byte("out"), nil }
	for _, tt := range []struct {
		name, path, without, with string
	}{
		{"beneath", "in.pem", "in", "in"},
		{"parent within the tree", "../sub/in.pem", "in", "in"},
		{"parent outside", "../../out.pem", "", "out"},
		{"absolute", "/etc/out.pem", "", "out"},
	} {
		for allowed, want := range map[bool]string{false: tt.without, true: tt.with} {
			o := model.Options{}
			if allowed {
				o.ReadFile = outside
			}
			f := &File{Scanner: New(o), Name: "dir/sub/a.toml", Tree: tree, Path: "sub/a.toml"}
			if data, err := f.OnMachine(tt.path); string(data) != want || (err == nil) != (want != "") {
				t.Errorf("%s, allowed %t: %q %v, want %q", tt.name, allowed, data, err, want)
			}
		}
	}
	if want := []string{"out.pem", "/etc/out.pem"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	alone := &File{Scanner: New(model.Options{}), Name: "standard input"}
	if _, err := alone.OnMachine("in.pem"); err == nil || errors.Is(err, errTooLarge) {
		t.Errorf("a file without a tree: %v", err)
	}
}

// A pipe that a file names, or the user, is not opened: reading it would not end.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	tree := fstest.MapFS{"a.toml": {Data: []byte("a")}, "pipe": {Mode: fs.ModeNamedPipe}, "link": {Mode: fs.ModeSymlink,
		Data: []byte("pipe")}, "image.png": {}}
	s := New(model.Options{})
	for _, name := range []string{"pipe", "link"} {
		f := &File{Scanner: s, Name: "a.toml", Tree: tree, Path: "a.toml"}
		if data, err := f.OnMachine(name); err == nil {
			t.Errorf("%s was read: %q", name, data)
		}
	}
	if err := s.AddFile("", tree, "pipe"); err == nil {
		t.Error("a pipe was added")
	}
	want := model.Silent{Irregular: 2, Foreign: 1, Unrelated: 1}
	if err := s.AddTree(t.Context(), "", tree); err != nil || s.result.Summary.Silent != want {
		t.Errorf("of a directory: %+v, %v, want %+v", s.result.Summary.Silent, err, want)
	}
}

func TestKeyOfADefinition(t *testing.T) {
	base := func(change func(*regcheck.Definition)) string {
		d := regcheck.Definition{Endpoint: "https://a.test", BaseContentPath: "charts", Auth: &regcheck.Auth{Username: "ada",
			Password: "x"}}
		change(&d)
		return model.Key(d)
	}
	same := base(func(*regcheck.Definition) {})
	for name, change := range map[string]func(*regcheck.Definition){
		"scheme": func(d *regcheck.Definition) { d.Endpoint = "a.test" },
		"slash":  func(d *regcheck.Definition) { d.BaseContentPath = "/charts/" },
		"type":   func(d *regcheck.Definition) { d.Auth.Type = regcheck.Basic }, "TLS that is " +
			"off": func(d *regcheck.Definition) { d.Auth.TLS.CA = "x" },
	} {
		if base(change) != same {
			t.Errorf("%s: another key", name)
		}
	}
	for name, change := range map[string]func(*regcheck.Definition){
		"host": func(d *regcheck.Definition) { d.Endpoint = "https://b.test" }, "plain " +
			"HTTP": func(d *regcheck.Definition) { d.Endpoint = "http://a.test" },
		"path":     func(d *regcheck.Definition) { d.BaseContentPath = "chart" },
		"password": func(d *regcheck.Definition) { d.Auth.Password = "y" },
		"user":     func(d *regcheck.Definition) { d.Auth.Username = "eve" }, "token": func(d *regcheck.Definition) { d.Auth.Token = "t" },
		"CA": func(d *regcheck.Definition) {
			d.Auth.TLS.Enabled, d.Auth.TLS.CA = true,
				"x"
		}, "kind": func(d *regcheck.Definition) { d.ProviderType = regcheck.Zarf },
		"API path": func(d *regcheck.Definition) { d.BasePath = "api" },
	} {
		if base(change) == same {
			t.Errorf("%s: the same key", name)
		}
	}
}
