package server

import (
	"io"
	"net/http/httptest"
	"testing"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestNetworkIsNoLocalAdministrator sends every request that needs credentials without any, with what a request in process has but the
// principal in its context.
func TestNetworkIsNoLocalAdministrator(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := edge(io.Discard, "127.0.0.0/8")
	if s.Auth, err = auth.New(t.Context(), db, auth.Config{}); err != nil {
		t.Fatal(err)
	}
	handler, tried := s.Handler(), 0
	for _, route := range s.routes() {
		if route.auth == byAnyone {
			continue
		}
		for _, remote := range []string{localAddress, "127.0.0.1:1"} {
			r := httptest.NewRequestWithContext(t.Context(), route.method, route.path, nil)
			r.RemoteAddr = remote
			r.Header.Set("X-Forwarded-For", localAddress)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if tried++; w.Code != 401 {
				t.Errorf("%s %s from %s: %d", route.method, route.path, remote, w.Code)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d requests", tried)
	}
}
