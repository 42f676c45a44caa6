package replicas_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

const (
	families = 6
	keepers  = 3
)

// load has the clients of the replicas and the responses that each of them received.
type load struct {
	*account
	t        *testing.T
	url      string // of the database, to look into it
	families []*family
	keepers  []*keeper
	imports  *imports // nil without
	visitors visitors
	checks   checks
	clients  []interface{ run(stop <-chan struct{}) }
	stop     func() // returns when every client has the response to its last request
	running  sync.WaitGroup
}

// everything is each kind of request that the load makes all the time.
var everything = []string{loggingIn, refreshing, tokenUse, creating, replacing, reading, deleting, validating, loggingOut}

func newLoad(t *testing.T, f *fleet, url string) *load {
	t.Helper()
	l := &load{account: newAccount(), t: t, url: url}
	base := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	h := retryingClient{l.account, (&instance.Server{URL: f.server.URL}).ClientThrough(t, base)}
	credential := []string{"ApiKey", f.admin(t, "apikey", "create", "--org", instance.Org, "--email", instance.Email, "--name", t.Name())}
	for range families {
		one := &family{retryingClient: h}
		l.families, l.clients = append(l.families, one), append(l.clients, one)
	}
	for i := range keepers {
		one := &keeper{retryingClient: h, name: string(rune('a' + i)), credential: credential, live: map[string]string{}}
		l.keepers, l.clients = append(l.keepers, one), append(l.clients, one)
	}
	l.visitors = visitors{retryingClient: h}
	l.checks = checks{retryingClient: h, credential: credential, endpoint: realregistry.Distribution(t, realregistry.Options{}).Endpoint}
	l.clients = append(l.clients, &l.visitors, &l.checks)
	return l
}

// start lets all clients work, until stop or the end of the test.
func (l *load) start() {
	stopped := make(chan struct{})
	for _, client := range l.clients {
		l.running.Go(func() { client.run(stopped) })
	}
	l.stop = sync.OnceFunc(func() {
		close(stopped)
		l.running.Wait()
	})
	l.t.Cleanup(l.stop)
}

// check compares what the clients received with the store, and logs the counts.
func (l *load) check() {
	l.t.Helper()
	for _, f := range l.families {
		f.check(l.t, l.url)
	}
	checkRecords(l.t, l.url, l.keepers, l.imports.count())
	l.visitors.check(l.t, l.url)
	l.checks.check()
	l.report(l.t)
}

// end uses the remaining tokens, after the last check.
func (l *load) end() {
	l.t.Helper()
	for _, f := range l.families {
		f.end(l.t)
	}
	l.visitors.end()
	l.report(l.t)
}

// visitors log in, and most of them out again.
type visitors struct {
	retryingClient
	left []instance.Tokens // they logged out
	stay []instance.Tokens
}

func (v *visitors) run(stop <-chan struct{}) {
	for n := 0; going(stop); n++ {
		tokens, ok := v.login()
		if !ok {
			return
		}
		if n%4 == 3 {
			v.stay = append(v.stay, tokens)
			continue
		}
		response, again, ok := v.settle(loggingOut, http.MethodPost, "/v1/auth/logout", "", "Authorization", tokens.Authorization)
		if !ok {
			return
		}
		// After an asking without a response, the session may be over already.
		if response.Status != http.StatusNoContent && !(response.Status == http.StatusUnauthorized && again) {
			v.complain("%s: returned %d %s", loggingOut, response.Status, response.Body)
			return
		}
		if response.Status == http.StatusUnauthorized {
			v.acknowledged(doneBefore)
		}
		v.acknowledged(loggingOut)
		v.left = append(v.left, tokens)
		time.Sleep(5 * longestPause() / 2) // few: a login costs a password hash
	}
}

func (v *visitors) check(t *testing.T, url string) {
	t.Helper()
	const ended = "SELECT count(*) FROM sessions WHERE uid = $1 AND ended_at IS NOT NULL"
	for _, tokens := range v.left {
		v.refuse(http.MethodGet, refresh+tokens.RefreshToken, "")
		if n, err := postgrestest.Number(t.Context(), url, ended, sessionOf(tokens.Authorization)); err != nil || n != 1 {
			t.Errorf("session %s was logged out, and is not ended: %v", sessionOf(tokens.Authorization), err)
		}
	}
	for _, tokens := range lastOf(v.left, 9) { // three of each replica
		v.refuse(http.MethodGet, "/v1/users/me/sessions", "", "Authorization", tokens.Authorization)
	}
	for _, tokens := range v.stay {
		v.usable(tokens.Authorization)
	}
}

func (v *visitors) refuse(method, path, body string, headers ...string) {
	v.want("after a logout", http.StatusUnauthorized, method, path, body, headers...)
}

func lastOf[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// end refreshes what those got who only logged in.
func (v *visitors) end() {
	for _, tokens := range v.stay {
		v.want(refreshing, http.StatusOK, http.MethodGet, refresh+tokens.RefreshToken, "")
	}
}

// checks has definitions validated.
type checks struct {
	retryingClient
	credential []string
	endpoint   string
	audits     []string
}

func (c *checks) run(stop <-chan struct{}) {
	body := instance.JSON(map[string]any{"endpoint": c.endpoint, "auth": map[string]any{"type": "noAuth"}})
	for going(stop) {
		response, _, ok := c.settle(validating, http.MethodPost, registriesPath+"/validate", body, c.credential...)
		if !ok {
			return
		}
		if strings.Contains(response.Body, `"RegistryUnavailable"`) {
			continue // the registry of the test may not get to respond for 10 s on a busy machine
		}
		if response.Status != http.StatusNoContent {
			c.complain("%s: returned %d %s", validating, response.Status, response.Body)
			return
		}
		c.acknowledged(validating)
		c.audits = append(c.audits, response.Header.Get("AuditUid"))
	}
}

// check reads the record of each validation, which has its report.
func (c *checks) check() {
	for _, uid := range c.audits {
		response, ok := c.want("a record", http.StatusOK, http.MethodGet, "/v1/audits/"+uid, "", c.credential...)
		if !ok {
			continue
		}
		var record struct {
			Spec struct {
				Outcome string
				Report  *struct{ Valid bool }
			}
		}
		if response.Into(&record); record.Spec.Outcome != "valid" || record.Spec.Report == nil || !record.Spec.Report.Valid {
			c.complain("the record of validation %s is %.500s", uid, response.Body)
		}
	}
	c.audits = nil // once each
}
