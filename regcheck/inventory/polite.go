package inventory

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const (
	patienceLimited = 5 * time.Second // before the next try, where a registry that asks for time does not say how much
	patienceBroken  = time.Second
)

// get asks for something below /v2/ until there is an answer that says something. There is none, and why in its
// place, when the token service gives no token or nothing usable comes; the error is a *stop.
func (l *lister) get(ctx context.Context, at content.Way, rest, query string) (a *wire.Response, why string, err error) {
	renewed := false
	for try := 1; ; try++ {
		a, why = nil, ""
		header, broken, ok := l.Authorize(ctx, at)
		if !ok && broken == "" {
			return nil, "the token service gives no token for it", nil
		}
		wait := patienceBroken
		if why = broken; ok {
			a, why, wait = l.request(ctx, rest, query, header)
		}
		if why == "" {
			if a.Status == 401 && !renewed && at.Service != nil {
				at.Forget(at.Scope)
				renewed = true // it has expired: an inventory takes longer than a token lives
				continue
			}
			return a, "", nil
		}
		limited := a != nil && saysLater(a)
		switch {
		case ctx.Err() != nil:
			return nil, "", &stop{words: "the time for one call is over."}
		case limited && (try == 3 || wait > l.limits.Pause):
			return nil, "", &stop{"the registry asks to be called less often: " + why, wait}
		case wait < 0:
			return nil, l.Shown(why), nil
		case try == 2 && !limited:
			if l.troubles++; l.troubles > maxTroubles {
				return nil, "", &stop{"the registry gives no usable answers any more: " + why, patienceLimited}
			}
			return nil, l.Shown(why), nil
		}
		if err := l.pause(ctx, wait); err != nil {
			return nil, "", err
		}
	}
}

// request sends one request. An empty why means that the answer may be read; a negative wait that asking again
// would change nothing.
func (l *lister) request(ctx context.Context, rest, query, header string) (a *wire.Response, why string, wait time.Duration) {
	u := l.Client().Base.URL(rest)
	u.RawQuery = query
	a, err := l.Client().Fetch(ctx, wire.Request{URL: u, Authorization: header}, len(l.strangers) < maxStrangers)
	if err != nil {
		wait = patienceBroken
		if x, redirected := errors.AsType[*wire.RedirectError](err); redirected {
			l.strangers[x.To.Host] = true
			wait = -1
		}
		return nil, l.Unanswered(err), wait
	}
	if a.From != l.Client().Base.Origin {
		l.strangers[a.URL.Host] = true
	}
	switch {
	case saysLater(a):
		wait = retryAfter(a, l.Now())
	case a.Status >= 500:
		wait = patienceBroken
	default:
		return a, "", 0
	}
	return a, "GET " + wire.ShowURL(a.URL) + " was answered " + a.Said() + ".", wait
}

// saysLater: 429, and 503 that says when (RFC 9110 section 15.6.4).
func saysLater(a *wire.Response) bool {
	return a.Status == 429 || a.Status == 503 && a.Header.Get("Retry-After") != ""
}

// retryAfter reads the header in both its forms (RFC 9110 section 10.2.3); at least a second.
func retryAfter(a *wire.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(a.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(time.Second, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Second, at.Sub(now))
	}
	return patienceLimited
}

func (l *lister) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &stop{words: "the time for one call is over."}
	}
}
