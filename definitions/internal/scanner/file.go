package scanner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Limits of what is read.
const (
	maxFile       = 8 << 20
	maxFiles      = 100_000
	maxReferenced = 64 << 20 // of files that others refer to
	costOfFile    = 1 << 10  // of reading one of them, in bytes
	costOfEntry   = 1 << 6   // of reading an entry of a directory, in bytes
)

// File is one file that is being read.
type File struct {
	Scanner *Scanner
	Name    string // as shown in sources
	Data    []byte
	Tree    fs.FS  // nil if it is in none
	Path    string // in tree

	Annotated bool // whether comments such as #@ data.values.password may have values, as in templates of ytt

	found    bool // in a directory, and not named itself, or read as if it were
	embedded bool // in a text of another file
	before   int  // lines of that file before the text

	known *keySet // keys of formats; nil until they are needed

	parsed    bool
	documents []*node.Node
	err       error

	parsedTOML bool
	tomlRoot   *node.Node
}

// maxName limits the name of an object in a result, which the places of all its entries have.
const maxName = 400

// Short returns a name of a file as results have it.
func Short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName-len("…")], "") + "…"
}

// At returns a place in the file.
func (f *File) At(line int, object string) model.Source {
	f.Scanner.limits.check()
	if line > 0 {
		line += f.before
	}
	return model.Source{File: f.Name, Line: line, Object: Short(object)}
}

// Nodes returns the documents of a YAML or JSON file.
func (f *File) Nodes() ([]*node.Node, error) {
	if !f.parsed {
		f.parsed = true
		if f.LooksLikeJSON() {
			var root *node.Node
			if root, f.err = node.JSON(f.Data); f.err == nil {
				f.documents = []*node.Node{root}
			}
		} else {
			f.documents, f.err = node.YAML(f.Data)
		}
	}
	return f.documents, f.err
}

// DropNodes frees the documents, for a reader that parses the file itself.
func (f *File) DropNodes() { f.documents = nil }

// Root returns the first document of a YAML or JSON file, nil if there is none.
func (f *File) Root() *node.Node {
	if documents, err := f.Nodes(); err == nil && len(documents) > 0 {
		return documents[0]
	}
	return nil
}

// TomlWith returns the tables of a TOML file that has one of the words, nil for another file.
func (f *File) TomlWith(words ...string) *node.Node {
	if slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(f.Data, []byte(word)) }) {
		return f.Toml()
	}
	return nil
}

// Toml returns the tables of a TOML file, nil if it is not TOML.
func (f *File) Toml() *node.Node {
	if !f.parsedTOML {
		f.parsedTOML = true
		if root, err := node.TOML(f.Data); err == nil {
			f.tomlRoot = root
		}
	}
	return f.tomlRoot
}

