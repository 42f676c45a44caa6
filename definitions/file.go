package definitions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// Limits of what is read.
const (
	maxFile       = 8 << 20
	maxFiles      = 100_000
	maxReferenced = 64 << 20 // of files that others refer to
	costOfFile    = 1 << 10  // of reading one of them, in bytes
	costOfEntry   = 1 << 6   // of reading an entry of a directory, in bytes
)

// file is one file that is being read.
type file struct {
	scanner *Scanner
	name    string // as shown in sources
	data    []byte
	tree    fs.FS  // nil if it is in none
	path    string // in tree

	parsed    bool
	documents []*node.Node
	err       error

	parsedTOML bool
	tomlRoot   *node.Node
}

// at returns a place in the file.
func (f *file) at(line int, object string) Source {
	return Source{File: f.name, Line: line, Object: object}
}

// nodes returns the documents of a YAML or JSON file.
func (f *file) nodes() ([]*node.Node, error) {
	if !f.parsed {
		f.parsed = true
		if f.looksLikeJSON() {
			var root *node.Node
			if root, f.err = node.JSON(f.data); f.err == nil {
				f.documents = []*node.Node{root}
			}
		} else {
			f.documents, f.err = node.YAML(f.data)
		}
	}
	return f.documents, f.err
}

// root returns the first document of a YAML or JSON file, nil if there is none.
func (f *file) root() *node.Node {
	if documents, err := f.nodes(); err == nil && len(documents) > 0 {
		return documents[0]
	}
	return nil
}

// toml returns the tables of a TOML file, nil if it is not TOML.
func (f *file) toml() *node.Node {
	if !f.parsedTOML {
		f.parsedTOML = true
		if root, err := node.TOML(f.data); err == nil {
			f.tomlRoot = root
		}
	}
	return f.tomlRoot
}

