package scanner

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// TestNamesUpToTheLimit are shown whole.
func TestNamesUpToTheLimit(t *testing.T) {
	for length, whole := range map[int]bool{maxName: true, maxName + 1: false} {
		name := strings.Repeat("x", length)
		if got := Short(name); (got == name) != whole || len(got) > maxName {
			t.Errorf("%d bytes are shown as %d", length, len(got))
		}
	}
}

// TestReferencedFilesCount: their bytes, and each file and entry of a directory, up to the limit itself.
func TestReferencedFilesCount(t *testing.T) {
	tree := fstest.MapFS{"d/a": {Data: []byte("text")}, "d/b": {}}
	for read, want := range map[int]bool{maxReferenced: true, maxReferenced + 1: false} {
		s := New(model.Options{})
		f := &File{Scanner: s, Tree: tree}
		s.Referenced = read
		if _, err := f.Referenced("d/a"); (err == nil) != want || want && s.Referenced != read+4+costOfFile {
			t.Errorf("after %d bytes: %v, then %d", read, err, s.Referenced)
		}
		s.Referenced = read
		if got := f.List("d"); (len(got) == 2) != want || want && s.Referenced != read+3*costOfEntry {
			t.Errorf("after %d bytes: %d entries, then %d", read, len(got), s.Referenced)
		}
	}
	if got := (&File{Scanner: New(model.Options{})}).List("d"); got != nil {
		t.Errorf("without a directory: %v", got)
	}
}

// TestFilesUpToTheLimit are read whole.
func TestFilesUpToTheLimit(t *testing.T) {
	for size, ok := range map[int]bool{maxFile: true, maxFile + 1: false} {
		data := []byte(strings.Repeat(" ", size))
		s, tree := New(model.Options{}), fstest.MapFS{"a": {Data: data}}
		if err := s.AddReader("a", bytes.NewReader(data)); err != nil || (len(s.result.Problems) == 0) != ok {
			t.Errorf("%d bytes: %v, %v", size, s.result.Problems, err)
		}
		for _, problem := range s.result.Problems {
			if !strings.Contains(problem.Message, "--field-selector") {
				t.Error(problem.Message)
			}
		}
		if err := New(model.Options{}).AddFile("", tree, "a"); (err == nil) != ok {
			t.Errorf("%d bytes of a given file: %v", size, err)
		}
		listed := New(model.Options{SkipUnknown: true})
		if err := listed.AddFile("", tree, "a"); err != nil || (listed.result.Summary.Silent.TooLarge == 0) != ok {
			t.Errorf("%d bytes of a file of a list: %v, %+v", size, err, listed.result.Summary)
		}
		if read, err := readFile(tree, "a"); (err == nil) != ok || ok && len(read) != size {
			t.Errorf("%d bytes of a tree: %d, %v", size, len(read), err)
		}
	}
	s := New(model.Options{})
	s.add(&File{Scanner: s, Name: "a", Data: []byte("\x00"), found: true})
	if s.result.Summary.Silent.Binary != 1 || s.files != 0 {
		t.Errorf("a binary file: %+v", s.result.Summary)
	}
}

// TestEntriesOfFiles: more files, and larger ones, may have more of them.
func TestEntriesOfFiles(t *testing.T) {
	s := New(model.Options{})
	s.files, s.bytes = 2, 10*bytesPerEntry
	if got := s.mostEntries(); got != 2*entriesPerFile+10 {
		t.Errorf("%d entries", got)
	}
	if s.files = 0; s.mostEntries() != maxEntries {
		t.Errorf("%d entries without files", s.mostEntries())
	}
}

// TestReferencesThatAreNames: what a program fills in is none.
func TestReferencesThatAreNames(t *testing.T) {
	for name, want := range map[string]int{"nginx": 1, "one.test/a:1": 1, "one.test/a@sha256:" + strings.Repeat("0", 64): 1, "": 0,
		"a b": 0, "$IMAGE": 0, "<image>": 0, "{{ .image }}": 0, "a%s": 0, `"a"`: 0, "one.test/": 0} {
		s := New(model.Options{})
		f := &File{Scanner: s, Name: "a"}
		if s.Reference(f.At(1, ""), model.Compose, model.Docker, name); len(s.result.References) != want {
			t.Errorf("%q: %+v", name, s.result.References)
		}
	}
}

// TestInsecureRegistries: hosts alone and networks alone are enough.
func TestInsecureRegistries(t *testing.T) {
	for setting, endpoints := range map[string]map[string]bool{
		"one.test":     {"https://one.test": true, "https://two.test": false},
		"192.0.2.0/24": {"https://192.0.2.1:5000": true, "https://192.0.3.1": false, "https://one.test": false},
	} {
		for endpoint, want := range endpoints {
			s := New(model.Options{})
			s.Insecure(setting)
			r := &model.Registry{Consumer: model.Docker, Definition: regcheck.Definition{Endpoint: endpoint, Auth: &regcheck.Auth{}}}
			s.found = append(s.found, r)
			if s.ApplyInsecure(); r.Definition.Auth.TLS.InsecureSkipVerify != want {
				t.Errorf("%s with %s: %+v", endpoint, setting, r.Definition.Auth.TLS)
			}
		}
	}
}

// TestInsecureRegistriesAreOfDocker: other programs have settings of their own, and what an entry says of TLS is stronger.
func TestInsecureRegistriesAreOfDocker(t *testing.T) {
	for name, change := range map[string]func(*model.Registry){
		"podman":          func(r *model.Registry) { r.Consumer = model.Podman },
		"BuildKit":        func(r *model.Registry) { r.Format = model.Buildkitd },
		"without TLS":     func(r *model.Registry) { r.Definition.Endpoint = "http://one.test" },
		"own certificate": func(r *model.Registry) { r.Definition.Auth.TLS = regcheck.TLS{Enabled: true, CA: "ca"} },
		"another host":    func(r *model.Registry) { r.Definition.Endpoint = "https://two.test" },
	} {
		s := New(model.Options{})
		s.Insecure("one.test")
		r := &model.Registry{Consumer: model.Docker, Definition: regcheck.Definition{Endpoint: "https://one.test", Auth: &regcheck.Auth{}}}
		change(r)
		s.found = append(s.found, r)
		if s.ApplyInsecure(); r.Definition.Auth.TLS.InsecureSkipVerify || len(r.Notices) > 0 {
			t.Errorf("%s: %+v, %v", name, r.Definition.Auth.TLS, r.Notices)
		}
	}
}

// TestLoopback is the machine itself, by name and by any of its addresses.
func TestLoopback(t *testing.T) {
	for name, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true, "127.one.test": false,
		"::2": false, "one.test": false, "": false} {
		if got := isLoopback(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

// TestDirectoriesHaveALimit: a directory with more files than that is probably not the one that was meant.
func TestDirectoriesHaveALimit(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range maxFiles + 1 {
		tree[strconv.Itoa(i)] = &fstest.MapFile{}
	}
	if err := New(model.Options{}).AddTree(t.Context(), "", tree); err == nil {
		t.Errorf("%d files were read", len(tree))
	}
	delete(tree, "0")
	if err := New(model.Options{}).AddTree(t.Context(), "", tree); err != nil {
		t.Error(err)
	}
}
