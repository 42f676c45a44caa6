package definitions

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/regwarden/regwarden/regcheck"
)

// Options is how to read.
type Options struct {
	// Format forces the format of all files. Empty: it is detected from each file's content.
	Format Format
	// As is the consumer by whose rules credentials are chosen. Empty: the consumer of the format.
	As Consumer
	// Helper asks credential helpers. nil: none is started, and definitions whose credentials they have are unresolved.
	Helper Helper `json:"-"`
	// Now is the time against which credentials expire; the zero value means time.Now.
	Now time.Time
	// ReadFile reads a file outside of the tree that a scanned file names. nil: such files are not read.
	ReadFile func(name string) ([]byte, error) `json:"-"`
}

// Scanner collects what many files have. Objects of one file may refer to those of another, so that the result is known when all have
// been added. A Scanner is used by one goroutine at a time.
type Scanner struct {
	options Options
	result  Result
	known   map[string]int // index in result.Registries by everything but the sources
	cluster cluster

	referenced   int                          // bytes of files that others refer to
	certsd       map[string]bool              // directories of certificates that have been read
	lastSettings map[string]map[string]string // file that sets each prefix last, by directory of registries.conf
}

// NewScanner returns a Scanner without files.
func NewScanner(o Options) *Scanner {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return &Scanner{options: o, known: map[string]int{}, certsd: map[string]bool{}, lastSettings: map[string]map[string]string{}}
}

// Read returns what the files of fsys have.
func Read(ctx context.Context, fsys fs.FS, o Options) (Result, error) {
	s := NewScanner(o)
	if err := s.AddTree(ctx, "", fsys); err != nil {
		return Result{}, err
	}
	return s.Result(), nil
}

// AddReader adds one file, such as standard input, that refers to no other. name is shown as the file of its sources. The error is the
// reader's: what the file has is in the result, also if it cannot be understood.
func (s *Scanner) AddReader(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	s.add(&file{scanner: s, name: name, data: data})
	return nil
}

// Result resolves what was added, and returns it. No slice is nil.
func (s *Scanner) Result() Result {
	s.cluster.resolve(s)
	r := s.result
	r.Registries = append([]Registry{}, r.Registries...)
	r.Skipped = append([]Skipped{}, r.Skipped...)
	r.Problems = append([]Problem{}, r.Problems...)
	r.Summarize()
	return r
}

// found adds a definition. Reason, Resolution and the empty auth are filled in.
func (s *Scanner) found(r Registry) {
	if r.Definition.Auth == nil {
		r.Definition.Auth = &regcheck.Auth{}
	}
	r.Definition.Auth.Type = r.Definition.Auth.Kind()
	if r.Reason == "" {
		r.noteCredentials(s.options.Now)
	}
	if r.Notices == nil {
		r.Notices = []Notice{}
	}
	r.Resolution = Resolved
	if r.Reason != "" {
		r.Resolution = Unresolved
	}
	key := identity(r)
	if i, ok := s.known[key]; ok {
		if known := &s.result.Registries[i]; !slices.Equal(known.Sources[len(known.Sources)-1:], r.Sources) {
			known.Sources = append(known.Sources, r.Sources...)
		}
		return
	}
	if s.full() {
		return
	}
	s.known[key] = len(s.result.Registries)
	s.result.Registries = append(s.result.Registries, r)
}

// consumer returns by whose rules credentials are chosen: own are those of the format.
func (s *Scanner) consumer(own Consumer) Consumer {
	if s.options.As != "" {
		return s.options.As
	}
	return own
}

// identity is the hash of everything of a definition but its sources, secrets included.
func identity(r Registry) string {
	r.Sources = nil
	a := r.Definition.Auth
	text, err := json.Marshal([]any{r, a.Password.Reveal(), a.Token.Reveal(), a.TLS.Key.Reveal()})
	if err != nil {
		panic(err) // no type of a Registry fails to marshal
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

func (s *Scanner) skip(at Source, reason SkipReason, format string, args ...any) {
	if s.full() {
		return
	}
	s.result.Skipped = append(s.result.Skipped, Skipped{at, reason, fmt.Sprintf(format, args...)})
}

func (s *Scanner) problem(at Source, reason ProblemReason, format string, args ...any) {
	if s.full() {
		return
	}
	s.result.Problems = append(s.result.Problems, Problem{at, reason, fmt.Sprintf(format, args...)})
}

// entry is a registry as a file of another program has it.
type entry struct {
	Registry
	at      Source
	address string // [scheme://]host[:port][/path]
	path    pathUse
}

// pathUse is what the path of an address is for.
type pathUse int

const (
	pathOfContent pathUse = iota
	pathOfAPI
	pathIgnored // by the consumer, which uses the host only
)

// add adds the registry, or what its address is instead of one.
func (e entry) add(s *Scanner) {
	endpoint, path, reason := readAddress(e.address)
	if reason != "" {
		s.skip(e.at, reason, "%s", addressMessages[reason])
		return
	}
	e.Sources = []Source{e.at}
	e.Definition.Endpoint = endpoint
	switch e.path {
	case pathOfContent:
		e.Definition.BaseContentPath = joinPath(path, e.Definition.BaseContentPath)
	case pathOfAPI:
		e.Definition.BasePath = joinPath(path, e.Definition.BasePath)
	}
	if e.Definition.Auth == nil {
		e.Definition.Auth = &regcheck.Auth{}
	}
	e.Notices = append(e.Notices, connectionNotices(endpoint, e.Definition.Auth.TLS)...)
	s.found(e.Registry)
}

var addressMessages = map[SkipReason]string{
	SkipNoHost:            "The entry has no registry host.",
	SkipTemplate:          "The address is an expression, whose value is not in the file.",
	SkipUnsupportedScheme: "The scheme of the address is not https, http or oci.",
	SkipWildcard:          "The entry is for several registries. Give the registry that is used.",
}

// secretNotice is for a password that is in a file of a repository. instead is what to use, as an imperative sentence.
func secretNotice(instead string) Notice {
	return Notice{NoticeSecretInRepository, "The file has the password itself, which everyone who can read the repository can use. " + instead + " Then replace the password."}
}

// maxEntries is how many definitions, skipped entries and problems a result has: a small file can have many.
const maxEntries = 100_000

// full reports whether the result can have no more, which is one more problem of the result.
func (s *Scanner) full() bool {
	r := &s.result
	switch n := len(r.Registries) + len(r.Skipped) + len(r.Problems); {
	case n < maxEntries:
		return false
	case n == maxEntries:
		r.Problems = append(r.Problems, Problem{Reason: ProblemWrongShape, Message: fmt.Sprintf("More than %d entries were found; the others are not shown.", maxEntries)})
	}
	return true
}
