package budget

import (
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
)

// Responses bounds the bytes of large responses held in memory for clients. An organization may hold a quarter of
// the total and a user an eighth; a single response may be larger. It is safe for concurrent use.
type Responses struct {
	limit  int64
	shares *shares
}

// NewResponses returns a budget of limit bytes in total.
func NewResponses(limit int64) *Responses { return &Responses{limit, newShares()} }

// Reserve counts the bytes of a response to the caller until free is called. A nil budget and a caller who is not known
// have no limit.
//
// Faults: Unavailable.
func (b *Responses) Reserve(p auth.Principal, n int64) (free func(), err error) {
	if b == nil || p.UserUID == "" {
		return func() {}, nil
	}
	of := []share{{limit: b.limit}, {holder: p.OrgUID, limit: b.limit / 4}, {holder: p.UserUID, limit: b.limit / 8}}
	if !b.shares.replace(0, nil, n, of) {
		return nil, fault.Busy("Too many large responses are being sent to you or your organization. Retry after the time in Retry-After.",
			time.Second)
	}
	return func() { b.shares.replace(n, of, 0, nil) }, nil
}
