package auth

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

var encode = base64.RawURLEncoding.EncodeToString

// forge returns a token with any header and payload, signed with the service's key, so that it is refused for its form
// and not for its signature.
func (w *world) forge(t *testing.T, header, payload string) secret.String {
	t.Helper()
	key := mustPrivateKey(t, w)
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	return secret.String(signed + "." + encode(ed25519.Sign(key, []byte(signed))))
}

func TestTokenAttacks(t *testing.T) {
	w := mustWorld(t, nil)
	good := w.mustLogin(t)
	session := w.sessionOf(t, good)
	kid, now := w.keySet().signing.kid, start.Unix()
	header := fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":"at+jwt"}`, kid)
	payload := func(change func(map[string]any)) string {
		members := map[string]any{"iss": defaultIssuer, "aud": tokenAudience, "sub": session.UserUID,
			"org": session.OrgUID, "sid": session.UID,
			"jti": "j", "iat": now, "nbf": now, "exp": now + 900}
		if change != nil {
			change(members)
		}
		return mustJSON(t, members)
	}
	set := func(name string, value any) string { return payload(func(m map[string]any) { m[name] = value }) }
	if err := w.authenticate(t, w.forge(t, header, payload(nil))); err != nil {
		t.Fatalf("the attacks below would fail for another reason: %v", err)
	}
	parts := strings.Split(good.Authorization.Reveal(), ".")
	_, strange, _ := ed25519.GenerateKey(rand.Reader)

	attacks := map[string]secret.String{
		"empty parts":      "..",
		"no dots":          secret.String(strings.Repeat("a", 100)),
		"five parts (JWE)": "a.b.c.d.e",
		"very long":        secret.String(strings.Repeat("a", 5000) + ".a.a"),
		"millions of dots": secret.String(strings.Repeat(".", 1<<20)),
		"json serialization": secret.String(`{"payload":"` + parts[1] + `","protected":"` + parts[0] +
			`","signature":"` + parts[2] + `"}`),
		"two tokens":            good.Authorization + "," + good.Authorization,
		"in quotes":             `"` + good.Authorization + `"`,
		"newline inside":        secret.String(parts[0] + "." + parts[1] + "\n." + parts[2]),
		"padding":               good.Authorization + "=",
		"unused bits changed":   secret.String(parts[0] + "." + parts[1] + "." + changeUnusedBits(parts[2])),
		"signature cut":         secret.String(parts[0] + "." + parts[1] + "." + parts[2][:80]),
		"signature left out":    secret.String(parts[0] + "." + parts[1] + "."),
		"another payload":       secret.String(parts[0] + "." + encode([]byte(payload(nil))) + "." + parts[2]),
		"key of another issuer": secret.String(signWith(strange, header, payload(nil))),
		"refresh token":         good.Refresh,
		"header not JSON":       w.forge(t, `x`, payload(nil)),
		"header an array":       w.forge(t, `[]`, payload(nil)),
		"payload not JSON":      w.forge(t, header, `x`),
		"payload an array":      w.forge(t, header, `[]`),
		"payload not UTF-8":     w.forge(t, header, strings.Replace(payload(nil), `"j"`, "\"\xff\"", 1)),
		"trailing data":         w.forge(t, header, payload(nil)+"{}"),
		"alg none": secret.String(encode([]byte(`{"alg":"none","kid":"`+kid+`","typ":"at+jwt"}`)) + "." +
			encode([]byte(payload(nil))) + "."),
		"alg none, signed": w.forge(t, `{"alg":"none","kid":"`+kid+`","typ":"at+jwt"}`, payload(nil)),
		"alg HS256, public key": secret.String(hs256(w.keySet().signing.public,
			`{"alg":"HS256","kid":"`+kid+`","typ":"at+jwt"}`, payload(nil))),
		"alg in lower case":    w.forge(t, `{"alg":"eddsa","kid":"`+kid+`","typ":"at+jwt"}`, payload(nil)),
		"alg missing":          w.forge(t, `{"kid":"`+kid+`","typ":"at+jwt"}`, payload(nil)),
		"typ JWT":              w.forge(t, `{"alg":"EdDSA","kid":"`+kid+`","typ":"JWT"}`, payload(nil)),
		"typ missing":          w.forge(t, `{"alg":"EdDSA","kid":"`+kid+`"}`, payload(nil)),
		"kid unknown":          w.forge(t, `{"alg":"EdDSA","kid":"x","typ":"at+jwt"}`, payload(nil)),
		"kid a path":           w.forge(t, `{"alg":"EdDSA","kid":"../../dev/null","typ":"at+jwt"}`, payload(nil)),
		"kid SQL":              w.forge(t, `{"alg":"EdDSA","kid":"' OR 1=1 --","typ":"at+jwt"}`, payload(nil)),
		"kid a number":         w.forge(t, `{"alg":"EdDSA","kid":1,"typ":"at+jwt"}`, payload(nil)),
		"kid missing":          w.forge(t, `{"alg":"EdDSA","typ":"at+jwt"}`, payload(nil)),
		"member twice, header": w.forge(t, `{"alg":"none","alg":"EdDSA","kid":"`+kid+`","typ":"at+jwt"}`, payload(nil)),
		"member twice, claims": w.forge(t, header, strings.Replace(payload(nil), `{`, `{"sub":"admin",`, 1)),
		"Alg and alg":          w.forge(t, strings.Replace(header, `{`, `{"Alg":"none",`, 1), payload(nil)),
		"another issuer":       w.forge(t, header, set("iss", "https://evil.example")),
		"another audience":     w.forge(t, header, set("aud", "registry.example")),
		"audience a list":      w.forge(t, header, set("aud", []string{tokenAudience})),
		"another user":         w.forge(t, header, set("sub", "00000000-0000-0000-0000-000000000000")),
		"another organization": w.forge(t, header, set("org", "00000000-0000-0000-0000-000000000000")),
		"issued in the future": w.forge(t, header, set("iat", now+31)),
		"not yet":              w.forge(t, header, set("nbf", now+31)),
		"exp before iat":       w.forge(t, header, set("exp", now-1)),
		"exp as iat":           w.forge(t, header, set("exp", now)),
		"exp a text":           w.forge(t, header, set("exp", "9999999999")),
		"exp a fraction":       w.forge(t, header, set("exp", 1e10+0.5)),
		"exp huge":             w.forge(t, header, strings.Replace(payload(nil), fmt.Sprint(now+900), "1e400", 1)),
		"exp negative":         w.forge(t, header, set("exp", -1)),
	}
	for _, member := range []string{"jku", "jwk", "x5u", "x5c", "x5t", "crit", "b64", "zip", "cty", "enc", "p2c", "nonce"} {
		attacks["header "+member] = w.forge(t, strings.Replace(header, `{`, `{"`+member+`":"x",`, 1), payload(nil))
	}
	for _, required := range []string{"iss", "aud", "sub", "org", "sid", "jti", "iat", "nbf", "exp"} {
		attacks["without "+required] = w.forge(t, header, payload(func(m map[string]any) { delete(m, required) }))
		attacks[required+" null"] = w.forge(t, header, set(required, nil))
	}
	for name, token := range attacks {
		t.Run(name, func(t *testing.T) {
			wantFault(t, w.authenticate(t, token), fault.CodeUnauthorizedAccess, ReasonMalformed)
			_, err := w.Refresh(t.Context(), origin, token)
			if strings.HasPrefix(token.Reveal(), refreshPrefix) || name == "another user" || name == "another organization" {
				return // the state of the session decides
			}
			wantFault(t, err, fault.CodeInvalidRefreshToken, ReasonMalformed)
		})
	}
	wantFault(t, w.authenticate(t, w.forge(t, header, set("sid", "00000000-0000-0000-0000-000000000000"))),
		fault.CodeUnauthorizedAccess, ReasonUnknown)
	if err := w.authenticate(t, w.forge(t, header, payload(func(m map[string]any) { m["iat"], m["nbf"] = now+30, now+30 }))); err != nil {
		t.Errorf("a replica whose clock is 30 s ahead: %v", err)
	}
}

