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
