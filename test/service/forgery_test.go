package service_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// Tokens that a client makes of what the service publishes, and of its own token, are refused, and the client's own goes on working.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	victim := client.Login().Authorization
	server.Admin(t, "", "org", "create", "Rival")
	server.Admin(t, matePassword+"\n", "user", "create", "--org", "Rival", "--email", "eve@rival.example", "--role",
		"admin", "--password-stdin")
	own := client.Do(http.MethodPost, "/v1/auth/authenticate",
		instance.Credentials("eve@rival.example", "Rival", matePassword)).Want(http.StatusOK).Tokens().Authorization
	var keys struct {
		Keys []struct{ Kid, X string }
	}
	client.Do(http.MethodGet, "/.well-known/jwks.json", "").Want(http.StatusOK).Into(&keys)
	public, err := base64.RawURLEncoding.DecodeString(keys.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	_, strange, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	header := object{"alg": "EdDSA", "kid": keys.Keys[0].Kid, "typ": "at+jwt"}
	with := func(of object, name string, value any) object {
		changed := maps.Clone(of)
		changed[name] = value
		return changed
	}
	signature := own[strings.LastIndexByte(own, '.')+1:]
	keep := func([]byte) string { return signature }
	eddsa := func(text []byte) string { return base64.RawURLEncoding.EncodeToString(ed25519.Sign(strange, text)) }
	mac := func(key []byte) func([]byte) string {
		return func(text []byte) string {
			sum := hmac.New(sha256.New, key)
			sum.Write(text)
			return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
		}
	}
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(public))
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := claimsOf(t, own), claimsOf(t, victim)
	hs256 := with(header, "alg", "HS256")
	for name, forged := range map[string]string{
		"algorithm none":                      token(with(header, "alg", "none"), theirs, func([]byte) string { return "" }),
		"algorithm none with a signature":     token(with(header, "alg", "none"), theirs, keep),
		"HS256 with the public key":           token(hs256, theirs, mac(public)),
		"HS256 with the public key in base64": token(hs256, theirs, mac([]byte(keys.Keys[0].X))),
		"HS256 with the public key as PEM":    token(hs256, theirs, mac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))),
		"another key under the service's id":  token(header, theirs, eddsa),
		"another key under an id of its own":  token(with(header, "kid", noUID), theirs, eddsa),
		"another key in the header": token(with(header, "jwk",
			object{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(strange[32:])}), theirs, eddsa),
		"own token with the other's claims":       token(header, theirs, keep),
		"own token for the other organization":    token(header, with(mine, "org", theirs["org"]), keep),
		"own token for the other user":            token(header, with(mine, "sub", theirs["sub"]), keep),
		"own token for the other session":         token(header, with(mine, "sid", theirs["sid"]), keep),
		"own token for longer":                    token(header, with(mine, "exp", 9999999999), keep),
		"own token for another audience":          token(header, with(mine, "aud", "other"), keep),
		"own token, signed with a strange key":    token(header, mine, eddsa),
		"the other's token with an own signature": victim[:strings.LastIndexByte(victim, '.')+1] + signature,
	} {
		for _, path := range []string{"/v1/users/info", "/v1/projects/alerts"} {
			if f := client.Do(http.MethodGet, path, "", "Authorization",
				forged).Want(http.StatusUnauthorized).Fault(); f.Code != "UnAuthorizedAccess" {
				t.Errorf("%s, %s: %s", name, path, f.Code)
			}
		}
		client.Do(http.MethodGet, refresh+forged, "").Want(http.StatusUnauthorized)
	}
	for _, good := range []string{own, victim} {
		client.Do(http.MethodGet, "/v1/users/info", "", "Authorization", good).Want(http.StatusOK)
	}
}

func token(header, claims object, sign func([]byte) string) string {
	encode := func(v object) string { return base64.RawURLEncoding.EncodeToString([]byte(instance.JSON(v))) }
	signed := encode(header) + "." + encode(claims)
	return signed + "." + sign([]byte(signed))
}

func claimsOf(t *testing.T, token string) (claims object) {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}