func (f *file) looksLikeJSON() bool {
	text := strings.TrimLeft(string(f.data[:min(len(f.data), 512)]), " \t\r\n\ufeff")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// sibling reads another file of the tree; name is relative to the directory of f.
func (f *file) sibling(name string) ([]byte, error) {
	inTree := path.Join(path.Dir(f.path), name)
	if outside := f.scanner.options.ReadFile; outside != nil && f.tree != nil && !fs.ValidPath(inTree) {
		return outside(path.Join(path.Dir(f.name), name))
	}
	return f.referenced(inTree)
}

// onMachine reads a file that f names by its path on the machine where f is used.
func (f *file) onMachine(name string) (data []byte, err error) {
	if !path.IsAbs(name) {
		return f.sibling(name)
	}
	for _, inTree := range f.inTree(name) {
		if data, err = f.referenced(inTree); err == nil {
			return data, nil
		}
	}
	if outside := f.scanner.options.ReadFile; outside != nil {
		return outside(name)
	}
	return nil, err
}

// inTree returns where a path on the machine may be in the tree, at least one place. A relative path begins at the directory of f. An
// absolute path is looked for below every directory that f is in, since a tree may be the copy of a machine's files.
func (f *file) inTree(name string) (places []string) {
	if !path.IsAbs(name) {
		return []string{path.Join(path.Dir(f.path), name)}
	}
	if root, ok := strings.CutSuffix(f.name, f.path); ok && path.IsAbs(root) && strings.HasPrefix(name, root) {
		return []string{strings.TrimPrefix(name, root)}
	}
	for dir := path.Dir(f.path); ; dir = path.Dir(dir) {
		places = append(places, path.Join(dir, name))
		if dir == "." {
			return places
		}
	}
}

// referenced reads another file of the tree. It fails for names outside of the tree, for everything but regular files, and for files that
// are too large. Files name each other at will, so the sum of what is read is limited.
func (f *file) referenced(name string) ([]byte, error) {
	if f.tree == nil || path.IsAbs(name) {
		return nil, errors.New("the file is not in the directory that is read")
	}
	if f.scanner.referenced > maxReferenced {
		return nil, fmt.Errorf("the files that others refer to are larger than %d MiB", maxReferenced>>20)
	}
	data, err := readFile(f.tree, name)
	f.scanner.referenced += len(data) + costOfFile
	return data, err
}

// list returns what a directory of the tree has, nothing if it cannot be read. It counts as what referenced reads.
func (f *file) list(directory string) []fs.DirEntry {
	if f.tree == nil || f.scanner.referenced > maxReferenced {
		return nil
	}
	entries, err := fs.ReadDir(f.tree, directory)
	if err != nil {
		return nil
	}
	f.scanner.referenced += (1 + len(entries)) * costOfEntry
	return entries
}

// looksLikeTemplate reports whether a file that cannot be read is a template of Go, Jinja or similar.
func (f *file) looksLikeTemplate() bool {
	return bytes.Contains(f.data, []byte("{{")) || bytes.Contains(f.data, []byte("{%"))
}

// tomlProblem adds the problem of a file that cannot be decoded. Its message ends with what the consumer does then.
func (f *file) tomlProblem(consequence string, err error) {
	at := f.at(0, "")
	if e := new(node.TOMLError); errors.As(err, &e) {
		at.Line = e.Line
	}
	reason := ProblemNotTOML
	switch {
	case f.looksLikeTemplate():
		f.scanner.skip(at, SkipTemplate, "The file is a template. Scan what is rendered from it.")
		return
	case errors.Is(err, node.ErrType), errors.Is(err, node.ErrLimit):
		reason = ProblemWrongShape
	}
	f.scanner.problem(at, reason, "The file cannot be used: %v.%s", err, consequence)
}

// format is how to recognize and read one kind of file.
type format struct {
	name Format
	// is reports whether the content has this format. Formats are asked in the order of the list, so that the more specific are first.
	is func(f *file) bool
	// read adds what the file has to f.scanner.
	read func(f *file)
}

// formats lists every format once; more specific ones are first.
var formats = slices.Concat(dockerFormats, imageUpdaterFormats, containerdFormats, registriesConfFormats, k3sFormats, buildkitdFormats, terraformFormats, kubernetesFormats,
	helmFormats, harborFormats, renovateFormats, dependabotFormats, githubFormats, gitlabFormats, regwardenFormats)

// add reads one file. Objects that are resolved later refer to the file, but not to its content.
func (s *Scanner) add(f *file) {
	defer func() { f.data, f.documents, f.tomlRoot = nil, nil, nil }()
	if len(f.data) > maxFile {
		s.problem(f.at(0, ""), ProblemWrongShape, "The file is larger than %d MiB.", maxFile>>20)
		return
	}
	for _, candidate := range formats {
		if s.options.Format == candidate.name || s.options.Format == "" && candidate.is(f) {
			candidate.read(f)
			return
		}
	}
	f.unrecognized()
}

// unrecognized reports a file that cannot be read although its name says what it should be. All other files are none of ours.
func (f *file) unrecognized() {
	_, err := f.nodes()
	switch extension := path.Ext(f.path); {
	case extension == ".toml":
		if _, err := node.TOML(f.data); err != nil {
			f.tomlProblem("", err)
		}
	case err == nil:
	case errors.Is(err, node.ErrLimit):
		f.scanner.problem(f.at(0, ""), ProblemWrongShape, "The %v.", err)
	case extension == ".json":
		f.syntaxProblems(ProblemNotJSON, err)
	case slices.Contains([]string{".yaml", ".yml"}, extension):
		f.syntaxProblems(ProblemNotYAML, err)
	}
}

// readable returns the documents of a YAML or JSON file, and reports those that cannot be read.
func (f *file) readable() []*node.Node {
	documents, err := f.nodes()
	reason := ProblemNotYAML
	if f.looksLikeJSON() {
		reason = ProblemNotJSON
	}
	if errors.Is(err, node.ErrLimit) {
		f.scanner.problem(f.at(0, ""), ProblemWrongShape, "The %v.", err)
	}
	f.syntaxProblems(reason, err)
	return documents
}

// syntaxProblems reports every document of the file that cannot be read.
func (f *file) syntaxProblems(reason ProblemReason, err error) {
	broken, _ := errors.AsType[node.SyntaxErrors](err)
	for _, e := range broken {
		if bytes.Contains(f.data, []byte("{{")) {
			f.scanner.skip(f.at(e.Line, ""), SkipTemplate, "The file is a template. Scan what is rendered from it, such as the output of helm template.")
			return
		}
		language := map[ProblemReason]string{ProblemNotJSON: "JSON", ProblemNotYAML: "YAML"}[reason]
		f.scanner.problem(f.at(e.Line, ""), reason, "The text is not valid %s: %s.", language, e.Message)
	}
}

// FormatNames lists the names of all formats.
func FormatNames() []string {
	var names []string
	for _, f := range formats {
		if !slices.Contains(names, string(f.name)) {
			names = append(names, string(f.name))
		}
	}
	return names
}

// KnownFormat returns the format of this name, and an error that lists all formats if there is none.
func KnownFormat(name string) (Format, error) {
	if names := FormatNames(); !slices.Contains(names, name) {
		return "", fmt.Errorf("unknown format %q; formats: %s", name, strings.Join(names, ", "))
	}
	return Format(name), nil
}
