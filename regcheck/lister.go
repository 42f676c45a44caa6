package regcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	maxCatalogPages = 200
	maxTagPages     = 100
	maxStrangers    = 4 // other hosts that content may lead to, over all of an inventory
	maxTroubles     = 3 // requests that got no usable answer, with no manifest read in between

	packPlace     = "spectro-packs/archive"
	manifestPlace = "spectro-manifests"
)

// lister takes an inventory in a session whose check came out valid.
type lister struct {
	*session
	limits    InventoryLimits
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
	mark := l.wire.Sent.Mark()
	defer func() {
		l.wire.Sent.Forget(mark)
		l.access.forgetAll()
		l.wire.KeepOnly(l.homes()...)
	}()
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
		r.Problem = l.shown("Its tags are not all listed: " + stopped.words)
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

func (l *lister) homes() []origin {
	homes := []origin{l.plan.base.origin, l.base.origin}
	if l.access.service != nil {
		homes = append(homes, l.access.service.Origin)
	}
	return homes
}

// names are the repositories to list, sorted.
func (l *lister) names(ctx context.Context) ([]string, error) {
	path := l.plan.contentPath
	below, err := l.catalog(ctx, func(name string) bool { return path == "" || strings.HasPrefix(name, path+"/") })
	if err != nil {
		return nil, err
	}
	l.catalogued = len(below)
	if l.plan.provider == Pack {
		below = l.packs(below)
	}
	if isRepository(path) {
		below = append(below, path)
	}
	slices.Sort(below)
	return slices.Compact(below), nil
}

// packs are the repositories in the place of packs. Where nothing is, all are listed: what is there instead
// is what one wants to know.
func (l *lister) packs(below []string) []string {
	in := func(place, name string) bool {
		return strings.HasPrefix(name, strings.TrimPrefix(l.plan.contentPath+"/"+place+"/", "/"))
	}
	found := slices.DeleteFunc(slices.Clone(below), func(name string) bool {
		return !in(packPlace, name) && !(l.limits.Manifests && in(manifestPlace, name))
	})
	l.packsAside = len(found) == 0 && len(below) > 0
	if l.packsAside {
		return below
	}
	return found
}

// shown is a sentence as it may be kept: cleaned, bounded, without credentials.
func (l *lister) shown(words string) string { return wire.CleanText(l.session.shown(words)) }

// tells that a name repeats credentials; a registry knows them, and whoever reads the content need not.
func (l *lister) tells(name string) bool { return l.wire.Sent.Masked(name) != name }

func (l *lister) notes() []string {
	var notes []string
	path := wire.CleanText(l.plan.contentPath)
	if path != "" && !isRepository(l.plan.contentPath) {
		notes = append(notes, "The baseContentPath "+path+" cannot be the name of a repository: that has up to 255 lower-case letters, digits and single separators.")
	}
	if l.noCatalog != "" {
		notes = append(notes, "The registry's catalog cannot be read whole: "+l.noCatalog+". "+l.known(path))
	}
	if l.packsAside {
		notes = append(notes, "There are no packs below "+strings.TrimPrefix(path+"/"+packPlace, "/")+"; listed is what is there instead.")
	}
	if l.left > 0 {
		notes = append(notes, "Names in the catalog that no repository can have, or that repeat credentials, are left out: "+itoa(l.left)+".")
	}
	if l.more != "" {
		notes = append(notes, l.more)
	}
	for i := range notes {
		notes[i] = l.session.shown(notes[i])
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
