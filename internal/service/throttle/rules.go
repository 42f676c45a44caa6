// Package throttle limits attempts at passwords and codes.
//
// Failures are counted in three places. The pair of an account and a source has a number of free failures, followed by
// waits that double. A source that never logged in to the account also uses an allowance that all such sources of the
// account share, and one that all such accounts of the source share. A source with a successful login uses neither: its
// owner has the full allowance of the pair, no matter how many others fail. So attackers cannot lock out an owner, a
// botnet has no more attempts at an account than one machine, and one machine has no more attempts by trying many
// accounts.
//
// The rules are pure functions of the stored state and the time; Attempt applies them to the store.
package throttle

import (
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// AlertAfter is the number of consecutive failures on the shared allowance that causes an alert (SP 800-63B-4 section 3.2.2).
const AlertAfter = 100

const (
	sharedFree = 4  // times the free failures of a pair
	sourceFree = 20 // times the free failures of a pair: offices and proxies share an address

	firstPairWait    = 2 * time.Second
	firstSharedWait  = time.Second
	sharedWaitShare  = 15 // waits shared by accounts or sources are at most this fraction of the longest: slow, but never locked out
	forgetPair       = time.Hour
	forgetShared     = 24 * time.Hour
	forgetSource     = time.Hour
	forgetSuccess    = 90 * 24 * time.Hour
	successNoteEvery = 24 * time.Hour
)

// Rules are the settings.
type Rules struct {
	Free    int64         // failures of one source for one account before it has to wait
	MaxWait time.Duration // the longest wait
}

// ownAllowance reports whether only the failures of the pair count.
func ownAllowance(pair store.Throttle) bool { return !pair.SucceededAt.IsZero() }

// wait returns how long a login has to wait, zero for not at all.
func (r Rules) wait(t store.Throttles, now time.Time) time.Duration {
	until := t.Pair.BlockedUntil
	if !ownAllowance(t.Pair) {
		for _, shared := range []store.Throttle{t.Account, t.Source} {
			if shared.BlockedUntil.After(until) {
				until = shared.BlockedUntil
			}
		}
	}
	// The row may be from a process with a fast clock or with a longer maximum wait.
	return min(max(until.Sub(now), 0), r.MaxWait)
}

// afterPair is the wait after a number of failures of a pair; zero for free ones.
func (r Rules) afterPair(failures int64) time.Duration {
	return doubling(firstPairWait, failures-r.Free, r.MaxWait)
}

// afterShared is the wait after a number of failures on the shared allowance.
func (r Rules) afterShared(failures int64) time.Duration {
	if failures >= AlertAfter {
		return r.MaxWait
	}
	return doubling(firstSharedWait, failures-sharedFree*r.Free, r.MaxWait/sharedWaitShare)
}

// afterSource is the wait after a number of failures of a source, over all accounts with which it has no own allowance.
func (r Rules) afterSource(failures int64) time.Duration {
	return doubling(firstSharedWait, failures-sourceFree*r.Free, r.MaxWait/sharedWaitShare)
}

// doubling returns first times two to the power of n, at most most; zero for negative n.
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

// blockedUntil is the end of a wait that begins now.
func blockedUntil(wait time.Duration, now time.Time) time.Time {
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(wait)
}

// forgetPairAt is when a pair that just failed is deleted. A success is remembered however often the source fails
// later, but failures do not prolong it.
func forgetPairAt(pair store.Throttle, wait time.Duration, now time.Time) time.Time {
	at := now.Add(max(forgetPair, 4*wait))
	if remembered := pair.SucceededAt.Add(forgetSuccess); ownAllowance(pair) && remembered.After(at) {
		return remembered
	}
	return at
}

// forgetSharedAt is when the shared failures of an account are deleted: an hour later for each of them, at most a day.
// A client that waits for this makes one attempt per hour on average, which is slower than the longest wait. Rows of
// unknown names are deleted after an hour.
func forgetSharedAt(account store.Throttle, _ time.Duration, now time.Time) time.Time {
	return now.Add(min(time.Duration(min(account.Failures, 24))*time.Hour, forgetShared))
}

// forgetSourceAt is when the failures of a source are deleted: an hour after the first of them. Later ones do not
// prolong it, so that an address that many people share, with some failures every hour, is never slowed.
func forgetSourceAt(source store.Throttle, _ time.Duration, now time.Time) time.Time {
	if source.Failures <= 1 {
		return now.Add(forgetSource)
	}
	return source.ForgetAt
}
