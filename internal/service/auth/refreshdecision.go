package auth

import (
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Rules of sessions, as pure functions of the stored session, the presented token and the time. refresh.go applies
// them.

// refreshDecision is what to do with an authentic refresh token. Refusing decisions have the reason as their value.
type refreshDecision string

const (
	advance refreshDecision = "advance" // the newest token: consume it and issue the next one
	retry   refreshDecision = "retry"   // a legitimate retry: issue the same successor again
	recheck refreshDecision = "recheck" // ask the identity provider first
)

// endsSession reports whether the session ends: an old token was reused, or the store has lost a consumed one.
func (d refreshDecision) endsSession() bool { return d == ReasonReused || d == ReasonAhead }

func (d refreshDecision) refuses() bool { return d != advance && d != retry }

// needsRecheck reports whether the identity provider is asked about the user before the session is renewed.
func needsRecheck(s store.Session, now time.Time) bool {
	return !s.RecheckAt.IsZero() && !now.Before(s.RecheckAt)
}

// checkSession returns why a session accepts no token at all, "" if it does.
func checkSession(s store.Session, now time.Time) refreshDecision {
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

// decideRefresh decides about a refresh token of the given generation (RFC 9700 section 4.14.2). A consumed token is accepted
// once more only if the first response may have been lost: within the grace period, and while its successor was not used.
func decideRefresh(s store.Session, generation int64, now time.Time, grace time.Duration) refreshDecision {
	if refused := checkSession(s, now); refused != "" {
		return refused
	}
	switch {
	case generation == s.Generation && needsRecheck(s, now):
		return recheck
	case generation == s.Generation:
		return advance
	case generation > s.Generation:
		return ReasonAhead
	case generation == s.Generation-1 && !now.After(s.AdvancedAt.Add(grace)):
		return retry
	}
	return ReasonReused
}

// decideExchange decides about an authorization token that was exchanged before. successorConsumed reports whether the
// token issued for it was itself exchanged.
func decideExchange(consumed store.ConsumedJTI, successorConsumed bool, now time.Time, grace time.Duration) refreshDecision {
	if !successorConsumed && !now.After(consumed.ConsumedAt.Add(grace)) {
		return retry
	}
	return ReasonConsumed
}
