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
	maxCatalogPages    = 200
	maxTagPages        = 100
	maxThirdPartyHosts = 4 // third-party hosts to which content may redirect, in one inventory
	maxFailures        = 3 // consecutive requests without a usable response

)

// lister lists the content of a registry after a valid check.
type lister struct {
	*regcheck.Reader
	limits          Limits
	sink            func(Repository) error
	result          Inventory
	thirdPartyHosts map[string]bool // to which content was redirected
	failures        int             // consecutive

	listed       int    // repositories passed to sink by this call
	catalogCount int    // names in the catalog
	left         int    // names that are not valid
	noCatalog    string // why the catalog is not complete
	more         string // which limit was reached
	noPacks      bool   // no repository has the prefix of packs
}

// list passes the repositories to sink one by one.
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
			l.more = fmt.Sprintf("Only the first %d repositories with %d tags are listed: this is the limit.", at.Repositories, at.Tags)
			return nil
		}
		if err := l.one(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// one lists a repository. Afterwards it releases what a long inventory would accumulate: tokens, their masks, and connections
// to other hosts.
func (l *lister) one(ctx context.Context, name string) error {
	defer l.Begin()()
	r, there, err := l.repository(ctx, name)
	stopped, broken := errors.AsType[*stop](err)
	switch {
	case err != nil && !broken:
		return err
	case broken && (l.listed > 0 || len(r.Tags) == 0 || l.Expired()):
		return stopped // the next call begins with this repository
	case !there:
		return nil
	}
	if broken { // it is too long for any call
		r.Problem = wire.CleanText("Its tags are not all listed: " + stopped.reason)
	}
	if err := l.sink(r); err != nil {
		return err
	}
	l.listed++
	l.result.Cursor.After = name
	l.result.Cursor.Repositories++
	l.result.Cursor.Tags += len(r.Tags)
	return err
}

// names returns the repositories to list, sorted.
func (l *lister) names(ctx context.Context) ([]string, error) {
	path := l.ContentPath()
	below, err := l.catalog(ctx, func(name string) bool { return path == "" || strings.HasPrefix(name, path+"/") })
	if err != nil {
		return nil, err
	}
	l.catalogCount = len(below)
	if l.Provider() == regcheck.Pack {
		below = l.packs(below)
	}
	if oci.IsRepository(path) {
		below = append(below, path)
	}
	slices.Sort(below)
	return slices.Compact(below), nil
}

// packs returns the repositories below the prefix of packs, or all if there are none.
func (l *lister) packs(below []string) []string {
	in := func(prefix, name string) bool {
		return strings.HasPrefix(name, strings.TrimPrefix(l.ContentPath()+"/"+prefix+"/", "/"))
	}
	found := slices.DeleteFunc(slices.Clone(below), func(name string) bool {
		return !in(oci.PackPrefix, name) && !(l.limits.Manifests && in(oci.ManifestPrefix, name))
	})
	l.noPacks = len(found) == 0 && len(below) > 0
	if l.noPacks {
		return below
	}
	return found
}

func (l *lister) notes() []string {
	var notes []string
	path := wire.CleanText(l.ContentPath())
	if path != "" && !oci.IsRepository(l.ContentPath()) {
		notes = append(notes, "The baseContentPath "+path+" is not a valid repository name: it must have at most 255 lowercase letters, "+
			"digits and single separators.")
	}
	if l.noCatalog != "" {
		notes = append(notes, "The catalog of the registry cannot be read completely: "+l.noCatalog+". "+l.known(path))
	}
	if l.noPacks {
		below := strings.TrimPrefix(path+"/"+oci.PackPrefix, "/")
		notes = append(notes, "There are no packs below "+below+"; all other repositories are listed instead.")
	}
	if l.left > 0 {
		notes = append(notes, "Omitted names of the catalog that are not valid: "+strconv.Itoa(l.left)+".")
	}
	if l.more != "" {
		notes = append(notes, l.more)
	}
	return notes
}

// known returns what is listed without a complete catalog.
func (l *lister) known(path string) string {
	switch {
	case l.catalogCount > 0:
		return "Repositories may be missing."
	case path == "":
		return "Nothing is listed, since there is no baseContentPath."
	case l.result.Cursor.Repositories > 0:
		return "Only " + path + " is listed."
	}
	return "Nothing is listed, since " + path + " itself is not a repository."
}
