package replicas_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// family is one session from its login on: each refresh token is exchanged for the next. Now and then a token is sent
// twice at once, as by a client that did not wait for its response.
type family struct {
	retryingClient
	session     string
	first       string // the first refresh token
	tokens      instance.Tokens
	generations int64 // consumed refresh tokens
}

func (f *family) run(stop <-chan struct{}) {
	for f.session == "" {
		tokens, ok := f.login()
		if !ok {
			return
		}
		f.session, f.first, f.tokens = sessionOf(tokens.Authorization), tokens.RefreshToken, tokens
	}
	for going(stop) && f.refresh() && f.usable(f.tokens.Authorization) && f.exchange() {
	}
}

// longestPause is that of a client between two requests.
func longestPause() time.Duration {
	if *long {
		return 40 * time.Millisecond
	}
	return 100 * time.Millisecond
}

func going(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-time.After(rand.N(longestPause())):
		return true
	}
}

// sessionOf reads the claim sid.
func sessionOf(authorization string) string {
	var claims struct {
		SID string `json:"sid"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(authorization, ".")[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		panic(err)
	}
	return claims.SID
}

// consume sends a token to the refresh path, sometimes twice at once, and returns the responses.
func (f *family) consume(kind, token string) (responses []instance.Tokens, ok bool) {
	responses, oks := make([]instance.Tokens, 1+rand.N(5)/4), [2]bool{}
	var asking sync.WaitGroup
	for i := range responses {
		asking.Go(func() {
			response, good := f.want(kind, http.StatusOK, http.MethodGet, refresh+token, "")
			if oks[i] = good; good {
				responses[i] = response.Tokens()
			}
		})
	}
	asking.Wait()
	return responses, oks[0] && oks[len(responses)-1]
}

func (f *family) refresh() bool {
	responses, ok := f.consume(refreshing, f.tokens.RefreshToken)
	if !ok {
		return false
	}
	f.tokens = responses[0]
	f.generations++
	for _, response := range responses {
		if response.RefreshToken != f.tokens.RefreshToken || response.RefreshToken == "" {
			f.complain("one refresh token has two successors")
		}
	}
	return true
}

// exchange renews as old clients do, by the authorization token alone.
func (f *family) exchange() bool {
	if rand.N(5) > 0 {
		return true
	}
	responses, ok := f.consume(exchanging, f.tokens.Authorization)
	for _, response := range responses {
		if ok && (response.Authorization != responses[0].Authorization || response.RefreshToken != "") {
			f.complain("one authorization token was exchanged for two")
		}
	}
	f.tokens.Authorization = responses[0].Authorization
	return ok
}

// check compares the session with the store: it is active and was refreshed exactly as often as its client received tokens.
func (f *family) check(t *testing.T, url string) {
	t.Helper()
	if f.session == "" {
		t.Error("a client never got to log in")
		return
	}
	generation, err := postgrestest.Number(t.Context(), url,
		"SELECT generation FROM sessions WHERE uid = $1 AND ended_at IS NULL", f.session)
	if err != nil || generation != f.generations+1 {
		t.Errorf("session %s is of generation %d, %v; its client consumed %d refresh tokens", f.session, generation, err, f.generations)
	}
	f.usable(f.tokens.Authorization)
}

// end checks that the last token works, that a consumed one does not, and that its use ends the session.
func (f *family) end(t *testing.T) {
	t.Helper()
	if !f.refresh() {
		t.Errorf("the last token of session %s does not work", f.session)
	}
	for _, gone := range []string{f.first, f.tokens.RefreshToken} {
		f.want("a consumed token", http.StatusUnauthorized, http.MethodGet, refresh+gone, "")
	}
}