// LooksLikeJSON reports whether the file begins like a JSON object or array.
func (f *File) LooksLikeJSON() bool {
	text := bytes.TrimLeft(f.Data[:min(len(f.Data), 512)], " \t\r\n\ufeff")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// sibling reads another file of the tree; name is relative to the directory of f.
func (f *File) sibling(name string) ([]byte, error) {
	inTree := path.Join(path.Dir(f.Path), name)
	if outside := f.Scanner.Options.ReadFile; outside != nil && f.Tree != nil && !fs.ValidPath(inTree) {
		return outside(path.Join(path.Dir(f.Name), name))
	}
	return f.Referenced(inTree)
}

// OnMachine reads a file that f names by its path on the machine where f is used.
func (f *File) OnMachine(name string) (data []byte, err error) {
	if !path.IsAbs(name) {
		return f.sibling(name)
	}
	for _, inTree := range f.InTree(name) {
		if data, err = f.Referenced(inTree); err == nil {
			return data, nil
		}
	}
	if outside := f.Scanner.Options.ReadFile; outside != nil {
		return outside(name)
	}
	return nil, err
}

// InTree returns where a path on the machine may be in the tree, at least one place. A relative path begins at the directory of f. An
// absolute path is looked for below every directory that f is in, since a tree may be the copy of a machine's files.
func (f *File) InTree(name string) (places []string) {
	if !path.IsAbs(name) {
		return []string{path.Join(path.Dir(f.Path), name)}
	}
	if root, ok := strings.CutSuffix(f.Name, f.Path); ok && path.IsAbs(root) && strings.HasPrefix(name, root) {
		return []string{strings.TrimPrefix(name, root)}
	}
	for dir := path.Dir(f.Path); ; dir = path.Dir(dir) {
		places = append(places, path.Join(dir, name))
		if dir == "." {
			return places
		}
	}
}

// Referenced reads another file of the tree. It fails for names outside of the tree, for everything but regular files, and for files that
// are too large. Files name each other at will, so the sum of what is read is limited.
func (f *File) Referenced(name string) ([]byte, error) {
	if f.Tree == nil || path.IsAbs(name) {
		return nil, errors.New("the file is not in the directory that is read")
	}
	if f.Scanner.Referenced > maxReferenced {
		return nil, fmt.Errorf("the files that others refer to are larger than %d MiB", maxReferenced>>20)
	}
	data, err := readFile(f.Tree, name)
	f.Scanner.Referenced += len(data) + costOfFile
	return data, err
}

// List returns what a directory of the tree has, nothing if it cannot be read. It counts as what referenced reads.
func (f *File) List(directory string) []fs.DirEntry {
	if f.Tree == nil || f.Scanner.Referenced > maxReferenced {
		return nil
	}
	entries, err := fs.ReadDir(f.Tree, directory)
	if err != nil {
		return nil
	}
	f.Scanner.Referenced += (1 + len(entries)) * costOfEntry
	return entries
}

// templatePart matches what makes a file no YAML: a value that a build replaces, and a line of Flux's templates.
var templatePart = lazyregexp.New(`(?m):[ \t]+(%[A-Z][A-Z0-9_]*%|@[A-Z][A-Z0-9_]*@)[ \t\r]*$|^[ \t]*<<.*>>[ \t\r]*$`)

// LooksLikeTemplate reports whether a file that cannot be read is a template of Go, Jinja or similar.
func (f *File) LooksLikeTemplate() bool {
	return bytes.Contains(f.Data, []byte("{{")) || bytes.Contains(f.Data, []byte("{%")) || templatePart.Get().Match(f.Data)
}

// TomlProblem adds the problem of a file that cannot be decoded. Its message ends with what the consumer does then.
func (f *File) TomlProblem(consequence string, err error) {
	at := f.At(0, "")
	if e := new(node.TOMLError); errors.As(err, &e) {
		at.Line = e.Line
	}
	reason := model.ProblemNotTOML
	switch {
	case f.LooksLikeTemplate():
		f.Template(at.Line, "The file is a template. Scan what is rendered from it.")
		return
	case errors.Is(err, node.ErrType), errors.Is(err, node.ErrLimit):
		reason = model.ProblemWrongShape
	}
	f.Scanner.Problem(at, reason, "The file cannot be used: %v.%s", err, consequence)
}

// Reader is how to recognize and read one kind of file.
type Reader struct {
	Name model.Format
	// Names are patterns of path.Match for the last elements of the path of a file that is certainly of this format.
	Names []string
	// Is reports whether the content has this format. Formats are asked in the order of the list, so that the more specific are first.
	Is func(f *File) bool
	// Files are patterns like Names, which files of a walk must have; those that are neither JSON nor YAML by their name need no Keys.
	Files []string
	// Keys are the keys without which Is is false, separated by blanks: all of at least one text. By them, most files that are not for this
	// program need not be parsed. Without any, Is must be cheap.
	Keys []string
	// Read adds what the file has to f.Scanner.
	Read func(f *File)
}

// forget frees the content. Objects that are resolved later refer to the file, but not to its content.
func (f *File) forget() { f.Data, f.documents, f.tomlRoot = nil, nil, nil }

// add reads one file.
func (s *Scanner) add(f *File) {
	defer f.forget()
	if len(f.Data) > maxFile {
		s.Problem(f.At(0, ""), model.ProblemWrongShape, "The file is larger than %d MiB, and was not read. Give less of it, such as: "+
			"kubectl get secrets -A --field-selector type!=helm.sh/release.v1 -o yaml", maxFile>>20)
		return
	}
	if f.found && f.isBinary() {
		s.result.Summary.Silent.Binary++
		return
	}
	s.bytes += len(f.Data)
	if s.files++; s.files == 1 {
		s.only = f.Name
	} else {
		s.only = ""
	}
	s.readWithin(f)
}

func (s *Scanner) read(f *File) {
	isGiven := !f.found || s.Options.Format != ""
	mayBeKnown := isGiven || f.isProven(0)
	for i := range s.Formats {
		s.limits.check()
		switch candidate := &s.Formats[i]; {
		case s.Options.Format == candidate.Name:
			candidate.Read(f)
			return
		case s.Options.Format != "" || !isGiven && !f.mayHave(i):
		case candidate.Is(f):
			candidate.Read(f)
			return
		default:
			mayBeKnown = mayBeKnown || candidate.Keys != nil
		}
	}
	if !mayBeKnown {
		s.result.Summary.Silent.Unrelated++
		return
	}
	f.Unrecognized()
}

// Unrecognized reports a file that cannot be read although it is certain that a known program reads it, or that the user gave: by its name,
// or on standard input, such as the output of a command. Other files are not for this program.
func (f *File) Unrecognized() {
	documents, err := f.Nodes()
	switch {
	case f.found && errors.Is(err, node.ErrLimit):
		if f.mayBeKnown() {
			f.Scanner.Problem(f.At(0, ""), model.ProblemWrongShape, "The %v.", err)
		}
	case f.found && err == nil:
		f.Scanner.result.Summary.Silent.Unrelated++
	case f.found:
		f.syntaxProblems(f.language(), err)
	case isForeign(f.Path) && !errors.Is(err, node.ErrLimit):
	case f.Extension() == ".toml":
		if _, err := node.TOML(f.Data); err != nil {
			f.TomlProblem("", err)
		}
	case errors.Is(err, node.ErrLimit) || f.Toml() == nil:
		f.Readable()
		f.textProblem(documents)
	}
}

// language returns the problem of a text that cannot be parsed, which depends on how it begins.
func (f *File) language() model.ProblemReason {
	if f.LooksLikeJSON() {
		return model.ProblemNotJSON
	}
	return model.ProblemNotYAML
}

// Readable returns the documents of a YAML or JSON file, and reports those that cannot be read.
func (f *File) Readable() []*node.Node {
	documents, err := f.Nodes()
	if errors.Is(err, node.ErrLimit) {
		f.Scanner.Problem(f.At(0, ""), model.ProblemWrongShape, "The %v.", err)
	}
	f.syntaxProblems(f.language(), err)
	return documents
}

// textProblem reports documents that are a text, such as the error of the command before a pipe. YAML reads "error: not found" as an
// object.
func (f *File) textProblem(documents []*node.Node) {
	for _, document := range documents {
		members := document.Pairs()
		if document.IsText() || len(members) == 1 && (strings.Contains(members[0].Key, " ") || strings.EqualFold(members[0].Key, "error")) {
			f.Scanner.Problem(f.At(document.Line, ""), model.ProblemWrongShape,
				"The text is not a file of a known format. It may be the error of a command.")
			return
		}
	}
}

// syntaxProblems reports every document of the file that cannot be read. Of a file that was found in a directory these are only documents
// that a known program certainly reads; a template is one more of its directory.
func (f *File) syntaxProblems(reason model.ProblemReason, err error) {
	broken, _ := errors.AsType[node.SyntaxErrors](err)
	if len(broken) > 0 && f.LooksLikeTemplate() {
		f.Template(broken[0].Line, "The file is a template. Scan what is rendered from it, such as the output of helm template.")
		return
	}
	language := map[model.ProblemReason]string{model.ProblemNotJSON: "JSON", model.ProblemNotYAML: "YAML"}[reason]
	for _, e := range broken {
		if f.isProven(e.Line) {
			f.Scanner.Problem(f.At(e.Line, ""), reason, "The text is not valid %s: %s.", language, e.Message)
		} else {
			if f.isData() {
				f.Scanner.result.Summary.Unparsed++
			}
			return
		}
	}
}
