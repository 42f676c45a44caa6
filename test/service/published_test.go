package service_test

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/test/instance"
)

// Another library verifies our tokens with the published keys, and finds the claims in them.
func TestTokensVerifyWithThePublishedKeys(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	tokens := client.Login()
	refreshed := client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
	var keys jose.JSONWebKeySet
	client.Do(http.MethodGet, "/.well-known/jwks.json", "").Want(http.StatusOK).Into(&keys)
	for _, text := range []string{tokens.Authorization, refreshed.Authorization} {
		token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.EdDSA})
		if err != nil {
			t.Fatalf("parse a token: %v", err)
		}
		var claims jwt.Claims
		var ours struct {
			Org string `json:"org"`
			SID string `json:"sid"`
		}
		if err := token.Claims(keys, &claims, &ours); err != nil {
			t.Fatalf("verify a token with the published keys: %v", err)
		}
		if typ := token.Headers[0].ExtraHeaders[jose.HeaderType]; typ != "at+jwt" {
			t.Errorf("typ is %v, want at+jwt", typ)
		}
		if claims.Issuer == "" || claims.Subject == "" || claims.ID == "" || len(claims.Audience) == 0 || claims.NotBefore == nil ||
			ours.Org == "" || ours.SID == "" {
			t.Errorf("a claim is missing: %+v, %+v", claims, ours)
		}
		if life := claims.Expiry.Time().Sub(claims.IssuedAt.Time()); life != 15*time.Minute {
			t.Errorf("the token lives %v, want 15 minutes", life)
		}
	}
}

// The service publishes the description that the tests compare responses with.
func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file any
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(plain, &want); err != nil {
		t.Fatal(err)
	}
	server := instance.Start(t, instance.Options{})
	server.Client(t).Do(http.MethodGet, "/v1/openapi.json", "").Want(http.StatusOK).Into(&got)
	if !reflect.DeepEqual(got, want) {
		t.Error("what is served differs from api/openapi.yaml")
	}
}
