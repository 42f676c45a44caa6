package budget

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
)

// smallBody is the size up to which bodies have shares of their own, so that a large one does not delay them.
const smallBody = 64 << 10

// Requests divides the memory of request bodies: an organization may hold a quarter of the limit and a user an eighth; a single
// body may be larger. Of small bodies they, and a client address without credentials, may hold a quarter of that in addition, and
// a user at most as much as it leaves to others of the organization. The limit of all bodies together is that of the connections.
// It is safe for concurrent use.
type Requests struct {
	limit  int64
	shares *shares
}

// NewRequests returns a budget with shares of limit bytes.
func NewRequests(limit int64) *Requests { return &Requests{limit, newShares()} }

// Reserve counts the body of a request of p, or of a client address if p is not known, until the context of the request ends. The
// announced length counts at once, so that a body that is admitted arrives whole. Without it the bytes count as they arrive. A body
// that is announced as larger than limit is never read and takes no share: the error is a *http.MaxBytesError, as if it had been
// read. A nil budget has no shares.
//
// Faults, of reading the body too: Unavailable.
func (b *Requests) Reserve(p auth.Principal, source string, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	if b == nil || r.ContentLength == 0 {
		return nil
	}
	of := &reservation{budget: b, org: p.OrgUID, user: p.UserUID}
	if p.UserUID == "" {
		of.org, of.user = "", source
	}
	if r.ContentLength < 0 {
		r.Body = &countedBody{r.Body, of}
	} else if err := of.grow(r.ContentLength); err != nil {
		return err
	}
	context.AfterFunc(r.Context(), of.free)
	return nil
}

// reservation is the part of a budget that a body has.
type reservation struct {
	budget    *Requests
	org, user string

	mu    sync.Mutex
	n     int64
	ended bool
}

// of returns the shares that a body of n bytes counts against.
func (r *reservation) of(n int64) []share {
	org, user := share{holder: r.org, limit: r.budget.limit / 4}, share{holder: r.user, limit: r.budget.limit / 8}
	if n <= smallBody {
		org = share{holder: "small " + r.org, limit: org.limit / 4}
		user = share{holder: "small " + r.user, limit: user.limit / 4, leaves: &org}
	}
	if r.org == "" {
		user.leaves = nil
		return []share{user}
	}
	return []share{org, user}
}

func (r *reservation) grow(n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended { // nothing would free it
		return context.Canceled
	}
	if !r.budget.shares.replace(r.n, r.of(r.n), r.n+n, r.of(r.n+n)) {
		return fault.Busy("You or your organization are sending too many large requests. Retry after the time in Retry-After.", time.Second)
	}
	r.n += n
	return nil
}

func (r *reservation) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.budget.shares.replace(r.n, r.of(r.n), 0, nil)
}

// countedBody is a body without an announced length.
type countedBody struct {
	io.ReadCloser
	of *reservation
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if tooMany := b.of.grow(int64(n)); tooMany != nil {
		return 0, tooMany
	}
	return n, err
}
