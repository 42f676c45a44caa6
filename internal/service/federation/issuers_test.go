package federation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/trustrule"
)

// fresh returns another token of GitHub.
func fresh(t *testing.T, w *world, key, kid, id string) string {
	t.Helper()
	claims := githubClaims()
	now := w.now()
	claims["jti"], claims["iat"], claims["nbf"], claims["exp"] = id, now.Unix(), now.Unix(), now.Add(5*time.Minute).Unix()
	return signWith(t, keys()[key], jose.RS256, kid, claims)
}

func (w *world) fetched(issuer string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fetches[issuer]
}

// set changes what the issuers serve.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// TestKeysAreRotated serves a new key: it is accepted at once, and the withdrawn one no longer than keys are used without a question.
func TestKeysAreRotated(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	accepts := func(key, kid, id string, want bool) {
		t.Helper()
		if _, err := w.exchange(t, fresh(t, w, key, kid, id)); (err == nil) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
	accepts(github, "key-1", "first", true)
	accepts(github, "key-1", "second", true)
	if n := w.fetched(github); n != 1 {
		t.Errorf("the keys were read %d times", n)
	}
	w.set(func() { w.served[github] = []jose.JSONWebKey{public("new", "key-2")} })
	w.move(fetchPause)
	accepts("new", "key-2", "third", true)
	accepts(github, "key-1", "withdrawn", false)
	if n := w.fetched(github); n != 2 {
		t.Errorf("the keys were read %d times", n)
	}
	w.set(func() { w.served[github] = []jose.JSONWebKey{public(github, "key-1")} })
	w.move(keysFresh)
	accepts("new", "key-2", "withdrawn after an hour", false)
}

// TestUnknownKeysDoNotFlood sends many tokens with keys that no issuer has.
func TestUnknownKeysDoNotFlood(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	for i := range 50 {
		if _, err := w.exchange(t, fresh(t, w, "new", "key-"+strings.Repeat("x", i+1), "id")); fault.KindOf(err) != fault.Unauthenticated {
			t.Fatal(err)
		}
	}
	if n := w.fetched(github); n != 1 {
		t.Errorf("the keys were read %d times", n)
	}
}

// TestIssuerDown has an issuer that never responded, and one that responded before.
func TestIssuerDown(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	down := func(response http.ResponseWriter, _ *http.Request) bool {
		response.WriteHeader(http.StatusBadGateway)
		return true
	}
	w.set(func() { w.serve = down })
	if _, err := w.exchange(t, fresh(t, w, github, "key-1", "never")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without keys: %v", err)
	}
	w.set(func() { w.serve = nil })
	if _, err := w.exchange(t, fresh(t, w, github, "key-1", "never")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("before the next attempt: %v", err)
	}
	w.move(fetchPause)
	if _, err := w.exchange(t, fresh(t, w, github, "key-1", "up")); err != nil {
		t.Errorf("the token that was refused before: %v", err)
	}
	w.set(func() { w.serve = down })
	w.move(keysUsable - time.Minute)
	if _, err := w.exchange(t, fresh(t, w, github, "key-1", "down")); err != nil {
		t.Errorf("with keys of yesterday: %v", err)
	}
	w.move(time.Minute)
	if _, err := w.exchange(t, fresh(t, w, github, "key-1", "too long")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("with older keys: %v", err)
	}
	if _, err := w.exchange(t, sign(t, kubernetesClaims())); fault.KindOf(err) != fault.Unauthenticated { // expired by now
		t.Errorf("an expired token: %v", err)
	}
}

// TestHostileIssuers has one wrong response per row. Each is an issuer whose keys are not known.
func TestHostileIssuers(t *testing.T) {
	text := func(body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	keysAre := func(body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/jwks") && text(body)(w, r)
		}
	}
	for name, serve := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"another issuer":     text(`{"issuer":"` + gitlab + `","jwks_uri":"` + github + `/jwks"}`),
		"no keys":            text(`{"issuer":"` + github + `"}`),
		"keys without TLS":   text(`{"issuer":"` + github + `","jwks_uri":"http://token.actions.githubusercontent.com/jwks"}`),
		"keys in a file":     text(`{"issuer":"` + github + `","jwks_uri":"file:///etc/passwd"}`),
		"HTML":               text(`<html>`),
		"long configuration": text(`{"issuer":"` + github + `","x":"` + strings.Repeat("x", maxDocument) + `"}`),
		"long keys":          keysAre(`{"keys":[],"x":"` + strings.Repeat("x", maxDocument) + `"}`),
		"no key":             keysAre(`{"keys":[]}`),
		"a short key":        keysAre(`{"keys":[{"kty":"RSA","kid":"key-1","n":"` + strings.Repeat("A", 86) + `","e":"AQAB"}]}`),
		"a symmetric key":    keysAre(`{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}`),
		"a key to encrypt": keysAre(`{"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc","kid":"key-1",` +
			`"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`),
		"too many keys": keysAre(manyKeys(t, maxKeys+1)),
		"keys of a 404": notFound,
		"a redirect":    moved,
		"a redirect for keys": func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/jwks") && moved(w, r)
		},
	} {
		w := mustWorld(t)
		w.trustAll(t)
		w.set(func() {
			w.served[gitlab] = w.served[github] // else a redirect there would fail without a rule
			w.serve = func(response http.ResponseWriter, r *http.Request) bool {
				return r.Host == hostOf(github) && serve(response, r)
			}
		})
		if _, err := w.exchange(t, sign(t, githubClaims())); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, most := mustWorld(t), keysAre(manyKeys(t, maxKeys))
	w.trustAll(t)
	w.set(func() {
		w.serve = func(response http.ResponseWriter, r *http.Request) bool {
			return r.Host == hostOf(github) && most(response, r)
		}
	})
	if _, err := w.exchange(t, sign(t, githubClaims())); err != nil {
		t.Errorf("%d keys: %v", maxKeys, err)
	}
}

