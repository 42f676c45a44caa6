package regcheck

import (
	"context"
	"net/url"

	"github.com/regwarden/regwarden/egress"
)

// redirectError is a redirect that is not followed.
type redirectError struct {
	from, to *url.URL
	kind     redirectKind
	err      error // for redirectBroken
}

type redirectKind uint8

const (
	redirectAway     redirectKind = iota // to another origin, and credentials are at stake
	redirectLoop                         // in a circle, or too many
	redirectInsecure                     // from https to http
	redirectInvalid                      // to what is no http or https URL
	redirectBroken                       // to a place that can't be reached
)

func (e *redirectError) Error() string {
	return "redirect from " + showURL(e.from) + " to " + showURL(e.to)
}

func (e *redirectError) Unwrap() error { return e.err }

// fetch sends a request and follows its redirects one hop at a time. Authorization never crosses an
// origin; unless crossing is true, neither does the request.
func (w *wire) fetch(ctx context.Context, what call, crossing bool) (*answer, error) {
	from, err := egress.ReadOrigin(what.url)
	if err != nil {
		return nil, err
	}
	p, err := w.reach(ctx, from)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	rounds, before := 0, (*url.URL)(nil)
	for hops := 0; ; hops++ {
		a, err := w.exchange(ctx, p, &what)
		if err != nil && hops > 0 {
			return nil, &redirectError{from: before, to: what.url, kind: redirectBroken, err: err}
		}
		if err != nil {
			return nil, err
		}
		a.rounds += rounds
		rounds, a.hops = a.rounds, hops
		if a.location() == "" {
			return a, nil
		}
		seen[what.url.String()] = true
		next, err := w.redirect(ctx, a, crossing, hops, seen)
		if err != nil {
			return nil, err
		}
		if next.Origin != p.Origin {
			what.authorization = ""
		}
		before, p, what.url = what.url, next.peer, next.url
	}
}

type hop struct {
	*peer
	url *url.URL
}

// redirect judges the next hop.
func (w *wire) redirect(ctx context.Context, a *answer, crossing bool, hops int, seen map[string]bool) (hop, error) {
	refuse := func(to *url.URL, kind redirectKind, err error) (hop, error) {
		return hop{}, &redirectError{a.url, to, kind, err}
	}
	to, err := a.url.Parse(a.location())
	if err != nil {
		return refuse(&url.URL{}, redirectInvalid, err)
	}
	to.Fragment, to.RawFragment = "", ""
	next, err := egress.ReadOrigin(to)
	switch {
	case err != nil:
		return refuse(to, redirectInvalid, err)
	case seen[to.String()] || hops >= w.limits.Redirects:
		return refuse(to, redirectLoop, nil)
	case a.from.Scheme == "https" && next.Scheme == "http":
		return refuse(to, redirectInsecure, nil)
	case a.from != next && !crossing:
		return refuse(to, redirectAway, nil)
	}
	p, err := w.hop(ctx, a.from, next)
	if err != nil {
		return refuse(to, redirectBroken, err)
	}
	return hop{p, to}, nil
}

// location is where an answer redirects to; "" when it does not.
func (a *answer) location() string {
	switch a.status {
	case 301, 302, 303, 307, 308:
		return a.header.Get("Location")
	}
	return ""
}

// showURL is a URL as it may be shown: without user information and query, cleaned.
func showURL(u *url.URL) string {
	if u == nil {
		return "the registry"
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return cleanText(bare.String())
}
