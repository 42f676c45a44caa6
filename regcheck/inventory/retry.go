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
	defaultRetryAfter = 5 * time.Second // if the registry limits requests without Retry-After
	errorBackoff      = time.Second
)

// get requests a path below /v2/, with retries, until the response is usable. If the token service issues no token or no
// response is usable, it returns why. The error is a *stop, also if access ends because the credentials have expired.
func (l *lister) get(ctx context.Context, at content.Way, rest, query string) (a *wire.Response, why string, err error) {
	a, why, err = l.retry(ctx, at, rest, query)
	if err == nil && (a == nil || a.Denied()) && l.Expired() {
		return nil, "", &stop{reason: "the credentials have expired."}
	}
	return a, why, err
}

// retry is get without regard to the expiry of credentials.
func (l *lister) retry(ctx context.Context, at content.Way, rest, query string) (a *wire.Response, why string, err error) {
	renewed := false
	for try := 1; ; try++ {
		a, why = nil, ""
		header, problem, ok := l.Authorize(ctx, at)
		if !ok && problem == "" {
			return nil, "the token service issues no token for it", nil
		}
		wait := errorBackoff
		if why = problem; ok {
			a, why, wait = l.request(ctx, rest, query, header)
		}
		if why == "" {
			if a.Status == 401 && !renewed && at.Service != nil {
				at.Forget(at.Scope)
				renewed = true // it has expired: an inventory may take longer than the lifetime of a token
				continue
			}
			return a, "", nil
		}
		limited := a != nil && isRateLimited(a)
		switch {
		case ctx.Err() != nil:
			return nil, "", &stop{reason: "the time limit of one call was reached."}
		case limited && (try >= 3 || wait > l.limits.Pause):
			return nil, "", &stop{"the registry limits requests: " + why, wait}
		case wait < 0:
			return nil, wire.CleanText(why), nil
		case try >= 2 && !limited:
			if l.failures++; l.failures > maxFailures {
				return nil, "", &stop{"the registry returns no usable responses: " + why, defaultRetryAfter}
			}
			return nil, wire.CleanText(why), nil
		}
		if err := l.pause(ctx, wait); err != nil {
			return nil, "", err
		}
	}
}

// request sends one request. If why is empty, the response is usable. A negative wait means that a retry is useless.
func (l *lister) request(ctx context.Context, rest, query, header string) (a *wire.Response, why string, wait time.Duration) {
	u := l.Client().Base.URL(rest)
	u.RawQuery = query
	a, err := l.Client().Fetch(ctx, wire.Request{URL: u, Authorization: header}, len(l.thirdPartyHosts) < maxThirdPartyHosts)
	if err != nil {
		wait = errorBackoff
		if x, redirected := errors.AsType[*wire.RedirectError](err); redirected {
			l.thirdPartyHosts[x.To.Host] = true
			wait = -1
		}
		return nil, l.NoResponse(err), wait
	}
	if a.From != l.Client().Base.Origin {
		l.thirdPartyHosts[a.URL.Host] = true
	}
	switch {
	case isRateLimited(a):
		wait = retryAfter(a, l.Now())
	case a.Status >= 500:
		wait = errorBackoff
	default:
		return a, "", 0
	}
	return a, "GET " + a.ShowURL() + " returned " + a.Summary() + ".", wait
}

// isRateLimited reports whether a response is a 429, or a 503 with Retry-After (RFC 9110 section 15.6.4).
func isRateLimited(a *wire.Response) bool {
	return a.Status == 429 || a.Status == 503 && a.Header.Get("Retry-After") != ""
}

// retryAfter reads both forms of the header (RFC 9110 section 10.2.3). It returns at least a second.
func retryAfter(a *wire.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(a.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(time.Second, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Second, at.Sub(now))
	}
	return defaultRetryAfter
}

func (l *lister) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &stop{reason: "the time limit of one call was reached."}
	}
}
