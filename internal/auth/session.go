package auth

import (
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// The rules of sessions, as pure functions over what is stored, what is presented and the clock. What
// follows from a verdict is done in refresh.go.

// verdict is what becomes of a refresh token that is ours.
type verdict string

const (
	advance verdict = "advance" // the newest one: spend it and give out the next
	retry   verdict = "retry"   // spent a moment ago, its successor unused: give that out again
)

// The other verdicts refuse, and are named by the reason that the caller is told. These two end the
// session: somebody has a token that only the owner should have, or the store has forgotten a spent one.
func (v verdict) endsSession() bool { return v == ReasonReused || v == ReasonAhead }

// refuses reports whether the caller is turned away.
func (v verdict) refuses() bool { return v != advance && v != retry }

// judgeSession says why a session takes no token at all, "" when it does.
func judgeSession(s store.Session, now time.Time) verdict {
	switch {
	case !s.EndedAt.IsZero():
		return ReasonRevoked
	case !s.DisabledAt.IsZero():
		return ReasonInactive
	case !now.Before(s.MaxUntil):
		return ReasonExpired
	case !now.Before(s.IdleUntil):
		return ReasonIdle
	}
	return ""
}

// judgeRefresh decides about a refresh token of the given generation (RFC 9700 section 4.14.2). A spent
// token is taken once more only for an answer that may have been lost: within the grace of its first
// use, and while its successor was not used, which would show that it arrived.
func judgeRefresh(s store.Session, generation int64, now time.Time, grace time.Duration) verdict {
	if refused := judgeSession(s, now); refused != "" {
		return refused
	}
	switch {
	case generation == s.Generation:
		return advance
	case generation > s.Generation:
		return ReasonAhead
	case generation == s.Generation-1 && !now.After(s.AdvancedAt.Add(grace)):
		return retry
	}
	return ReasonReused
}

// judgeExchange decides about an authorization token at the refresh path, whose first use is already on
// record as spent. successorSpent tells that the token given for it was itself exchanged.
func judgeExchange(spent store.SpentJTI, successorSpent bool, now time.Time, grace time.Duration) verdict {
	if !successorSpent && !now.After(spent.SpentAt.Add(grace)) {
		return retry
	}
	return ReasonSpent
}
