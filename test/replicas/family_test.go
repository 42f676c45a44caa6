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

	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// family is one session from its sign-in on: each refresh token is spent for the next. Now and then a token is sent
// twice at once, as by a client that did not wait for its answer.
type family struct {
	honest
	session     string
	first       string // the first refresh token
	tokens      instance.Tokens
	generations int64 // refresh tokens that were spent
}

func (f *family) run(stop <-chan struct{}) {
	for f.session == "" {
		tokens, ok := f.signIn()
		if !ok {
			return
		}
		f.session, f.first, f.tokens = sessionOf(tokens.Authorization), tokens.RefreshToken, tokens
	}
	for going(stop) && f.refresh() && f.usable(f.tokens.Authorization) && f.exchange() {
	}
}

func going(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-time.After(rand.N(40 * time.Millisecond)):
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

// spend presents a token at the refresh path, sometimes twice at once, and returns the answers.
func (f *family) spend(kind, spent string) (answers []instance.Tokens, ok bool) {
	answers, oks := make([]instance.Tokens, 1+rand.N(5)/4), [2]bool{}
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() {
			answer, good := f.want(kind, http.StatusOK, http.MethodGet, refresh+spent, "")
			if oks[i] = good; good {
				answers[i] = answer.Tokens()
			}
		})
	}
	asking.Wait()
	return answers, oks[0] && oks[len(answers)-1]
}

func (f *family) refresh() bool {
	answers, ok := f.spend(refreshing, f.tokens.RefreshToken)
	if !ok {
		return false
	}
	f.tokens = answers[0]
	f.generations++
	for _, answer := range answers {
		if answer.RefreshToken != f.tokens.RefreshToken || answer.RefreshToken == "" {
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
	answers, ok := f.spend(exchanging, f.tokens.Authorization)
	for _, answer := range answers {
		if ok && (answer.Authorization != answers[0].Authorization || answer.RefreshToken != "") {
			f.complain("one authorization token was exchanged for two")
		}
	}
	f.tokens.Authorization = answers[0].Authorization
	return ok
}

// check holds the session against the store: it lives, and was advanced exactly as often as its client was told.
func (f *family) check(t *testing.T, url string) {
	t.Helper()
	if f.session == "" {
		t.Error("a client never got to sign in")
		return
	}
	generation, err := postgrestest.Number(t.Context(), url, "SELECT generation FROM sessions WHERE uid = $1 AND ended_at IS NULL", f.session)
	if err != nil || generation != f.generations+1 {
		t.Errorf("session %s is of generation %d, %v; its client spent %d refresh tokens", f.session, generation, err, f.generations)
	}
	f.usable(f.tokens.Authorization)
}

// end shows that the last token works, that one that was spent before does not, and that using that ends the session.
func (f *family) end(t *testing.T) {
	t.Helper()
	if !f.refresh() {
		t.Errorf("the last token of session %s does not work", f.session)
	}
	for _, gone := range []string{f.first, f.tokens.RefreshToken} {
		f.want("a spent token", http.StatusUnauthorized, http.MethodGet, refresh+gone, "")
	}
}
