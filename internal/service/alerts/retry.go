package alerts

import (
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Retries of failed deliveries.
const (
	firstWait      = 30 * time.Second
	maxWait        = time.Hour
	blockedWait    = 4 * time.Hour // for failures that only a change of settings fixes; also the longest Retry-After that is respected
	deliveryPeriod = 72 * time.Hour
)

// result is the outcome of an attempt.
type result struct {
	ok         bool
	message    string        // shown to users who may read the channel
	retryAfter time.Duration // requested by the receiver
	blocked    bool          // only a change of settings fixes it
	sentTo     []string      // email addresses that need no further attempt
	rejected   int64         // how many of these were rejected in this attempt
	deferred   bool          // a failure of some addresses only: the channel works
	more       bool          // no failure, but addresses remain
	pause      time.Duration // with more: before the next attempt

	// For tests of a channel only:
	status   int    // of HTTP, 0 without a response
	response string // the beginning of the receiver's response
	hint     string // how to fix a failure
}

// next returns the delivery after an attempt, the consecutive failures of the channel, and the earliest time of its next attempt.
func next(d store.Delivery, failures int64, r result, now time.Time) (store.Delivery, int64, time.Time) {
	d.Processed, d.Refused = r.sentTo, d.Refused+r.rejected
	end := d.CreatedAt.Add(deliveryPeriod)
	if r.more && now.Before(end) {
		d.NextAt = now.Add(r.pause)
		return d, failures, d.NextAt
	}
	d.Attempts++
	if r.ok {
		d.Delivered, d.EndedAt, d.NextAt = true, now, time.Time{}
		return d, 0, time.Time{}
	}
	d.NextAt = now.Add(wait(d.Attempts, r))
	switch {
	case !now.Before(end):
		d.EndedAt, d.NextAt = now, time.Time{}
	case d.NextAt.After(end):
		d.NextAt = end // the last attempt
	}
	if r.deferred {
		return d, 0, time.Time{}
	}
	failures++
	return d, failures, now.Add(wait(failures, r))
}

// wait returns the time before the next attempt, which doubles with each failure.
func wait(failures int64, r result) time.Duration {
	if r.blocked {
		return jitter(blockedWait)
	}
	backoff := maxWait
	if failures < 8 { // 30 s doubled seven times is more than an hour
		backoff = min(maxWait, firstWait<<(failures-1))
	}
	return max(jitter(backoff), min(r.retryAfter, blockedWait))
}

// jitter returns 80–100% of d, so that simultaneous failures are not retried simultaneously.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.2*rand.Float64())) // #nosec G404 -- spreads load, hides nothing
}
