package service_test

import (
	"net/http"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// Expired and ended credentials are refused with a reason.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--token-lifetime", "1s", "--refresh-grace", "1s"}})
	client := server.Client(t)
	status := func(credential ...string) int { return client.Do(http.MethodGet, alerts, "", credential...).Status }
	var tokens instance.Tokens
	var key string
	instance.Await(t, "a token is used in its second", func() bool {
		tokens = client.Login()
		return status("Authorization", tokens.Authorization) == http.StatusOK
	})
	instance.Await(t, "an API key is used in its second", func() bool {
		key = server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email, "--expires", "1s")
		return status("ApiKey", key) == http.StatusOK
	})
	for _, credential := range [][]string{{"Authorization", tokens.Authorization}, {"ApiKey", key}} {
		instance.Await(t, "the credential expires", func() bool { return status(credential...) != http.StatusOK })
		wantReason(t, client.Do(http.MethodGet, alerts, "", credential...), "UnAuthorizedAccess", "expired")
	}
	if f := client.Do(http.MethodGet, refresh+tokens.Authorization,
		"").Want(http.StatusUnauthorized).Fault(); f.Code != "InvalidRefreshToken" {
		t.Errorf("an expired authorization token at the refresh path: %s", f.Code)
	}
	client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK)
}

// A refresh token that comes back after its successor was used was stolen, or its successor was: the
// session ends, with every token of it.
func TestReuseEndsTheSession(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	first := client.Login()
	other := client.Login()
	second := client.Do(http.MethodGet, refresh+first.RefreshToken, "").Want(http.StatusOK).Tokens()
	third := client.Do(http.MethodGet, refresh+second.RefreshToken, "").Want(http.StatusOK).Tokens()
	if f := client.Do(http.MethodGet, refresh+first.RefreshToken,
		"").Want(http.StatusUnauthorized).Fault(); f.Code != "InvalidRefreshToken" {
		t.Errorf("a consumed token: %s", f.Code)
	}
	client.Do(http.MethodGet, refresh+third.RefreshToken, "").Want(http.StatusUnauthorized)
	for _, token := range []string{first.Authorization, second.Authorization, third.Authorization} {
		wantReason(t, client.Do(http.MethodGet, alerts, "", "Authorization", token), "UnAuthorizedAccess", "revoked")
	}
	client.Do(http.MethodGet, alerts, "", "Authorization", other.Authorization).Want(http.StatusOK)

	// The end of a session is as durable as its beginning.
	server.Kill()
	client = instance.Start(t, instance.Options{DataDir: server.DataDir}).Client(t)
	client.Do(http.MethodGet, refresh+third.RefreshToken, "").Want(http.StatusUnauthorized)
	wantReason(t, client.Do(http.MethodGet, alerts, "", "Authorization", third.Authorization), "UnAuthorizedAccess", "revoked")
	client.Do(http.MethodGet, refresh+other.RefreshToken, "").Want(http.StatusOK)
}

// Many at once with one refresh token are all legitimate retries: they get one successor.
func TestManyRefreshAtOnce(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	tokens := client.Login()
	const many = 50
	responses := make(chan instance.Response, many)
	for range many {
		go func() {
			response, err := client.Try(http.MethodGet, refresh+tokens.RefreshToken, "")
			if err != nil {
				response.Status = -1
			}
			responses <- response
		}()
	}
	successors := map[string]bool{}
	for range many {
		response := <-responses
		successors[response.Want(http.StatusOK).Tokens().RefreshToken] = true
	}
	if len(successors) != 1 {
		t.Errorf("%d successors of one token, want one", len(successors))
	}
}

func TestDefaultOrganizationAndSwitches(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--default-org", "acme", "--refresh-accepts-authorization=false"}})
	client := server.Client(t)
	body := instance.JSON(map[string]string{"emailId": " ADMIN@acme.example ", "password": instance.Password})
	tokens := client.Do(http.MethodPost, "/v1/auth/authenticate?setCookie=true", body).Want(http.StatusOK).Tokens()
	client.Do(http.MethodGet, refresh+tokens.Authorization, "").Want(http.StatusUnauthorized)
	client.Do(http.MethodGet, refresh+tokens.RefreshToken+"?setCookie=true", "").Want(http.StatusOK)
}

func wantReason(t *testing.T, response instance.Response, code, reason string) {
	t.Helper()
	if f := response.Want(http.StatusUnauthorized).Fault(); f.Code != code || f.Details.Reason != reason {
		t.Errorf("%s, reason %q; want %s, %q", f.Code, f.Details.Reason, code, reason)
	}
}
