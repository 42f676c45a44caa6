package federation

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// logoutToken returns a logout token with claims that differ; nil removes one.
func (p *identityProvider) logoutToken(change map[string]any) secret.String {
	claims := map[string]any{"iss": other, "aud": clientID, "iat": p.at.Unix(), "exp": p.at.Add(2 * time.Minute).Unix(),
		"jti": rand.Text(), "sub": "ada-7", "sid": "session-1", "events": map[string]any{logoutEvent: map[string]any{}}}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return secret.String(p.sign(claims))
}

// Only a logout token of the provider, for this client and a session here, ends a session, and only once.
func TestBackChannelLogout(t *testing.T) {
	p := mustProvider(t, nil)
	p.set(func() { p.change = map[string]any{"sid": "session-1"} })
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	token := p.logoutToken
	typed := func(kind string) secret.String {
		former := p.sign
		p.sign = func(claims map[string]any) string {
			payload, err := json.Marshal(claims)
			if err != nil {
				t.Fatal(err)
			}
			return signHeaded(t, keys()[other], jose.RS256, "key-1", payload, map[jose.HeaderKey]any{jose.HeaderType: kind})
		}
		defer func() { p.sign = former }()
		return token(nil)
	}
	signed := token(nil).Reveal()
	for name, refused := range map[string]secret.String{
		"none": "", "not a token": "x", "another signature": secret.String(signed[:len(signed)-8] + "AAAAAAAA"),
		"another issuer": token(map[string]any{"iss": gitlab}), "another client": token(map[string]any{"aud": "b"}),
		"no event":                 token(map[string]any{"events": nil}),
		"another event":            token(map[string]any{"events": map[string]any{"x": map[string]any{}}}),
		"an event without members": token(map[string]any{"events": map[string]any{logoutEvent: true}}),
		"a nonce":                  token(map[string]any{"nonce": "n"}), "no time": token(map[string]any{"iat": nil}),
		"the future": token(map[string]any{"iat": p.at.Add(time.Hour).Unix()}), "no end": token(map[string]any{"exp": nil}),
		"the past": token(map[string]any{"exp": p.at.Add(-time.Hour).Unix()}), "no id": token(map[string]any{"jti": nil}),
		"no person":       token(map[string]any{"sub": nil, "sid": nil}),
		"an access token": typed("at+jwt"), "a proof": typed("dpop+jwt"),
	} {
		err := p.sso.BackChannelLogout(t.Context(), audit.Origin{Address: name}, p.org.UID, refused)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, kind := range []string{"JWT", "logout+jwt", "application/logout+jwt"} {
		named := typed(kind)
		if err := p.sso.BackChannelLogout(t.Context(), origin, p.org.UID, named); err != nil {
			t.Errorf("of the type %s: %v", kind, err)
		}
		if _, err := p.principal(t, done); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("of the type %s, the session goes on: %v", kind, err)
		}
		if done, err = p.login(t, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, of := range map[string]map[string]any{"another person": {"sub": "eve-1", "sid": nil},
		"another session":       {"sid": "session-2"},
		"another session alone": {"sub": nil, "sid": "session-2"}} {
		if err := p.sso.BackChannelLogout(t.Context(), audit.Origin{Address: name}, p.org.UID, token(of)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.principal(t, done); err != nil {
		t.Fatalf("a token that does not name it ended the session: %v", err)
	}
	if err := p.sso.BackChannelLogout(t.Context(), origin, "unknown", token(nil)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("of an unknown organization: %v", err)
	}
	for name, of := range map[string]map[string]any{"both": nil, "the person": {"sid": nil}, "the session": {"sub": nil}} {
		p.newRecords(t)
		named := token(of)
		if err := p.sso.BackChannelLogout(t.Context(), origin, p.org.UID, named); err != nil {
			t.Errorf("by %s: %v", name, err)
		}
		if _, err := p.principal(t, done); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("by %s, the session goes on: %v", name, err)
		}
		p.wantEnd(t)
		if done, err = p.login(t, nil); err != nil {
			t.Fatal(err)
		}
		if err := p.sso.BackChannelLogout(t.Context(), origin, p.org.UID, named); fault.KindOf(err) != fault.Invalid {
			t.Errorf("by %s, again: %v", name, err)
		}
		if _, err := p.principal(t, done); err != nil {
			t.Errorf("by %s, again, ended a later session: %v", name, err)
		}
	}
}
