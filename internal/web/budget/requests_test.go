package budget

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
)

const mebibyte = 1 << 20

var (
	ada   = auth.Principal{UserUID: "ada", OrgUID: "acme"}
	bob   = auth.Principal{UserUID: "bob", OrgUID: "acme"}
	carol = auth.Principal{UserUID: "carol", OrgUID: "acme"}
	eve   = auth.Principal{UserUID: "eve", OrgUID: "other"}
)

// announced returns a request with that length of its body.
func announced(length int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	r.ContentLength = length
	return r
}

// Shares are 4 MiB of a user, 8 MiB of an organization, and a quarter of that for small bodies.
func TestBodiesCountAgainstUserAndOrganization(t *testing.T) {
	large := func(p auth.Principal) holding { return holding{p, "", 4 * mebibyte} }
	for name, c := range map[string]struct {
		held     []holding
		next     holding
		admitted bool
	}{
		"nothing is held":                          {nil, large(ada), true},
		"one body may exceed the share":            {nil, holding{ada, "", 5 * mebibyte}, true},
		"the user's share is held":                 {[]holding{large(ada)}, holding{ada, "", smallBody + 1}, false},
		"a small body has another share":           {[]holding{large(ada)}, holding{ada, "", smallBody}, true},
		"the user's share of small bodies is held": {many(16, holding{ada, "", smallBody}), holding{ada, "", 1}, false},
		"but that of large ones is not":            {many(16, holding{ada, "", smallBody}), large(ada), true},
		"another user of the organization":         {[]holding{large(ada)}, large(bob), true},
		"the organization's share is held":         {[]holding{large(ada), large(bob)}, large(carol), false},
		"another organization":                     {[]holding{large(ada), large(bob)}, large(eve), true},
		"a source without credentials": {many(16, holding{source: "192.0.2.1", n: smallBody}),
			holding{source: "192.0.2.1", n: 1}, false},
		"another source": {many(16, holding{source: "192.0.2.1", n: smallBody}),
			holding{source: "192.0.2.2", n: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewRequests(32 * mebibyte)
			for _, h := range c.held {
				if err := h.reserve(b); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.next.reserve(b); (err == nil) != c.admitted || err != nil && !busy(err) {
				t.Fatalf("got %v, want admitted: %t", err, c.admitted)
			}
		})
	}
}

// Users with many small bodies leave some of the organization's share to others.
func TestUsersLeaveSmallBodiesToOthers(t *testing.T) {
	b := NewRequests(32 * mebibyte)
	for _, p := range []auth.Principal{ada, bob} {
		admitted := 0
		for range 100 {
			if (holding{p, "", smallBody}).reserve(b) == nil {
				admitted++
			}
		}
		if admitted == 0 || admitted == 100 {
			t.Errorf("%d bodies of %s are admitted", admitted, p.UserUID)
		}
	}
	for range 4 {
		if err := (holding{carol, "", smallBody}).reserve(b); err != nil {
			t.Error(err)
		}
	}
}

// holding is a body of a user, or of a source.
type holding struct {
	p      auth.Principal
	source string
	n      int64
}

func (h holding) reserve(b *Requests) error {
	return b.Reserve(h.p, h.source, announced(h.n), 8*mebibyte)
}

func many(n int, h holding) (all []holding) {
	for range n {
		all = append(all, h)
	}
	return all
}

func busy(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Unavailable && f.RetryAfter > 0
}

// A body without an announced length counts as it arrives, and what it held is free afterwards.
func TestChunkedBodyCountsAsItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewRequests(32 * mebibyte)
		send := func(length int) (end func(), err error) {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", io.NopCloser(strings.NewReader(strings.Repeat("x", length))))
			r.ContentLength = -1
			if err := b.Reserve(ada, "", r, 8*mebibyte); err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(r.Body)
			return func() { cancel(); synctest.Wait() }, err
		}
		endFirst, first := send(3 * mebibyte)
		endSecond, second := send(2 * mebibyte)
		if first != nil || !busy(second) {
			t.Errorf("3 MiB and 2 MiB of one user: %v, %v", first, second)
		}
		endSecond()
		endThird, third := send(mebibyte)
		if third != nil {
			t.Errorf("4 MiB of one user: %v", third)
		}
		endFirst()
		endThird()
		if len(b.shares.held) != 0 {
			t.Errorf("left: %v", b.shares.held)
		}
	})
}

// Otherwise, among many others like it, a body that is never read would be refused as a temporary shortage.
func TestTooLargeAnnouncedBodyTakesNoShare(t *testing.T) {
	for name, b := range map[string]*Requests{"limited": NewRequests(32 * mebibyte), "unlimited": nil} {
		_, tooLarge := errors.AsType[*http.MaxBytesError](b.Reserve(ada, "", announced(mebibyte+1), mebibyte))
		if !tooLarge || b != nil && len(b.shares.held) > 0 {
			t.Errorf("%s: refused as too large: %t", name, tooLarge)
		}
	}
}
