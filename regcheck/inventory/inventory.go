// Package inventory lists what is in a registry: repositories, tags, kinds and digests.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/regcheck"
)

// Kind is what a tag holds, by the media types of its manifest.
type Kind string

// Kinds. Packs have no media type of their own: what oras pushes without one is a pack where packs belong.
const (
	HelmChart     Kind = "helm"
	ZarfPackage   Kind = "zarf"
	PackArchive   Kind = "pack"
	OtherArtifact Kind = "other"
)

// Repository is one repository of an inventory. Problem says in words why its tags are not all here; empty
// when they are.
type Repository struct {
	Name    string
	Tags    []Tag
	Problem string
}

// Tag is a tag with the digest of its manifest, computed by us. Problem says what is wrong with it.
type Tag struct {
	Name    string
	Kind    Kind   // empty when the manifest can't be read
	Digest  string // the same
	Problem string
}

// Cursor says how far an inventory is; the zero value is its beginning.
type Cursor struct {
	After              string // the repository that was handed over last
	Repositories, Tags int    // handed over so far
}

// Limits bound what an inventory takes from a registry; zero fields mean the defaults.
type Limits struct {
	Repositories   int           // in all: 5,000
	RepositoryTags int           // of one repository: 1,000
	Tags           int           // in all: 50,000
	Time           time.Duration // of one call, its check aside: 15 minutes
	Pause          time.Duration // that a registry may ask for (Retry-After) while we wait: 1 minute

	// Manifests has what is below spectro-manifests listed too, in a registry of packs: containsSpectroManifest.
	Manifests bool
}

func (l Limits) withDefaults() Limits {
	l.Repositories = cmp.Or(l.Repositories, 5000)
	l.RepositoryTags = cmp.Or(l.RepositoryTags, 1000)
	l.Tags = cmp.Or(l.Tags, 50000)
	l.Time = cmp.Or(l.Time, 15*time.Minute)
	l.Pause = cmp.Or(l.Pause, time.Minute)
	return l
}

// Inventory is how listing a registry ended.
type Inventory struct {
	Cursor Cursor
	// Complete reports whether everything was listed that may be. Else Stopped says why not, and the same call with
	// Cursor goes on, after RetryAfter at the earliest.
	Complete   bool
	Stopped    string
	RetryAfter time.Duration
	Notes      []string // in sentences: what is not in it for all that
}

// List checks the definition and, when it is valid, lists what is in the registry: the repository at the content path
// and those below it, for packs those in the place of packs, and without a content path the whole catalog. Each
// repository is handed to sink before the next one is asked for; repositories come in the order of their names, from after
// the cursor on. An error of sink ends it and is returned.
//
// A registry that shows no catalog is listed as far as the content path leads. The error is as Checker.Check's, or sink's;
// the inventory is nil when there is one, or the report is not valid.
func List(ctx context.Context, c *regcheck.Checker, d regcheck.Definition, from Cursor, limits Limits, sink func(Repository) error) (*regcheck.Report, *Inventory, error) {
	report, reader, err := c.Open(ctx, d)
	if reader == nil {
		return report, nil, err
	}
	defer reader.Close()
	limits = limits.withDefaults()
	bounded, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	l := &lister{Reader: reader, limits: limits, sink: sink, strangers: map[string]bool{}, result: Inventory{Cursor: from}}
	if err := l.run(bounded); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // what stopped it is that the caller went away
	}
	return report, &l.result, nil
}

// stop is why an inventory is broken off, to be resumed later.
type stop struct {
	words string
	after time.Duration
}

func (s *stop) Error() string { return s.words }

// run lists and says how it ended. Its error is the sink's.
func (l *lister) run(ctx context.Context) error {
	err := l.list(ctx)
	stopped, ok := errors.AsType[*stop](err)
	if !ok && err != nil {
		return err
	}
	if l.result.Complete = !ok; ok {
		l.result.Stopped, l.result.RetryAfter = l.Shown(stopped.words), stopped.after
	}
	l.result.Notes = l.notes()
	return nil
}
