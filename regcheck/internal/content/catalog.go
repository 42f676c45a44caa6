package content

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	maxPages = 5     // of a catalog
	maxNames = 20000 // in all
)

// Catalog is what the registry lists. In many registries only administrators may read it: a rejection means "not known",
// never "failed" (distribution#3165).
type Catalog struct {
	Names []string
	why   string // it is not complete
	Whole bool   // for administrators only, as Harbor's: it lists what others may not read, too
}

// Catalog reads the catalog, as far as the limits allow.
func (c *Client) Catalog(ctx context.Context, access *Access) Catalog {
	var list Catalog
	w := Way{access, CatalogScope}
	header, _ := c.Authorize(ctx, w)
	if w.Service != nil && header == "" {
		list.why = "the token service issues no token for the catalog"
		return list
	}
	a, err := c.Read(ctx, "_catalog", oci.CatalogQuery, header)
	if basic, ok := c.Basic(w, a); ok {
		header, list.Whole = basic.Header, true
		a, err = c.Read(ctx, "_catalog", oci.CatalogQuery, header)
	}
	if err == nil && a.Status == 400 {
		// distribution 3 rejects an n above its catalog.maxentries, and has a default of its own
		a, err = c.Read(ctx, "_catalog", "", header)
	}
	for range maxPages {
		if err != nil {
			list.why = "the catalog could not be read"
			return list
		}
		if list.why = list.Add(a); list.why != "" {
			return list
		}
		next := oci.NextPage(a)
		if next == "" {
			return list
		}
		a, err = c.Read(ctx, "_catalog", next, header)
	}
	list.why = "the catalog is too long to be read whole"
	return list
}

// listing returns what the catalog has of a path.
func (c Catalog) listing(path string) Listing {
	switch {
	case len(c.Below(path)) > 0:
		return listsBelow
	case slices.Contains(c.Names, path):
		return listsPath
	case c.why != "":
		return ListsUnknown
	case len(c.Names) == 0:
		return listsNothing
	}
	if slash := strings.LastIndexByte(path, '/'); slash > 0 && len(c.Below(path[:slash])) > 0 {
		return listsSiblings
	}
	return listsOthers
}

// Gap returns why content that is not listed may still exist.
func (c Catalog) Gap() string {
	if c.why == "" {
		return "it is empty, like that of a pull-through cache before the first pull; pull the content once to have it checked"
	}
	return c.why
}

// Add adds the names of a page. why is its problem.
func (c *Catalog) Add(a *wire.Response) (why string) {
	if a.Status != 200 {
		return "the catalog returned " + strconv.Itoa(a.Status)
	}
	if a.Over || a.Packed || a.Cut != nil {
		return "the catalog cannot be read"
	}
	there, err := wire.EachName(a.Body, "repositories", func(name string) bool {
		c.Names = append(c.Names, name)
		return len(c.Names) <= maxNames
	})
	switch {
	case err != nil || !there && len(a.Body) > len("{}"):
		return "the catalog cannot be read"
	case len(c.Names) > maxNames:
		return "the catalog is too long to be read whole"
	}
	return ""
}

// Below returns the repositories below a prefix; prefixes match at slashes.
func (c Catalog) Below(prefix string) []string {
	var found []string
	for _, name := range c.Names {
		if strings.HasPrefix(name, prefix+"/") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