// manyKeys is a set of so many keys.
func manyKeys(t *testing.T, n int) string {
	t.Helper()
	set := jose.JSONWebKeySet{}
	for i := range n {
		set.Keys = append(set.Keys, public(github, fmt.Sprintf("key-%d", i+1)))
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func notFound(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/jwks") {
		w.WriteHeader(http.StatusNotFound)
		write(w, map[string]any{"keys": []jose.JSONWebKey{public(github, "key-1")}})
		return true
	}
	return false
}

func moved(w http.ResponseWriter, r *http.Request) bool {
	http.Redirect(w, r, gitlab+r.URL.Path, http.StatusFound)
	return true
}

// TestIssuersAreReachedByThePolicy has an issuer with a public address whose keys are in the private network, and a denied one.
func TestIssuersAreReachedByThePolicy(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	w.hosts[hostOf(github)] = netip.MustParseAddr("9.9.9.9") // not dialed: the dialer of the test has one target
	w.set(func() {
		w.served[gitlab] = w.served[github]
		w.serve = func(response http.ResponseWriter, r *http.Request) bool {
			if r.Host == hostOf(github) {
				write(response, map[string]any{"issuer": github, "jwks_uri": gitlab + "/jwks"})
			}
			return r.Host == hostOf(github)
		}
	})
	if _, err := w.exchange(t, sign(t, githubClaims())); fault.KindOf(err) != fault.Unavailable || w.fetched(gitlab) != 0 {
		t.Errorf("keys in a narrower zone: %v, read %d times", err, w.fetched(gitlab))
	}
	w = mustWorld(t)
	w.trustAll(t)
	w.hosts[hostOf(github)] = netip.MustParseAddr("169.254.169.254")
	if _, err := w.exchange(t, sign(t, githubClaims())); fault.KindOf(err) != fault.Unavailable || w.dialed != 0 {
		t.Errorf("a denied address: %v, dialed %d times", err, w.dialed)
	}
}

// TestKeysInNarrowerZones has an issuer in the private network that refers to keys on this host, and to metadata services. The policy
// allows both, and good keys are there, so that only the rule about zones refuses them.
func TestKeysInNarrowerZones(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "169.254.169.254"} {
		w := mustWorld(t)
		w.trustAll(t)
		policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{host}})
		if err != nil {
			t.Fatal(err)
		}
		w.issuers.dialer.Egress = policy
		w.set(func() {
			w.served["https://"+host] = w.served[github]
			w.serve = func(response http.ResponseWriter, r *http.Request) bool {
				if r.Host == hostOf(github) {
					write(response, map[string]any{"issuer": github, "jwks_uri": "https://" + host + "/jwks"})
				}
				return r.Host == hostOf(github)
			}
		})
		_, err = w.exchange(t, sign(t, githubClaims()))
		if read := w.fetched("https://" + host); fault.KindOf(err) != fault.Unavailable || read != 0 {
			t.Errorf("keys at %s: %v, read %d times", host, err, read)
		}
	}
}

// TestStoredKeysNeedNoIssuer verifies with the keys of a rule.
func TestStoredKeysNeedNoIssuer(t *testing.T) {
	w := mustWorld(t)
	text, err := public(github, "key-1").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.trust(t, directory.NewTrust{Name: "cluster", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app"},
		Keys: `{"keys":[` + string(text) + `]}`})
	if _, err := w.exchange(t, sign(t, githubClaims())); err != nil || w.dialed != 0 {
		t.Errorf("%v, dialed %d times", err, w.dialed)
	}
	if _, err := w.exchange(t, fresh(t, w, "new", "key-1", "forged")); reasonOf(err) != ReasonNotTrusted {
		t.Errorf("forged: %v", err)
	}
}

// TestCAOfARuleIsTrustedForItAlone has an issuer whose certificate only the rule trusts.
func TestCAOfARuleIsTrustedForItAlone(t *testing.T) {
	w := mustWorld(t)
	w.trustAll(t)
	w.issuers.dialer.Roots = nil // those of the system
	if _, err := w.exchange(t, sign(t, githubClaims())); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without the certificate: %v", err)
	}
	w.trust(t, directory.NewTrust{Name: "own", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app"}, CA: w.ca})
	if _, err := w.exchange(t, sign(t, githubClaims())); err != nil {
		t.Errorf("with the certificate: %v", err)
	}
}
