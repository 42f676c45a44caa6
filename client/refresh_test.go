package client_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/secret"
)

const tokenLifetime = 15 * time.Minute

// issuer is a server that issues tokens. A token is valid until it expires or revoke is called.
type issuer struct {
	t       *testing.T
	mu      sync.Mutex
	ahead   time.Duration   // of its clock
	issued  int             // number of tokens
	valid   string          // the token
	first   string          // requests with this token wait for each other in old
	refresh string          // its refresh token
	used    map[string]bool // refresh tokens
	calls   []string
	during  func() // called while a refresh runs
	old     *sync.WaitGroup
}

func (i *issuer) issue() *http.Response {
	i.issued++
	now := time.Now().Add(i.ahead).Unix()
	payload := fmt.Sprintf(`{"iat":%d,"exp":%d,"n":%d}`, now, now+int64(tokenLifetime/time.Second), i.issued)
	i.valid = "h." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".s"
	i.refresh = fmt.Sprintf("refresh-%d", i.issued)
	return response(200, fmt.Sprintf(`{"Authorization":%q,"refreshToken":%q}`, i.valid, i.refresh))
}

func refused(code string) *http.Response {
	return response(401, fmt.Sprintf(`{"code":%q,"message":"m","details":{},"ref":"ref-1"}`, code))
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.old != nil && r.Header.Get("Authorization") == i.first {
		i.old.Done()
		i.old.Wait()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	path := r.URL.Path
	if sent, ok := strings.CutPrefix(path, "/v1/auth/refresh/"); ok {
		i.calls = append(i.calls, "refresh")
		if i.during != nil {
			i.during()
		}
		if i.used[sent] {
			i.t.Errorf("refresh token %s was sent twice", sent)
		}
		i.used[sent] = true
		if sent != i.refresh {
			return refused("InvalidRefreshToken"), nil
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return i.issue(), nil
	}
	if path == api.PathAuthenticate {
		i.calls = append(i.calls, "login")
		return i.issue(), nil
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	i.calls = append(i.calls, strings.TrimPrefix(path, "/v1/users/"))
	if r.Header.Get("Authorization") != i.valid || i.valid == "" {
		return refused("UnAuthorizedAccess"), nil
	}
	if path == api.PathLogout {
		i.valid = ""
		return response(204, ""), nil
	}
	return response(200, `{"userUid":"u1"}`), nil
}

func newIssuer(t *testing.T) *issuer { return &issuer{t: t, used: map[string]bool{}} }

func (i *issuer) want(calls string) {
	i.t.Helper()
	if got := strings.Join(i.calls, " "); got != calls {
		i.t.Errorf("the server got %q, want %q", got, calls)
	}
	i.calls = nil
}

// tokens returns the current pair as a configuration.
func (i *issuer) tokens() client.Config {
	i.issue()
	return client.Config{Token: secret.String(i.valid), RefreshToken: secret.String(i.refresh), Transport: i}
}

func (i *issuer) login() client.Config {
	return client.Config{Email: "a@b.example", Org: "o", Password: "p", Transport: i}
}

func whoami(t *testing.T, c *client.Client) {
	t.Helper()
	if info, err := c.Whoami(t.Context()); err != nil || info.UserUID != "u1" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestLoginAndRefreshBeforeExpiry(t *testing.T) {
	for _, ahead := range []time.Duration{0, -time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			i.ahead = ahead
			c := newClient(t, "a.example", i.login())
			whoami(t, c)
			whoami(t, c)
			i.want("login info info")
			time.Sleep(tokenLifetime - 20*time.Second)
			whoami(t, c)
			i.want("refresh info")
			time.Sleep(2 * tokenLifetime)
			whoami(t, c)
			i.want("refresh info")
		})
	}
}

func TestStoredTokensAreRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		config := i.tokens()
		var stored []string
		config.OnRefresh = func(token, refresh secret.String) {
			if token.Reveal() != i.valid {
				t.Errorf("another token")
			}
			stored = append(stored, refresh.Reveal())
		}
		time.Sleep(tokenLifetime)
		c := newClient(t, "a.example", config)
		whoami(t, c)
		i.want("refresh info")
		i.valid = "revoked"
		if _, err := c.Whoami(t.Context()); err != nil {
			t.Error(err)
		}
		i.want("info refresh info")
		if got := strings.Join(stored, " "); got != "refresh-2 refresh-3" {
			t.Errorf("stored %q", got)
		}
	})
}

// Requests that are refused at the same time share one refresh, and see its result.
func TestConcurrentRequestsShareRefresh(t *testing.T) {
	const requests = 50
	i := newIssuer(t)
	config := i.tokens()
	refreshes := 0
	config.OnRefresh = func(_, _ secret.String) { refreshes++ }
	i.first, i.old = i.valid, new(sync.WaitGroup)
	i.old.Add(requests)
	i.valid = "revoked"
	c := newClient(t, "a.example", config)
	var all sync.WaitGroup
	for range requests {
		all.Go(func() { whoami(t, c) })
	}
	all.Wait()
	if got := strings.Count(strings.Join(i.calls, " "), "refresh"); got != 1 || refreshes != 1 {
		t.Errorf("%d refreshes, stored %d times", got, refreshes)
	}
}

