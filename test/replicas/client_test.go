package replicas_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// settleWithin bounds how long an honest client goes on asking: less than the grace in which a refresh may be repeated.
const settleWithin = 28 * time.Second

// honest is a client that repeats a request, the very same, when there was no answer or 503, and takes any other answer
// for the answer.
type honest struct {
	*account
	client *instance.Client
}

// settle asks until there is an answer. again tells that it was asked more than once, so that an earlier asking may
// have been done. It is false in ok, and complained about, when the answer is none that may be.
func (h honest) settle(kind, method, path, body string, headers ...string) (answer instance.Answer, again, ok bool) {
	for began := time.Now(); ; again = true {
		answer, err := h.client.Try(method, path, body, headers...)
		switch {
		case err != nil:
			h.repeated(false)
		case answer.Status == http.StatusServiceUnavailable:
			if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 {
				h.complain("%s: 503 with Retry-After %q", kind, answer.Header.Get("Retry-After"))
			}
			h.repeated(true)
		case answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusTooManyRequests:
			h.complain("%s: answered %d %s", kind, answer.Status, answer.Body)
			return answer, again, false
		default:
			return answer, again, true
		}
		if time.Since(began) > settleWithin {
			h.complain("%s: no answer in %v", kind, time.Since(began))
			return answer, again, false
		}
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
	}
}

// want settles, and demands one answer.
func (h honest) want(kind string, status int, method, path, body string, headers ...string) (instance.Answer, bool) {
	answer, again, ok := h.settle(kind, method, path, body, headers...)
	if ok && answer.Status != status {
		h.complain("%s: answered %d %s (asked more than once: %v)", kind, answer.Status, answer.Body, again)
		return answer, false
	}
	if ok {
		h.acknowledged(kind)
	}
	return answer, ok
}

func (h honest) signIn() (instance.Tokens, bool) {
	answer, ok := h.want(signingIn, http.StatusOK, http.MethodPost, "/v1/auth/authenticate", instance.Credentials(instance.Email, instance.Org, instance.Password))
	if !ok {
		return instance.Tokens{}, false
	}
	return answer.Tokens(), true
}

// usable demands that a token is taken.
func (h honest) usable(authorization string) bool {
	_, ok := h.want(tokenUse, http.StatusOK, http.MethodGet, alerts, "", "Authorization", authorization)
	return ok
}
