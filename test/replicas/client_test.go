package replicas_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// settleWithin bounds how long a regular client goes on asking: less than the grace period of the fleet, in which a refresh may be
// repeated. A database that is stopped and started on a busy machine may be away for half a minute.
const settleWithin = 110 * time.Second

// retryingClient repeats a request unchanged after 503 or without a response, and accepts any other response.
type retryingClient struct {
	*account
	client *instance.Client
}

// settle sends a request until there is a response. again reports whether it was sent more than once, so that an earlier
// one may have been executed. ok is false when the response is not allowed, which fails the test, or when the test has ended.
func (c retryingClient) settle(kind, method, path, body string, headers ...string) (response instance.Response, again, ok bool) {
	for began := time.Now(); ; again = true {
		response, err := c.client.Try(method, path, body, headers...)
		switch {
		case errors.Is(err, context.Canceled): // that of the test
			return response, again, false
		case err != nil:
			c.repeated(kind, false)
		case response.Status == http.StatusServiceUnavailable:
			if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || seconds < 1 {
				c.complain("%s: 503 with Retry-After %q", kind, response.Header.Get("Retry-After"))
			}
			c.repeated(kind, true)
		case response.Status >= http.StatusInternalServerError || response.Status == http.StatusTooManyRequests:
			c.complain("%s: returned %d %s", kind, response.Status, response.Body)
			return response, again, false
		default:
			return response, again, true
		}
		if time.Since(began) > settleWithin {
			c.complain("%s: no response in %v", kind, time.Since(began))
			return response, again, false
		}
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
	}
}

// want settles and requires a status.
func (c retryingClient) want(kind string, status int, method, path, body string, headers ...string) (instance.Response, bool) {
	response, again, ok := c.settle(kind, method, path, body, headers...)
	if ok && response.Status != status {
		c.complain("%s: returned %d %s (asked more than once: %v)", kind, response.Status, response.Body, again)
		return response, false
	}
	if ok {
		c.acknowledged(kind)
	}
	return response, ok
}

func (c retryingClient) login() (instance.Tokens, bool) {
	response, ok := c.want(loggingIn, http.StatusOK, http.MethodPost, "/v1/auth/authenticate",
		instance.Credentials(instance.Email, instance.Org, instance.Password))
	if !ok {
		return instance.Tokens{}, false
	}
	return response.Tokens(), true
}

// usable requires that a token is accepted.
func (c retryingClient) usable(authorization string) bool {
	_, ok := c.want(tokenUse, http.StatusOK, http.MethodGet, alerts, "", "Authorization", authorization)
	return ok
}
