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

// catalog returns the included names of the catalog. If the catalog cannot be read, it sets noCatalog.
func (l *lister) catalog(ctx context.Context, include func(string) bool) ([]string, error) {
	c := &catalogReader{lister: l, include: include, seen: map[string]bool{}}
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

// firstPage requests the first page, with the authorization and query that the registry accepts.
func (l *lister) firstPage(ctx context.Context, at *content.Way) (*wire.Response, string, error) {
	query := oci.CatalogQuery
	a, why, err := l.get(ctx, *at, "_catalog", query)
	if basic, ok := l.Client().Basic(*at, a); ok {
		*at = basic
		a, why, err = l.get(ctx, *at, "_catalog", query)
	}
	if a != nil && a.Status == 400 {
		// distribution 3 rejects an n above its catalog.maxentries, and has a default
		a, why, err = l.get(ctx, *at, "_catalog", "")
	}
	return a, why, err
}

// catalogReader reads the pages of a catalog.
type catalogReader struct {
	*lister
	include func(string) bool
	names   []string
	seen    map[string]bool // queries of pages
}

// read adds the names of a page. next is the query of the next page; why is why the catalog is not complete.
func (c *catalogReader) read(a *wire.Response) (next, why string) {
	switch {
	case a.Status != 200:
		return "", "its status is " + strconv.Itoa(a.Status)
	case a.Packed:
		return "", "it was compressed, which was not requested"
	}
	full := false
	there, err := wire.EachName(a.Body, "repositories", func(name string) bool {
		switch {
		case !oci.IsRepository(name):
			c.left++
		case !c.include(name):
		case len(c.names) == c.limits.Repositories:
			full = true
		default:
			c.names = append(c.names, c.ShowName(name))
		}
		return !full
	})
	next = sameQuery(oci.NextPage(a))
	switch {
	case full:
		return "", fmt.Sprintf("it has more than %d repositories", c.limits.Repositories)
	case a.Over:
		return "", fmt.Sprintf("its response is longer than %d KiB", c.Client().Limit>>10)
	case a.Cut != nil, err != nil, !there && len(a.Body) > len("{}"):
		return "", "its response is not a complete list of repositories"
	case next != "" && c.seen[next]:
		return "", "its pages form a loop"
	}
	c.seen[next] = true
	return next, ""
}

// sameQuery returns the query of a page with its members sorted.
func sameQuery(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return query
	}
	return values.Encode()
}
