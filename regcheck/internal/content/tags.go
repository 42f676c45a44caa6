package content

import (
	"cmp"
	"context"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Reading is an attempt to list the tags of a repository.
type Reading struct {
	Repository string
	Response   *wire.Response
	Err        error // why there is no response
	Way        Way
	Grant      challenge.Grant // of the token service, if it issued no token
}

// Denied reports whether a permission is missing: the registry or its token service rejects the request.
func (r Reading) Denied() bool {
	return r.Grant.Denial() != nil || r.Response != nil && r.Response.Denied()
}

// Denial returns the response that rejects the request, nil if there is none.
func (r Reading) Denial() *wire.Response {
	if a := r.Grant.Denial(); a != nil {
		return a
	}
	return r.Response
}

// State is the state of a repository according to its list of tags.
type State uint8

// States of a repository.
const (
	NotRequested State = iota
	HasTags            // 200
	NoTags             // 200 with an empty list
	NotFound           // 404
	NoAccess           // 401, 403, or the token service rejects the request
	NameInvalid        // the error code NAME_INVALID
	BadRequest         // any other 400
	Unclear            // anything else
)

// Readable reports whether the registry treats an unknown repository as one that may be read.
func (s State) Readable() bool { return s == NotFound || s == NoTags || s == HasTags }

func (s State) rejects() bool {
	return s == NotFound || s == NoAccess || s == NameInvalid || s == BadRequest
}

// State returns the state according to the reading.
func (r Reading) State() State {
	switch {
	case r.Denied():
		return NoAccess
	case r.Response == nil:
		return Unclear
	case wire.HasCode(r.Response.Body, "NAME_INVALID"):
		return NameInvalid
	case r.Response.Status == 400:
		return BadRequest
	case r.Response.Status == 404:
		return NotFound
	case r.Response.Status != 200:
		return Unclear
	}
	switch count, _, ok := r.Tags(); {
	case !ok:
		return Unclear
	case count == 0:
		return NoTags
	}
	return HasTags
}

// Why returns the result of the reading as text.
func (r Reading) Why() string {
	switch denial := r.Grant.Denial(); {
	case r.Response != nil:
		return "GET " + r.Response.ShowURL() + " returned " + r.Response.Summary()
	case denial != nil:
		return "the token service " + denial.Text(wire.ShowURL(r.Way.Service.Realm)) + " returned " + denial.Summary()
	}
	return "there was no response"
}

// Tags returns the number of tags and the newest one that can be requested, empty if none can. ok is false if the response is
// not a list of tags: JSON of another service has neither tags nor the name of the repository.
func (r Reading) Tags() (count int, newest string, ok bool) {
	if r.Response.Over || r.Response.Packed {
		return 0, "", false
	}
	there, err := wire.EachName(r.Response.Body, "tags", func(tag string) bool {
		count++
		if oci.IsReference(tag) && oci.Newer(tag, newest) {
			newest = tag
		}
		return true
	})
	if err != nil {
		return 0, "", false
	}
	return count, newest, there || oci.NamesRepository(r.Response.Body, r.Repository)
}

// Names returns the tags that can be requested.
func (r Reading) Names() (tags []string) {
	_, _ = wire.EachName(r.Response.Body, "tags", func(tag string) bool {
		if oci.IsTag(tag) {
			tags = append(tags, tag)
		}
		return len(tags) < maxTags
	})
	return tags
}

const maxTags = 1000 // compared with a misspelled one

// Tags lists the tags of a repository, once for each access: the auth stage may have done it.
func (c *Client) Tags(ctx context.Context, access *Access, repository string) Reading {
	if r, known := access.readings.Load(repository); known {
		return r.(Reading)
	}
	r := c.ReadTags(ctx, access, repository)
	if r.Err == nil {
		access.readings.Store(repository, r)
	}
	return r
}

// ReadTags lists the tags of a repository.
func (c *Client) ReadTags(ctx context.Context, access *Access, repository string) Reading {
	return c.read(ctx, Way{access, PullScope(repository)}, repository, "/tags/list?"+TagsQuery, false)
}

// TagsPage lists many tags of a repository: the first ones, or those of the query for the next ones.
func (c *Client) TagsPage(ctx context.Context, access *Access, repository, next string) Reading {
	return c.read(ctx, Way{access, PullScope(repository)}, repository, "/tags/list?"+cmp.Or(next, manyTags), false)
}

// manyTags requests a large page of tags.
const manyTags = "n=1000"

// ReadManifest requests a manifest, or only its headers. The State of the reading has no meaning.
func (c *Client) ReadManifest(ctx context.Context, w Way, repository, reference string, head bool) Reading {
	return c.read(ctx, w, repository, "/manifests/"+reference, head)
}

// read sends a second request if the registry names a token service only in its response, or requires another scope than
// the usual one.
func (c *Client) read(ctx context.Context, w Way, repository, rest string, head bool) Reading {
	r := c.readBy(ctx, w, repository, rest, head)
	if r.Response == nil || r.Response.Status != 401 {
		return r
	}
	if other, ok := c.Other(r.Way, r.Response, repository); ok {
		return c.readBy(ctx, other, repository, rest, head)
	}
	return r
}

// readBy reads by one way, with another token if the first one has expired.
func (c *Client) readBy(ctx context.Context, w Way, repository, rest string, head bool) Reading {
	r, header := c.readOnce(ctx, w, repository, rest, head)
	if _, expired := c.Renew(ctx, w, header, r.Response); expired {
		r, _ = c.readOnce(ctx, w, repository, rest, head)
	}
	return r
}

func (c *Client) readOnce(ctx context.Context, w Way, repository, rest string, head bool) (r Reading, header string) {
	r = Reading{Repository: repository, Way: w}
	header, g := c.Authorize(ctx, w)
	if w.Service != nil && header == "" {
		r.Grant = g
		return r, ""
	}
	path, query, _ := strings.Cut(rest, "?")
	what := wire.Request{URL: c.Base.URL(repository + path), Authorization: header, Head: head}
	what.URL.RawQuery = query
	r.Response, r.Err = c.Fetch(ctx, what, true)
	return r, header
}

// TagsQuery requests a page of tags.
const TagsQuery = "n=50"
