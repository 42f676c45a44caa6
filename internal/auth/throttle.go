package auth

import (
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// The rules of throttling, as pure functions of what is stored and the clock. loginattempt.go applies them.
//
// Failures are counted in three places. The pair of an account and a source has free failures, and then waits
// that double. A source that never had a success with the account also counts into, and waits for, an
// allowance that all such sources of the account share, and one that all such accounts of the source share. A source
// that had a success does neither: however many others try, there or elsewhere, its owner has the whole allowance of
// the pair. So no owner is shut out by others, a botnet has no more tries at an account than one machine, and one
// machine has no more tries because it guesses at many accounts.

const (
	sharedFree = 4   // times the free failures of a pair
	sourceFree = 20  // times the free failures of a pair: offices and proxies share an address
	alertAfter = 100 // consecutive failures on the shared allowance (SP 800-63B-4 section 3.2.2)

	firstPairWait    = 2 * time.Second
	firstSharedWait  = time.Second
	sharedWaitShare  = 15 // waits that several accounts or sources share are this part of the longest at most: slow, never shut
	forgetPair       = time.Hour
	forgetShared     = 24 * time.Hour
	forgetSource     = time.Hour
	forgetSuccess    = 90 * 24 * time.Hour
	successNoteEvery = 24 * time.Hour
)

type throttleRules struct {
	free    int64
	maxWait time.Duration
}

// ownAllowance reports whether only its own failures count for a source.
func ownAllowance(pair store.Throttle) bool { return !pair.SucceededAt.IsZero() }

// wait returns how long a login has to wait, zero for not at all.
func (r throttleRules) wait(t store.Throttles, now time.Time) time.Duration {
	until := t.Pair.BlockedUntil
	if !ownAllowance(t.Pair) {
		for _, shared := range []store.Throttle{t.Account, t.Source} {
			if shared.BlockedUntil.After(until) {
				until = shared.BlockedUntil
			}
		}
	}
	// A row may come from a process whose clock was ahead, or whose longest wait was longer.
	return min(max(until.Sub(now), 0), r.maxWait)
}

// afterPair is the wait that so many failures of a pair lead to; zero while there are free ones.
func (r throttleRules) afterPair(failures int64) time.Duration {
	return doubling(firstPairWait, failures-r.free, r.maxWait)
}

// afterShared is the wait that so many failures on the shared allowance lead to.
func (r throttleRules) afterShared(failures int64) time.Duration {
	if failures >= alertAfter {
		return r.maxWait
	}
	return doubling(firstSharedWait, failures-sharedFree*r.free, r.maxWait/sharedWaitShare)
}

// afterSource is the wait that so many failures of a source lead to, over all accounts with which it has no own allowance.
func (r throttleRules) afterSource(failures int64) time.Duration {
	return doubling(firstSharedWait, failures-sourceFree*r.free, r.maxWait/sharedWaitShare)
}

// doubling is first times two to the power of n, at most most; zero for negative n.
func doubling(first time.Duration, n int64, most time.Duration) time.Duration {
	if n < 0 {
		return 0
	}
	wait := first
	for range n {
		if wait >= most {
			break
		}
		wait *= 2
	}
	return min(wait, most)
}

// blockedUntil is when a wait that begins now ends.
func blockedUntil(wait time.Duration, now time.Time) time.Time {
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(wait)
}

// forgetPairAt is when a pair that just failed is forgotten. A success is remembered however often the source
// fails later, but failing makes it no longer.
func forgetPairAt(pair store.Throttle, wait time.Duration, now time.Time) time.Time {
	at := now.Add(max(forgetPair, 4*wait))
	if remembered := pair.SucceededAt.Add(forgetSuccess); ownAllowance(pair) && remembered.After(at) {
		return remembered
	}
	return at
}

// forgetSharedAt is when the failures of all sources together are forgotten: an hour later for each of them, a day
// at most. Who pauses to be forgotten tries once an hour on average, which is slower than the longest wait;
// and names that do not exist, which leave rows too, leave them for an hour.
func forgetSharedAt(failures int64, now time.Time) time.Time {
	return now.Add(min(time.Duration(min(failures, 24))*time.Hour, forgetShared))
}

// forgetSourceAt is when the failures of a source that just failed are forgotten: an hour after the first of them. Later
// ones do not prolong it, so that an address that many people share, with some failures every hour, is never slowed.
func forgetSourceAt(source store.Throttle, now time.Time) time.Time {
	if source.Failures <= 1 {
		return now.Add(forgetSource)
	}
	return source.ForgetAt
}
