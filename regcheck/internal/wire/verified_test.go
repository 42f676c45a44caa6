package wire

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// With SkipVerify, a registry may lead to the provider of the credentials before these are obtained. The connection of that request, whose
// certificate was not verified, must not be used for the provider: a man in the middle would get its secret.
func TestReachVerifiedUsesNoFormerConnection(t *testing.T) {
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	u, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	origin, err := egress.ReadOrigin(u)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{u.Host}})
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{Guard: &egress.Guard{Policy: policy}, SkipVerify: true, Now: time.Now, Limits: Limits{Resolve: time.Minute,
		Connect: time.Minute, Handshake: time.Minute, Response: time.Minute, Header: 1 << 16, Body: 1 << 16}})
	defer w.Close()
	peer, err := w.Reach(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Exchange(t.Context(), peer, &Request{URL: u}); err != nil || requests != 1 {
		t.Fatalf("%d requests, %v", requests, err)
	}
	if peer, err = w.ReachVerified(t.Context(), origin); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Exchange(t.Context(), peer, &Request{URL: u}); err == nil || requests != 1 {
		t.Errorf("%d requests, %v", requests, err)
	}
}