func TestTokensAreValidForTheirLifetime(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.SessionIdle, c.SessionMax = time.Minute, 2*time.Minute })
	tokens := w.mustLogin(t)
	w.clock.move(15*time.Minute - time.Millisecond)
	if err := w.authenticate(t, tokens.Authorization); err != nil {
		t.Errorf("past the session's ends, but not its own: %v", err)
	}
	if err := w.authenticate(t, "bEaReR  "+tokens.Authorization+" "); err != nil {
		t.Errorf("with its scheme: %v", err)
	}
	w.clock.move(time.Millisecond)
	wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonExpired)
}

func mustPrivateKey(t *testing.T, w *world) ed25519.PrivateKey {
	t.Helper()
	for _, key := range w.serviceKeys(t) {
		if key.UID == w.keySet().signing.kid {
			return ed25519.NewKeyFromSeed(key.Secret)
		}
	}
	t.Fatal("no signing key")
	return nil
}

func signWith(key ed25519.PrivateKey, header, payload string) string {
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	return signed + "." + encode(ed25519.Sign(key, []byte(signed)))
}

func hs256(key []byte, header, payload string) string {
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

// changeUnusedBits changes the unused bits of the last character: 64 bytes leave four of them.
func changeUnusedBits(part string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, part[len(part)-1])
	return part[:len(part)-1] + string(alphabet[last^1])
}

func FuzzVerify(f *testing.F) {
	keys := &Keys{now: time.Now}
	keys.set.Store(&keySet{verify: map[string]*signingKey{"k": {kid: "k", public: make([]byte, 32)}}})
	for _, seed := range []string{"..", "a.b.c",
		encode([]byte(`{"alg":"EdDSA","kid":"k","typ":"at+jwt"}`)) + "." + encode([]byte(`{}`)) + "." + encode(make([]byte, 64))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if c, err := (&tokens{issuer: defaultIssuer, keys: keys}).verify(secret.String(token), start); err == nil {
			t.Errorf("%q is taken: %+v", token, c)
		}
	})
}