// Tokens that another process stored are used instead of a refresh; the lock is held until new ones are stored.
func TestTokensOfOtherProcesses(t *testing.T) {
	i := newIssuer(t)
	old := i.tokens()
	i.issue() // by another process
	locked, stored := 0, 0
	config := old
	config.LockTokens = func(context.Context) (token, refresh secret.String, unlock func(), err error) {
		locked++
		return secret.String(i.valid), secret.String(i.refresh), func() { locked-- }, nil
	}
	config.OnRefresh = func(_, _ secret.String) { stored += locked }
	c := newClient(t, "a.example", config)
	whoami(t, c)
	i.want("info info")
	i.valid = "revoked" // the stored pair is the client's own
	whoami(t, c)
	if locked != 0 || stored != 1 || !i.used["refresh-2"] {
		t.Errorf("locked %d, stored %d, used %v", locked, stored, i.used)
	}

	config = old
	config.LockTokens = func(context.Context) (secret.String, secret.String, func(), error) {
		return "", "", nil, errors.New("no lock")
	}
	if _, err := newClient(t, "a.example", config).Whoami(t.Context()); err == nil || err.Error() != "no lock" || i.used["refresh-1"] {
		t.Errorf("without the lock: %v", err)
	}
}

// When a request is canceled during its refresh, the new pair must not be lost: the old one is consumed.
func TestCanceledRequestStoresItsRefresh(t *testing.T) {
	i := newIssuer(t)
	config := i.tokens()
	stored := ""
	config.OnRefresh = func(_, refresh secret.String) { stored = refresh.Reveal() }
	i.valid = "revoked"
	ctx, cancel := context.WithCancel(t.Context())
	i.during = cancel
	c := newClient(t, "a.example", config)
	if _, err := c.Whoami(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if stored != "refresh-2" {
		t.Errorf("stored %q", stored)
	}
	i.during = nil
	whoami(t, c)
}

// A caller that gives up does not wait for a server that does not respond. The refresh goes on, and its pair is used later.
func TestCanceledRequestDoesNotWaitForItsRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		config := i.tokens()
		i.valid = "revoked"
		i.during = func() { time.Sleep(20 * time.Second) }
		c := newClient(t, "a.example", config)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		started := time.Now()
		if _, err := c.Whoami(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(started); took > 6*time.Second {
			t.Errorf("the caller waited %v, 5s of them before it gave up", took)
		}
		whoami(t, c)
		i.want("info refresh info")
		if took := time.Since(started); took != 20*time.Second {
			t.Errorf("the refresh took %v", took)
		}
	})
}

func TestRefusedRefresh(t *testing.T) {
	i := newIssuer(t)
	config := i.tokens()
	i.valid, i.refresh = "revoked", "revoked"
	c := newClient(t, "a.example", config)
	for _, want := range []string{"InvalidRefreshToken", "UnAuthorizedAccess"} {
		_, err := c.Whoami(t.Context())
		if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Code != want || refused.Status != 401 {
			t.Errorf("error %v, want %s", err, want)
		}
	}

	i = newIssuer(t)
	config = i.tokens()
	config.Email, config.Org, config.Password = "a@b.example", "o", "p"
	i.valid, i.refresh = "revoked", "revoked"
	whoami(t, newClient(t, "a.example", config))
	i.want("info refresh login info")
}

func TestKeyAndLogout(t *testing.T) {
	i := newIssuer(t)
	if _, err := newClient(t, "a.example", client.Config{APIKey: "k", Transport: i}).Whoami(t.Context()); err == nil {
		t.Error("no error")
	}
	i.want("info") // a refused key is not sent again

	config := i.login()
	c := newClient(t, "a.example", config)
	if err := c.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	i.want("")
	if err := c.Login(t.Context()); err != nil {
		t.Error(err)
	}
	i.want("login")
	if err := c.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	i.want("/v1/auth/logout")
	whoami(t, c)
	i.want("login info")

	// An expired token is refreshed, so that the session ends.
	config = i.tokens()
	refresh := i.refresh
	i.valid = "another"
	if err := newClient(t, "a.example", config).Logout(t.Context()); err != nil || !i.used[refresh] || i.valid != "" {
		t.Errorf("logout: %v; the session goes on", err)
	}
	i.calls = nil

	config = i.tokens()
	i.refresh, i.valid = "revoked", "revoked"
	if err := newClient(t, "a.example", config).Logout(t.Context()); err != nil {
		t.Errorf("logout of an ended session: %v", err)
	}
	i.want("/v1/auth/logout refresh")
}
