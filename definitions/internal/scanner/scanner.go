// Package scanner is the frame for readers of files: recognizing them, reading what they refer to, and collecting what is found. It also
// reads docker's and podman's files of credentials, which other files contain.
package scanner

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// Scanner collects what many files have. Objects of one file may refer to those of another, so that the result is known when all have
// been added. A Scanner is used by one goroutine at a time.
type Scanner struct {
	Options model.Options
	Formats []Reader  // more specific ones are first
	index   *keyIndex // of Formats; nil until it is needed

	result model.Result       // but the registries
	found  []*model.Registry  // not one slice: growing it would need its memory twice
	known  map[identity]int32 // index in found
	muted  bool               // by WithoutReports

	insecure            insecure
	references          map[string]int        // index in the result, by what identifies one
	templates           map[string]*templates // by directory
	templateDirectories []string              // in order

	budget  *budget
	noticed map[credentials][]model.Notice

	files, bytes int // that were read
	isFull       bool

	Referenced   int // bytes of files that others refer to
	decompressed int // bytes of embedded files

	limits limits
	only   string // name of the file if there is one; empty if there are several
}

// New returns a Scanner without formats and files.
func New(o model.Options) *Scanner {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return &Scanner{Options: o, known: map[identity]int32{}, budget: new(budget), noticed: map[credentials][]model.Notice{}}
}

// AddReader adds one file, such as standard input, that refers to no other. name is shown as the file of its sources. The error is the
// reader's: what the file has is in the result, also if it cannot be understood.
func (s *Scanner) AddReader(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	s.add(&File{Scanner: s, Name: name, Data: data})
	return nil
}

// Result returns what was found. No slice is nil.
func (s *Scanner) Result() model.Result {
	s.addTemplates()
	r := s.result
	r.Registries = make([]model.Registry, len(s.found))
	for i, found := range s.found {
		r.Registries[i] = *found
		s.found[i] = &r.Registries[i] // so that no definition is in memory twice
	}
	r.Skipped = append([]model.Skipped{}, r.Skipped...)
	r.Problems = append([]model.Problem{}, r.Problems...)
	r.Summarize()
	return r
}

// WithoutReports calls read for what it returns. What it skips, and its problems, were or will be reported by another call.
func (s *Scanner) WithoutReports(read func()) {
	s.muted = true
	defer func() { s.muted = false }()
	read()
}

// CheckLimits ends reading if it takes too much. It is for loops that call no other method.
func (s *Scanner) CheckLimits() { s.limits.check() }

// Found adds a definition. Reason, Resolution and the empty auth are filled in.
func (s *Scanner) Found(r model.Registry) {
	s.limits.check()
	if host := HostOf(r.Definition.Endpoint); isPlaceholder(host) {
		s.Skip(r.Sources[0], model.SkipPlaceholder, "The host %s is a placeholder. Scan the file in which it is replaced.",
			dockerauth.Show(host))
		return
	}
	if r.Definition.Auth == nil {
		r.Definition.Auth = &regcheck.Auth{}
	}
	r.Definition.Auth.Type = r.Definition.Auth.Kind()
	if s.affordDefinition(&r) {
		s.complete(&r)
		s.addOnce(&r)
	}
}

// complete sets what all formats have in common.
func (s *Scanner) complete(r *model.Registry) {
	r.Resolution = model.Unresolved
	if r.Reason == "" {
		r.Resolution = model.Resolved
		s.noteCredentials(r)
	}
	noteHost(r)
	notePlainHTTP(r)
	if !s.Options.Explain {
		r.Steps = nil // hostile files have many
	}
	if r.Notices == nil {
		r.Notices = []model.Notice{}
	}
}

// addOnce adds a definition, or only its place if the same definition is known from another one.
func (s *Scanner) addOnce(r *model.Registry) {
	key := identityOf(*r)
	if i, ok := s.known[key]; ok {
		if known := s.found[i]; !slices.Equal(known.Sources[len(known.Sources)-1:], r.Sources) {
			known.Sources = append(known.Sources, r.Sources...)
		}
		return
	}
	if s.full() {
		return
	}
	s.known[key] = int32(len(s.found)) // #nosec G115 -- at most maxEntries
	s.found = append(s.found, r)
}

// Consumer returns by whose rules credentials are chosen: own are those of the format.
func (s *Scanner) Consumer(own model.Consumer) model.Consumer {
	if s.Options.As != "" {
		return s.Options.As
	}
	return own
}

