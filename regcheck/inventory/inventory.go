// Package inventory lists the content of a registry: repositories, tags, kinds and digests.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Kind is the kind of a tagged artifact, by the media types of its manifest.
type Kind string

// Kinds. Packs have no media type of their own: an artifact that oras pushed without a type is a pack below the prefix of packs.
const (
	HelmChart     Kind = "helm"
	ZarfPackage   Kind = "zarf"
	PackArchive   Kind = "pack"
	OtherArtifact Kind = "other"
)

// Repository is one repository of an inventory. Problem is why its tags are not complete, empty if they
// are.
type Repository struct {
	Name    string
	Tags    []Tag
	Problem string
}

// Tag is a tag with the digest that we computed of its manifest. Problem is empty if there is none.
type Tag struct {
	Name    string
	Kind    Kind   // empty if the manifest cannot be read
	Digest  string // empty if the manifest cannot be read
	Problem string
}

// Cursor is the position of an inventory; the zero value is its beginning.
type Cursor struct {
	After              string // the last repository that was passed to sink
	Repositories, Tags int    // passed to sink so far
}

// Limits limit what an inventory takes from a registry; zero fields mean the defaults.
type Limits struct {
	Repositories   int           // in total: 5,000
	RepositoryTags int           // of one repository: 1,000
	Tags           int           // in total: 50,000
	Time           time.Duration // of one call, without its check: 15 minutes
	Pause          time.Duration // the longest Retry-After for which a call waits: 1 minute

	// Manifests also lists the repositories below spectro-manifests of a registry of packs (containsSpectroManifest).
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

// Inventory is the result of listing a registry.
type Inventory struct {
	Cursor Cursor
	// Complete reports whether everything was listed that the caller may read. Otherwise Stopped is why not, and the same
	// call with Cursor continues, after RetryAfter at the earliest.
	Complete   bool
	Stopped    string
	RetryAfter time.Duration
	Notes      []string // sentences about content that is omitted although Complete is true
}

// List checks the definition and, if it is valid, lists the repository at the content path and those below it. For packs it
// lists those below the prefix of packs; without a content path, the whole catalog. It passes each repository to sink before
// it requests the next one, sorted by name, starting after the cursor. An error of sink ends the call and is returned.
//
// Of a chart repository, charts are the repositories, and their versions the tags, with the digests of the index.
//
// Without a catalog only the content path is listed. Other errors are those of Checker.Check. The inventory is nil if there is
// an error or the report is not valid.
func List(ctx context.Context, c *regcheck.Checker, p *regcheck.Plan, from Cursor, limits Limits,
	sink func(Repository) error) (*regcheck.Report, *Inventory, error) {
	limits = limits.withDefaults()
	report, reader, err := c.Open(ctx, p, limits.Tags)
	if reader == nil {
		return report, nil, err
	}
	defer reader.Close()
	bounded, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	l := &lister{Reader: reader, limits: limits, sink: sink, thirdPartyHosts: map[string]bool{}, result: Inventory{Cursor: from}}
	if err := l.run(bounded); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // the caller canceled ctx
	}
	return report, &l.result, nil
}

// stop is why an inventory was interrupted; it can continue later.
type stop struct {
	reason string
	after  time.Duration
}

func (s *stop) Error() string { return s.reason }

// run lists the repositories and sets the result. Its error is that of sink.
func (l *lister) run(ctx context.Context) error {
	if charts := l.Charts(); charts != nil {
		l.result.Complete = true
		return l.listCharts(charts.Listed())
	}
	err := l.list(ctx)
	stopped, ok := errors.AsType[*stop](err)
	if !ok && err != nil {
		return err
	}
	if l.result.Complete = !ok; ok {
		l.result.Stopped, l.result.RetryAfter = wire.CleanText(stopped.reason), stopped.after
	}
	l.result.Notes = l.notes()
	return nil
}
