package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	maxCatalogPages = 200
	maxTagPages     = 100
	maxStrangers    = 4 // other hosts that content may lead to, over all of an inventory
	maxTroubles     = 3 // requests that got no usable answer, with no manifest read in between

)

// lister takes an inventory in a session whose check came out valid.
type lister struct {
	*regcheck.Reader
	limits    Limits
	sink      func(Repository) error
	result    Inventory
	strangers map[string]bool // hosts that content was redirected to
	troubles  int             // in a row

	handed     int    // by this call
	catalogued int    // names that the catalog gave
	left       int    // names that no repository can have, or that repeat a secret
	noCatalog  string // why the catalog is not whole
	more       string // which bound was reached
	packsAside bool   // there is no place of packs
}

// list hands the repositories over one by one.
func (l *lister) list(ctx context.Context) error {
	names, err := l.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name <= l.result.Cursor.After {
			continue
		}
		if at := l.result.Cursor; at.Repositories >= l.limits.Repositories || at.Tags >= l.limits.Tags {
			l.more = fmt.Sprintf("Listed are the first %d repositories with %d tags: that is as many as are kept.", at.Repositories, at.Tags)
			return nil
		}
		if err := l.one(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// one lists a repository. What a long list of them is asked for is forgotten after each: tokens, their masks,
// and connections to where one of them led.
func (l *lister) one(ctx context.Context, name string) error {
	defer l.Begin()()
	r, there, err := l.repository(ctx, name)
	stopped, broken := errors.AsType[*stop](err)
	switch {
	case err != nil && !broken:
		return err
	case broken && (l.handed > 0 || len(r.Tags) == 0):
		return stopped // the next call begins with this repository
	case !there:
		return nil
	}
	if broken { // it is too long for a call of its own, and would be so for ever
		r.Problem = l.Shown("Its tags are not all listed: " + stopped.words)
	}
	if err := l.sink(r); err != nil {
		return err
	}
	l.handed++
	l.result.Cursor.After = name
	l.result.Cursor.Repositories++
	l.result.Cursor.Tags += len(r.Tags)
	return err
}

// names are the repositories to list, sorted.
func (l *lister) names(ctx context.Context) ([]string, error) {
	path := l.ContentPath()
	below, err := l.catalog(ctx, func(name string) bool { return path == "" || strings.HasPrefix(name, path+"/") })
	if err != nil {
		return nil, err
	}
	l.catalogued = len(below)
	if l.Provider() == regcheck.Pack {
		below = l.packs(below)
	}
	if oci.IsRepository(path) {
		below = append(below, path)
	}
	slices.Sort(below)
	return slices.Compact(below), nil
}

// packs are the repositories in the place of packs. Where nothing is, all are listed: what is there instead
// is what one wants to know.
func (l *lister) packs(below []string) []string {
	in := func(place, name string) bool {
		return strings.HasPrefix(name, strings.TrimPrefix(l.ContentPath()+"/"+place+"/", "/"))
	}
	found := slices.DeleteFunc(slices.Clone(below), func(name string) bool {
		return !in(oci.PackPlace, name) && !(l.limits.Manifests && in(oci.ManifestPlace, name))
	})
	l.packsAside = len(found) == 0 && len(below) > 0
	if l.packsAside {
		return below
	}
	return found
}

// tells that a name repeats credentials; a registry knows them, and whoever reads the content need not.
func (l *lister) tells(name string) bool { return l.Masked(name) != name }

func (l *lister) notes() []string {
	var notes []string
	path := wire.CleanText(l.ContentPath())
	if path != "" && !oci.IsRepository(l.ContentPath()) {
		notes = append(notes, "The baseContentPath "+path+" cannot be the name of a repository: that has up to 255 lower-case letters, digits and single separators.")
	}
	if l.noCatalog != "" {
		notes = append(notes, "The registry's catalog cannot be read whole: "+l.noCatalog+". "+l.known(path))
	}
	if l.packsAside {
		notes = append(notes, "There are no packs below "+strings.TrimPrefix(path+"/"+oci.PackPlace, "/")+"; listed is what is there instead.")
	}
	if l.left > 0 {
		notes = append(notes, "Names in the catalog that no repository can have, or that repeat credentials, are left out: "+strconv.Itoa(l.left)+".")
	}
	if l.more != "" {
		notes = append(notes, l.more)
	}
	for i := range notes {
		notes[i] = l.Masked(notes[i])
	}
	return notes
}

// known says what is listed without a whole catalog.
func (l *lister) known(path string) string {
	switch {
	case l.catalogued > 0:
		return "Repositories may be missing."
	case path == "":
		return "Nothing is listed, since there is no baseContentPath."
	case l.result.Cursor.Repositories > 0:
		return "Listed is " + path + " alone."
	}
	return "Nothing is listed, since " + path + " itself is no repository."
}
