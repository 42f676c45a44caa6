package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/secret"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func response(status int, body string, headers ...string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

const busy = `{"code":"Unavailable","message":"m","details":{},"ref":"ref-1"}`

func TestRetries(t *testing.T) {
	get := func(ctx context.Context, c *client.Client) error { _, err := c.Whoami(ctx); return err }
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.Projects.Create(ctx, api.ProjectRequest{})
		return err
	}
	validate := func(ctx context.Context, c *client.Client) error {
		_, err := c.Diagnose(ctx, api.OCIRegistryDefinition{})
		return err
	}
	checkMany := func(ctx context.Context, c *client.Client) error {
		_, err := c.Registries.Bulk(ctx, api.RegistryBulk{Action: "check"})
		return err
	}
	for _, tt := range []struct {
		name       string
		call       func(context.Context, *client.Client) error
		status     int
		retryAfter string
		failures   int // then the request succeeds
		attempts   int
		waited     time.Duration
		fails      bool
	}{
		{"busy", get, 503, "2", 1, 2, 2 * time.Second, false},
		{"limited", get, 429, "5", 2, 3, 10 * time.Second, false},
		{"for a short time", get, 503, "0", 1, 2, time.Millisecond, false},
		{"always", get, 503, "2", 9, 3, 4 * time.Second, true},
		{"too long", get, 429, "31", 9, 1, 0, true},
		{"too long together", get, 429, "20", 9, 2, 20 * time.Second, true},
		{"without a time", get, 503, "", 9, 1, 0, true},
		{"with a date", get, 503, "Fri, 31 Dec 1999 23:59:59 GMT", 9, 1, 0, true},
		{"another status", get, 500, "1", 9, 1, 0, true},
		{"a creation that may be done", create, 503, "1", 9, 1, 0, true},
		{"a creation that was refused", create, 429, "1", 1, 2, time.Second, false},
		{"a validation", validate, 503, "1", 1, 2, time.Second, false},
		{"a check of many registries", checkMany, 503, "1", 1, 2, time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts, began := 0, time.Now()
				var announced time.Duration
				onWait := func(until time.Time) { announced += time.Until(until) }
				c := newClient(t, "a.example",
					client.Config{APIKey: "k", OnWait: onWait, Transport: transport(func(r *http.Request) (*http.Response, error) {
						if body, _ := io.ReadAll(r.Body); r.Method == http.MethodPost && len(body) == 0 {
							t.Errorf("attempt %d has no body", attempts)
						}
						if attempts++; attempts > tt.failures {
							return response(200, `{}`), nil
						}
						return response(tt.status, busy, "Retry-After", tt.retryAfter), nil
					})})
				err := tt.call(t.Context(), c)
				if refused, ok := errors.AsType[*api.Error](err); ok != tt.fails || ok && refused.Status != tt.status {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(began); attempts != tt.attempts || waited != tt.waited || announced != waited {
					t.Errorf("%d attempts in %v (announced: %v), want %d in %v", attempts, waited, announced, tt.attempts, tt.waited)
				}
			})
		})
	}
}

// A request that the server accepts once is not repeated after a 503: the first attempt may have done it, and then a refusal of the second
// would replace the cause.
func TestOneTimeRequestsAreNotRepeated(t *testing.T) {
	for once, call := range map[string]func(context.Context, *client.Client) error{
		"POST /v1/auth/authenticate": func(ctx context.Context, c *client.Client) error { return c.Login(ctx) },
		"POST /v1/auth/mfa/verify":   func(ctx context.Context, c *client.Client) error { return c.Login(ctx) },
		"PATCH /v1/auth/password/t/activate": func(ctx context.Context, c *client.Client) error {
			return c.Users.AcceptInvitation(ctx, "t", "p")
		},
		"POST /v1/users/me/mfa/confirm": func(ctx context.Context, c *client.Client) error {
			_, err := c.MFA.Confirm(ctx, "1")
			return err
		},
		"POST /v1/users/me/mfa/recoveryCodes": func(ctx context.Context, c *client.Client) error {
			_, err := c.MFA.RenewCodes(ctx, "p", "1")
			return err
		},
		"POST /v1/users/me/mfa/remove": func(ctx context.Context, c *client.Client) error { return c.MFA.Remove(ctx, "p", "1") },
		"PATCH /v1/teams/ops":          func(ctx context.Context, c *client.Client) error { return c.Teams.RemoveUsers(ctx, "ops", "u1") },
		"POST /v1/registries/oci/bulk": func(ctx context.Context, c *client.Client) error {
			_, err := c.Registries.Bulk(ctx, api.RegistryBulk{Action: "delete"})
			return err
		},
	} {
		t.Run(once, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				c := newClient(t, "a.example", client.Config{Email: "a@b.example", Password: "p", NewPassword: "q",
					SecondFactor: func(context.Context, client.Challenge) (secret.String, error) { return "1", nil },
					Transport: transport(func(r *http.Request) (*http.Response, error) {
						if r.Method+" "+r.URL.Path == once {
							attempts++
							return response(503, busy, "Retry-After", "1"), nil
						}
						return response(200, `{"Authorization":"t","isMfa":true,"metadata":{"uid":"u1"},"spec":{"users":["u1"]}}`), nil
					})})
				err := call(t.Context(), c)
				if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Status != 503 || attempts != 1 {
					t.Errorf("%d attempts: %v", attempts, err)
				}
			})
		})
	}
}

// A wait ends with the context of the request, and its error says why there was a wait. There is none past the deadline.
func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		c := newClient(t, "a.example", client.Config{APIKey: "k", Transport: transport(func(*http.Request) (*http.Response, error) {
			return response(503, busy, "Retry-After", "5"), nil
		})})
		_, err := c.Whoami(ctx)
		if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Status != 503 || !errors.Is(err, context.Canceled) ||
			time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if _, err := c.Whoami(ctx); err == nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
