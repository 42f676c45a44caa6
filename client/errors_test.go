package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
)

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		want   string // a part of the text
		status int    // of an *api.Error; 0 for another error
	}{
		{"of this API", func(w http.ResponseWriter, _ *http.Request) {
			respond(w, 404, `{"code":"ResourceNotFound","message":"Not found.","details":{},"ref":"ref-1"}`)
		}, "ResourceNotFound: Not found. (ref-1)", 404},
		{"of a field", func(w http.ResponseWriter, _ *http.Request) {
			respond(w, 400, `{"code":"InvalidRequest","message":"Wrong.","details":{"fields":[{"field":"name","problem":"is `+
				`required"}]},"ref":"ref-1"}`)
		}, "InvalidRequest: Wrong. name is required. (ref-1)", 400},
		{"of a proxy", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
		}, "GET %s/v1/users/{uid}: the response is 502 Bad Gateway with text/html, which is not of this API", 0},
		{"JSON of another API", func(w http.ResponseWriter, _ *http.Request) { respond(w, 404, `{"error":"no"}`) },
			"404 Not Found with application/json, which is not of this API", 0},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Welcome") },
			"200 OK with text/html, which is not", 0},
		{"half an object", func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, `{"metadata":`) },
			"200 OK with application/json, which is not", 0},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/"+r.URL.Path, http.StatusFound)
		}, "a redirect to https://other.example; use", 0},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			piece := strings.Repeat(" ", 1<<20)
			for range 17 {
				_, _ = io.WriteString(w, piece)
			}
		}, "larger than 16 MiB", 0},
		{"many values", func(w http.ResponseWriter, _ *http.Request) {
			respond(w, 200, `{"items":[`+strings.Repeat("0,", 200_000)+`0]}`)
		}, "more than 200000 values", 0},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "EOF", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handle)
			_, err := newClient(t, server.URL, client.Config{APIKey: "k"}).Users.Get(t.Context(), "marked-argument")
			want := strings.ReplaceAll(tt.want, "%s", server.URL)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "marked-argument") {
				t.Fatalf("error %v, want %q", err, want)
			}
			if refused, ok := errors.AsType[*api.Error](err); ok != (tt.status != 0) || ok && refused.Status != tt.status {
				t.Errorf("error %#v", err)
			}
		})
	}
}

// A page of a proxy on the way is not taken for the success of a request without a response body.
func TestPageIsNotSuccess(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Log in to the hotel") })
	if err := newClient(t, server.URL, client.Config{APIKey: "k"}).Users.Delete(t.Context(), "u1"); err == nil {
		t.Error("no error")
	}
}

// No error, and no printed client, contains a credential: whatever the server repeats of the path with the refresh token.
func TestSecretsAreNotShown(t *testing.T) {
	login := client.Config{Email: "a@b.example", Org: "o", Password: "password-marked", Token: "token-marked",
		RefreshToken: "refresh-marked"}
	servers := []string{"http://127.0.0.1:1"} // nothing listens
	for _, echo := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "Cannot "+r.Method+" "+r.URL.Path)
		},
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
		},
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[malformed"+r.URL.Path)
			w.WriteHeader(http.StatusFound)
		},
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, `{}`) },
	} {
		servers = append(servers, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.Header.Get("ApiKey") != "" { // so that the client refreshes
				respond(w, http.StatusUnauthorized, `{"code":"UnAuthorizedAccess","message":"m","details":{},"ref":"ref-1"}`)
				return
			}
			echo(w, r)
		}).URL)
	}
	for _, server := range servers {
		for _, config := range []client.Config{
			login, {APIKey: "key-marked"}, {APIKey: "key-marked\n"}, {Token: "token-marked\n"},
			{Email: "a@b.example", Org: "o", Password: "password-marked\xff"},
		} {
			c := newClient(t, server, config)
			_, err := c.Whoami(t.Context())
			if err == nil {
				t.Fatalf("%s: no error", server)
			}
			text := fmt.Sprintf("%v %+v %#v %v %+v %#v %+v", err, err, errors.Unwrap(err), c, c, c, config)
			if strings.Contains(text, "-marked") {
				t.Errorf("%s: a secret is shown: %s", server, text)
			}
		}
	}
}

func TestCanceled(t *testing.T) {
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient(t, server.URL, client.Config{APIKey: "k"})
	go cancel()
	if _, err := c.Whoami(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// bounded is a transport that requires a deadline of the whole attempt.
type bounded struct{ t *testing.T }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := r.Context().Deadline(); !ok {
		b.t.Error("a server that sends a byte now and then would never end the request")
	}
	return nil, io.ErrUnexpectedEOF
}

func TestSlowResponsesEnd(t *testing.T) {
	c := newClient(t, "http://localhost", client.Config{APIKey: "k", Transport: bounded{t}})
	if _, err := c.Whoami(context.Background()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}
