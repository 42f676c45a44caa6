package content

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Place is a content path to be read.
type Place struct {
	Path      string
	Unlikely  string // the random name of a repository
	Malformed bool   // the path breaks the grammar of names
}

// Survey is what a registry returned for a place, and what follows from it.
type Survey struct {
	Path, Below Reading
	Catalog     Catalog
	Facts       Facts
}

// Facts returns what a reading of the path shows.
func (c *Client) Facts(access *Access, p Place, path Reading) Facts {
	return Facts{Path: path.State(), Malformed: p.Malformed, Remote: access.Service != nil && access.Service.Origin != c.Base.Origin}
}

// Below requests a random repository below the path. A robot with permissions on a whole Harbor project gets 401 or 400 for the
// project's own name, but 404 for an unknown repository in it.
func (c *Client) Below(ctx context.Context, access *Access, p Place) Reading {
	return c.Tags(ctx, access, p.Path+"/"+p.Unlikely)
}

// sibling requests a random repository below a random sibling of the path: a registry that refuses it knows the path.
func (c *Client) sibling(ctx context.Context, access *Access, p Place) Reading {
	parent := p.Path[:strings.LastIndexByte(p.Path, '/')+1]
	return c.Tags(ctx, access, parent+p.Unlikely+"/"+p.Unlikely)
}

// Survey sends requests until they allow a conclusion, or until stop returns true for a reading of the path or below it.
func (c *Client) Survey(ctx context.Context, access *Access, p Place, stop func(Reading) bool) (s Survey) {
	if s.Path = c.Tags(ctx, access, p.Path); stop(s.Path) {
		return s
	}
	s.Facts = c.Facts(access, p, s.Path)
	for step := s.Facts.Decide(); step.IsRequest(); step = s.Facts.Decide() {
		c.request(ctx, access, p, step, &s)
		if step != RequestCatalog && stop(s.Below) {
			return s
		}
	}
	return s
}

// request requests what the decision needs, concurrently.
func (c *Client) request(ctx context.Context, access *Access, p Place, step Step, s *Survey) {
	var work []func(context.Context)
	if step != RequestCatalog {
		work = append(work, func(ctx context.Context) { s.Below = c.Below(ctx, access, p); s.Facts.Below = s.Below.State() })
	}
	switch step {
	case RequestCatalog, RequestBoth:
		work = append(work, func(ctx context.Context) {
			s.Catalog = c.Catalog(ctx, access)
			s.Facts.Listed, s.Facts.Whole = s.Catalog.listing(p.Path), s.Catalog.Whole
		})
	case RequestSibling:
		work = append(work, func(ctx context.Context) { s.Facts.Sibling = c.sibling(ctx, access, p).State() })
	default: // the others need no more than the repository below
	}
	wire.Concurrently(ctx, work...)
}
