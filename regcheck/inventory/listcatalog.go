package inventory

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// catalog lists the names of the catalog that are wanted. A catalog that can't be read is no failure: see noCatalog.
func (l *lister) catalog(ctx context.Context, wanted func(string) bool) ([]string, error) {
	c := &catalogue{lister: l, wanted: wanted, seen: map[string]bool{}}
	at := content.Way{Access: l.Access(), Scope: content.CatalogScope}
	a, why, err := l.firstPage(ctx, &at)
	for range maxCatalogPages {
		if err != nil {
			return nil, err
		}
		if a == nil {
			l.noCatalog = why
			return c.names, nil
		}
		var next string
		if next, l.noCatalog = c.read(a); next == "" {
			return c.names, nil
		}
		a, why, err = l.get(ctx, at, "_catalog", next)
	}
	l.noCatalog = "it has too many pages"
	return c.names, err
}

// firstPage also finds out how the catalog wants to be asked.
func (l *lister) firstPage(ctx context.Context, at *content.Way) (*wire.Response, string, error) {
	query := oci.CatalogQuery
	a, why, err := l.get(ctx, *at, "_catalog", query)
	if basic, ok := l.Client().Basic(*at, a); ok {
		*at = basic
		a, why, err = l.get(ctx, *at, "_catalog", query)
	}
	if a != nil && a.Status == 400 {
		// distribution 3 refuses an n above its catalog.maxentries, and knows one of its own
		a, why, err = l.get(ctx, *at, "_catalog", "")
	}
	return a, why, err
}

// catalogue reads the pages of a catalog.
type catalogue struct {
	*lister
	wanted func(string) bool
	names  []string
	seen   map[string]bool // queries of pages
}

// read takes the names of a page. next is the query of the next one; why tells that the catalog is not whole.
func (c *catalogue) read(a *wire.Response) (next, why string) {
	switch {
	case a.Status != 200:
		return "", "it was answered " + strconv.Itoa(a.Status)
	case a.Packed:
		return "", "it came compressed, which nobody asked for"
	}
	full := false
	there, err := wire.EachName(a.Body, "repositories", func(name string) bool {
		switch {
		case !oci.IsRepository(name) || c.tells(name):
			c.left++
		case !c.wanted(name):
		case len(c.names) == c.limits.Repositories:
			full = true
		default:
			c.names = append(c.names, name)
		}
		return !full
	})
	next = sameQuery(oci.NextPage(a))
	switch {
	case full:
		return "", fmt.Sprintf("it has more than %d repositories", c.limits.Repositories)
	case a.Over:
		return "", fmt.Sprintf("its answer is longer than %d KiB", c.Client().Limit>>10)
	case a.Cut != nil, err != nil, !there && len(a.Body) > len("{}"):
		return "", "its answer is no list of repositories, or ends early"
	case next != "" && c.seen[next]:
		return "", "its pages lead in a circle"
	}
	c.seen[next] = true
	return next, ""
}

// sameQuery makes a next page's query comparable whatever the order of its members.
func sameQuery(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return query
	}
	return values.Encode()
}
