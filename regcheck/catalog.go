package regcheck

import (
	"context"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	maxPages = 5     // of a catalog
	maxNames = 20000 // in all
)

// catalog is what the registry lists. In many registries it is an administrator's call: its refusal
// means "not known", never "failed" (distribution#3165).
type catalog struct {
	names []string
	why   string // it is not complete
	whole bool   // for administrators only, as Harbor's
}

const (
	catalogScope = "registry:catalog:*"
)

func (s *session) catalog(ctx context.Context) catalog {
	var c catalog
	header, _ := s.authorization(ctx, s.access, catalogScope)
	if s.access.service != nil && header == "" {
		c.why = "the token service gives no token for the catalog"
		return c
	}
	a, err := s.read(ctx, "_catalog", oci.CatalogQuery, header)
	if basic := s.basicInstead(s.access, a); basic != nil {
		header, c.whole = basic.header, true
		a, err = s.read(ctx, "_catalog", oci.CatalogQuery, header)
	}
	if err == nil && a.Status == 400 {
		// distribution 3 refuses an n above its catalog.maxentries, and has a default of its own
		a, err = s.read(ctx, "_catalog", "", header)
	}
	for range maxPages {
		if err != nil {
			c.why = "the catalog could not be read"
			return c
		}
		if c.why = c.add(a); c.why != "" {
			return c
		}
		next := oci.NextPage(a)
		if next == "" {
			return c
		}
		a, err = s.read(ctx, "_catalog", next, header)
	}
	c.why = "the catalog is too long to be read whole"
	return c
}

// basicInstead is the access by Basic that a registry asks for in place of its own tokens, as Harbor does for the
// catalog; nil when it does not, or when another origin asks.
func (s *session) basicInstead(acc *access, a *wire.Response) *access {
	if a == nil || a.Status != 401 || a.From != s.plan.base.Origin || acc.service == nil || acc.who.User == "" ||
		!challenge.Offered(a.Header.Values("WWW-Authenticate")).Basic {
		return nil
	}
	return &access{header: challenge.Basic(acc.who.User, acc.who.Password)}
}

// listing is what the catalog says of a path.
func (c catalog) listing(path string) listing {
	switch {
	case len(c.below(path)) > 0:
		return listsBelow
	case slices.Contains(c.names, path):
		return listsPath
	case c.why != "":
		return listsUnknown
	case len(c.names) == 0:
		return listsNothing
	}
	return listsOthers
}

// gap says why what is not listed may still exist.
func (c catalog) gap() string {
	if c.why == "" {
		return "it is empty, as that of a pull-through cache is until something is pulled"
	}
	return c.why
}

// add takes the names of a page and says what is wrong with it.
func (c *catalog) add(a *wire.Response) (why string) {
	if a.Status != 200 {
		return "the catalog was answered " + itoa(a.Status)
	}
	if a.Over || a.Packed || a.Cut != nil {
		return "the catalog cannot be read"
	}
	there, err := wire.EachName(a.Body, "repositories", func(name string) bool {
		c.names = append(c.names, name)
		return len(c.names) <= maxNames
	})
	switch {
	case err != nil || !there && len(a.Body) > len("{}"):
		return "the catalog cannot be read"
	case len(c.names) > maxNames:
		return "the catalog is too long to be read whole"
	}
	return ""
}

// below lists the repositories under a prefix; prefixes match at slashes.
func (c catalog) below(prefix string) []string {
	var found []string
	for _, name := range c.names {
		if strings.HasPrefix(name, prefix+"/") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