// identity is the hash of everything of a definition but its sources, secrets included.
type identity [sha256.Size]byte

func identityOf(r model.Registry) identity {
	r.Sources = nil
	text, err := json.Marshal([]any{r, model.Secrets(r.Definition.Auth)})
	if err != nil {
		panic(err) // no type of a Registry fails to marshal
	}
	return sha256.Sum256(text)
}

// Skip adds something that was recognized and is not a definition to check. The message is one or two sentences without secrets.
func (s *Scanner) Skip(at model.Source, reason model.SkipReason, format string, args ...any) {
	if s.full() {
		return
	}
	s.result.Skipped = append(s.result.Skipped, model.Skipped{Source: at, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// Problem adds something that cannot be read. The message is one or two sentences without secrets.
func (s *Scanner) Problem(at model.Source, reason model.ProblemReason, format string, args ...any) {
	if s.full() {
		return
	}
	s.result.Problems = append(s.result.Problems, model.Problem{Source: at, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// Entry is a registry as a file of another program has it.
type Entry struct {
	model.Registry
	At      model.Source
	Address string // [scheme://]host[:port][/path]
	Version string // of the chart that the path names; empty if there is none
	Path    pathUse
}

// pathUse is what the path of an address is for.
type pathUse int

const (
	PathOfContent pathUse = iota
	PathOfAPI
	PathIgnored // by the consumer, which uses the host only
	pathOfCharts
)

// Add adds the registry, or what its address is instead of one.
func (e Entry) Add(s *Scanner) {
	endpoint, path, reason := ReadAddress(e.Address)
	if strings.Contains(e.Address, "%s") {
		reason = model.SkipTemplate
	}
	if reason != "" {
		s.Skip(e.At, reason, "%s", AddressMessages[reason])
		return
	}
	e.Sources = []model.Source{e.At}
	e.Definition.Endpoint = endpoint
	switch e.Path {
	case pathOfCharts:
		if !e.addChartRepository(s, path) {
			return
		}
	case PathOfContent:
		e.Definition.BaseContentPath = Tagged(joinPath(path, e.Definition.BaseContentPath), e.Version)
	case PathOfAPI:
		e.Definition.BasePath = joinPath(path, e.Definition.BasePath)
	case PathIgnored:
	}
	if e.Definition.Auth == nil {
		e.Definition.Auth = &regcheck.Auth{}
	}
	e.Notices = append(e.Notices, ConnectionNotices(endpoint, e.Definition.Auth.TLS)...)
	s.Found(e.Registry)
}

var AddressMessages = map[model.SkipReason]string{
	model.SkipNoHost:            "The entry has no registry host.",
	model.SkipTemplate:          "The address is an expression, whose value is not in the file.",
	model.SkipUnsupportedScheme: "The scheme of the address is not https, http or oci.",
	model.SkipWildcard:          "The entry is for several registries. Give the registry that is used.",
}

// SecretNotice is for a password that is in a file of a repository. instead is what to use, as an imperative sentence.
func SecretNotice(instead string) model.Notice {
	return model.Notice{Code: model.NoticeSecretInRepository,
		Message: "The file has the password itself, which everyone who can read the repository can use. " + instead +
			" Then replace the password."}
}

// How many definitions, skipped entries and problems a result has. A small file can have many, and each takes several hundred bytes. Those
// of a large file that programs write have more than bytesPerEntry.
const (
	maxEntries     = 100_000
	entriesPerFile = 12_000
	bytesPerEntry  = 200
)

// mostEntries is maxEntries, or fewer for few and small files.
func (s *Scanner) mostEntries() int {
	if s.files == 0 {
		return maxEntries
	}
	return min(maxEntries, s.files*entriesPerFile+s.bytes/bytesPerEntry)
}

// full reports whether the result can have no more, which is one more problem of the result.
func (s *Scanner) full() bool {
	s.limits.check()
	if s.muted {
		return true
	}
	r, most := &s.result, s.mostEntries()
	switch n := len(s.found) + len(r.Skipped) + len(r.Problems) + len(r.References); {
	case s.isFull && n <= most: // another file was added
		s.isFull = false
	case n < most:
	case !s.isFull:
		s.isFull = true
		r.Problems = append(r.Problems, model.Problem{Reason: model.ProblemWrongShape,
			Message: fmt.Sprintf("More than %d entries were found; the others are not shown.", most)})
	}
	return s.isFull
}
