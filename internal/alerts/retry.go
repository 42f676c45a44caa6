package alerts

import (
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// When something that did not arrive is tried again.
const (
	firstWait = 30 * time.Second
	maxWait   = time.Hour
	rareWait  = 4 * time.Hour // what only a change of settings can mend, and the longest Retry-After that is honoured
	giveUp    = 72 * time.Hour
)

// result is how an attempt ended.
type result struct {
	ok         bool
	message    string        // for people who may read the channel
	retryAfter time.Duration // what the receiver asked for
	rare       bool          // trying soon is of no use
	told       []string      // e-mail addresses that need not be told again
	refused    int64         // how many of these were refused in this attempt
	more       bool          // addresses remain, and that is all that was wrong
	pause      time.Duration // until the remaining addresses may be tried; with more
}

// next is what follows from an attempt: the delivery as it is to be, the channel's failures in a row, and the moment
// before which the channel is left alone.
func next(d store.Delivery, failures int64, r result, now time.Time) (store.Delivery, int64, time.Time) {
	d.Processed, d.Refused = r.told, d.Refused+r.refused
	end := d.CreatedAt.Add(giveUp)
	if r.more && now.Before(end) {
		d.NextAt = now.Add(r.pause)
		return d, failures, d.NextAt
	}
	d.Attempts++
	if r.ok {
		d.Delivered, d.EndedAt, d.NextAt = true, now, time.Time{}
		return d, 0, time.Time{}
	}
	failures++
	if !now.Before(end) {
		d.EndedAt, d.NextAt = now, time.Time{}
		return d, failures, now.Add(wait(failures, r))
	}
	d.NextAt = now.Add(wait(d.Attempts, r))
	if d.NextAt.After(end) {
		d.NextAt = end // a last time
	}
	return d, failures, now.Add(wait(failures, r))
}

// wait grows from one failure to the next.
func wait(failures int64, r result) time.Duration {
	if r.rare {
		return spread(rareWait)
	}
	grown := maxWait
	if failures < 8 { // 30 s doubled seven times is more than an hour
		grown = min(maxWait, firstWait<<(failures-1))
	}
	return max(spread(grown), min(r.retryAfter, rareWait))
}

// spread keeps those apart who failed together: an hour is one from 48 minutes to an hour.
func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.2*rand.Float64())) // #nosec G404 -- spreads load, hides nothing
}
