package wire

import (
	"context"
	"net/url"

	"github.com/regwarden/regwarden/egress"
)

// RedirectError is a redirect that is not followed.
type RedirectError struct {
	From, To *url.URL
	Kind     redirectKind
	Err      error // for redirectBroken
}

type redirectKind uint8

const (
	RedirectAway     redirectKind = iota // to another origin, with credentials
	RedirectLoop                         // a loop, or too many
	RedirectInsecure                     // from https to http
	RedirectInvalid                      // not an http or https URL
	redirectBroken                       // to an address that cannot be reached
)

func (e *RedirectError) Error() string {
	return "redirect from " + ShowURL(e.From) + " to " + ShowURL(e.To)
}

func (e *RedirectError) Unwrap() error { return e.Err }

// Fetch sends a request and follows its redirects one hop at a time. Authorization is never sent
// to another origin; the request only if crossing is true.
func (w *Client) Fetch(ctx context.Context, what Request, crossing bool) (*Response, error) {
	from, err := egress.ReadOrigin(what.URL)
	if err != nil {
		return nil, err
	}
	p, err := w.Reach(ctx, from)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	rounds, before := 0, (*url.URL)(nil)
	for hops := 0; ; hops++ {
		a, err := w.exchange(ctx, p, &what)
		if err != nil && hops > 0 {
			return nil, &RedirectError{From: before, To: what.URL, Kind: redirectBroken, Err: err}
		}
		if err != nil {
			return nil, err
		}
		a.rounds += rounds
		rounds, a.Hops = a.rounds, hops
		if a.location() == "" {
			addRounds(ctx, rounds)
			return a, nil
		}
		seen[what.URL.String()] = true
		next, err := w.redirect(ctx, a, crossing, hops, seen)
		if err != nil {
			return nil, err
		}
		if next.Origin != p.Origin {
			what.Authorization = ""
		}
		before, p, what.URL = what.URL, next.Peer, next.url
	}
}

type hop struct {
	*Peer
	url *url.URL
}

// redirect evaluates the next hop.
func (w *Client) redirect(ctx context.Context, a *Response, crossing bool, hops int, seen map[string]bool) (hop, error) {
	reject := func(to *url.URL, kind redirectKind, err error) (hop, error) {
		return hop{}, &RedirectError{a.URL, to, kind, err}
	}
	to, err := a.URL.Parse(a.location())
	if err != nil {
		return reject(&url.URL{}, RedirectInvalid, err)
	}
	to.Fragment, to.RawFragment = "", ""
	next, err := egress.ReadOrigin(to)
	switch {
	case err != nil:
		return reject(to, RedirectInvalid, err)
	case seen[to.String()] || hops >= w.Limits.Redirects:
		return reject(to, RedirectLoop, nil)
	case a.From.Scheme == "https" && next.Scheme == "http":
		return reject(to, RedirectInsecure, nil)
	case a.From != next && !crossing:
		return reject(to, RedirectAway, nil)
	}
	p, err := w.Hop(ctx, a.From, next)
	if err != nil {
		return reject(to, redirectBroken, err)
	}
	return hop{p, to}, nil
}

// location returns the target of a redirect, "" for other responses.
func (a *Response) location() string {
	switch a.Status {
	case 301, 302, 303, 307, 308:
		return a.Header.Get("Location")
	}
	return ""
}

// ShowURL returns a URL to be shown: without user information and query, cleaned.
func ShowURL(u *url.URL) string {
	if u == nil {
		return "the registry"
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return CleanText(bare.String())
}
