package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/client"
)

// A list has only some of the sessions, one of them ends before its turn, and the response to the end of the own one is lost.
func TestRevokeAllEndsMoreSessionsThanAreListed(t *testing.T) {
	live, ended := []string{"s4", "s3", "s2", "s1", "own"}, []string{}
	c := newClient(t, "a.example", client.Config{Token: "t", Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			var items []string
			for _, uid := range live[:min(2, len(live))] {
				items = append(items, fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"isCurrent":%t}}`, uid, uid == "own"))
			}
			return response(200, `{"items":[`+strings.Join(items, ",")+`]}`), nil
		}
		uid := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		ended = append(ended, uid)
		live = slices.DeleteFunc(live, func(one string) bool { return one == uid })
		switch uid {
		case "s3":
			return response(404, `{"code":"ResourceNotFound","message":"m","details":{},"ref":"ref-1"}`), nil
		case "own":
			return refused("UnAuthorizedAccess"), nil
		}
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	})})
	if err := c.Sessions.RevokeAll(t.Context()); err != nil || strings.Join(ended, " ") != "s4 s3 s2 s1 own" {
		t.Errorf("ended %v: %v", ended, err)
	}
}

// The response to the end of the own session is lost. A repeated request must not log in again, which would begin another session.
func TestRevokeAllDoesNotLogInAgain(t *testing.T) {
	logins, live := 0, false
	c := newClient(t, "a.example", client.Config{Email: "a@b.example", Password: "p",
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodPost:
				logins, live = logins+1, true
				return response(200, `{"Authorization":"t","refreshToken":"r"}`), nil
			case !live:
				return refused("UnAuthorizedAccess"), nil
			case r.Method == http.MethodGet:
				return response(200, `{"items":[{"metadata":{"uid":"own"},"status":{"isCurrent":true}}]}`), nil
			case !strings.HasSuffix(r.URL.Path, "/own"):
				t.Errorf("%s %s", r.Method, r.URL)
			}
			live = false
			return response(503, busy, "Retry-After", "0"), nil
		})})
	if err := c.Sessions.RevokeAll(t.Context()); err != nil || logins != 1 || live {
		t.Errorf("%d logins, live: %t: %v", logins, live, err)
	}
}
