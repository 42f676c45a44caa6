package service_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	here, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	there, thereTokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var list items
	here.get("/v1/users/me/sessions", &list)
	if len(list.Items) != 2 {
		t.Fatalf("sessions are %+v", list)
	}
	current := 0
	if list.Items[1].Status.IsCurrent {
		current = 1
	}
	if !list.Items[current].Status.IsCurrent || list.Items[1-current].Status.IsCurrent || list.Items[0].Metadata.Name != "127.0.0.1" {
		t.Fatalf("sessions are %+v", list)
	}
	other := list.Items[1-current].Metadata.UID
	here.do("DELETE", "/v1/users/me/sessions/"+other, "").Want(http.StatusNoContent)
	there.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	here.client.Do("GET", refresh+thereTokens.RefreshToken, "").Want(http.StatusUnauthorized)
	here.refused("DELETE", "/v1/users/me/sessions/"+other, "", 404, "ResourceNotFound")
	here.do("GET", alerts, "").Want(http.StatusOK)
}

func TestLogout(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	p, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	key := withKey(t, server, p.newKey("ci", "").APIKey)
	wantFields(t, key.refused("POST", "/v1/auth/logout", "", 400, "InvalidRequest").Fault(), "Authorization")
	p.do("POST", "/v1/auth/logout", "").Want(http.StatusNoContent)
	if f := p.refused("GET", alerts, "", 401, "UnAuthorizedAccess").Fault(); f.Details.Reason != "revoked" {
		t.Errorf("reason %q, want revoked", f.Details.Reason)
	}
	p.refused("POST", "/v1/auth/logout", "", 401, "UnAuthorizedAccess")
	p.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusUnauthorized)
	key.do("GET", alerts, "").Want(http.StatusOK) // a key is not a session
}

func TestTokensAreRevoked(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, mateTokens := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	again, againTokens := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	_, adminTokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	body := func(tokens ...string) string { return instance.JSON(object{"tokens": tokens}) }
	const path = "/v1/users/auth/tokens/revoke"

	// All or none: the member's own are not revoked when one is not its own.
	for _, foreign := range []string{adminTokens.Authorization, adminTokens.RefreshToken} {
		wantFields(t, mate.refused("POST", path, body(againTokens.RefreshToken, foreign), 400, "InvalidRequest").Fault(), "tokens[1]")
	}
	wantFields(t, theirs.refused("POST", path, body(mateTokens.Authorization), 400, "InvalidRequest").Fault(), "tokens[0]")
	again.do("GET", alerts, "").Want(http.StatusOK)
	mate.do("POST", path, body(againTokens.RefreshToken, againTokens.Authorization)).Want(http.StatusNoContent)
	again.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	mate.do("GET", alerts, "").Want(http.StatusOK)
	admin.do("POST", path, body(mateTokens.Authorization)).Want(http.StatusNoContent)
	mate.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
}

func TestPasswordIsChanged(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	here, hereTokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	there, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	const next = "nine geese across the marsh"
	here.do("PATCH", "/v1/users/me/password",
		instance.JSON(object{"currentPassword": instance.Password, "newPassword": next})).Want(http.StatusNoContent)
	here.do("GET", alerts, "").Want(http.StatusOK)
	here.client.Do("GET", refresh+hereTokens.RefreshToken, "").Want(http.StatusOK)
	there.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	here.client.Do("POST", "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password)).Want(http.StatusUnauthorized)
	loggedIn(t, server, instance.Email, instance.Org, next)
}

// Wrong passwords are throttled, at login and where the current one is asked for; what is in use goes on.
func TestWrongPasswordsAreThrottled(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--login-free-failures", "2", "--login-max-wait", "1m"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	for _, tt := range []struct {
		email, path, method string
		body                string
		wrong               int
	}{
		{"unknown user", "/v1/auth", "POST", instance.Credentials("unknown@acme.example", instance.Org, "wrong"), 401},
		{"unknown user in other letters", "/v1/auth/authenticate", "POST",
			instance.Credentials("UNKNOWN@acme.example ", "ACME", "wrong"), 401},
		{"mate", "/v1/users/me/password", "PATCH",
			instance.JSON(object{"currentPassword": "wrong", "newPassword": "nine geese across the marsh"}), 400},
	} {
		response := mate.do(tt.method, tt.path, tt.body)
		for tries := 0; response.Status == tt.wrong && tries < 8; tries++ {
			response = mate.do(tt.method, tt.path, tt.body)
		}
		if f := response.Want(http.StatusTooManyRequests).Fault(); f.Code != "TooManyRequests" {
			t.Errorf("%s: %s", tt.email, f.Code)
		}
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 {
			t.Errorf("%s: Retry-After is %q", tt.email, response.Header.Get("Retry-After"))
		}
	}
	mate.do("GET", alerts, "").Want(http.StatusOK)
}

// An organization ends its own sessions after a time without a refresh, also those that exist, and no others.
func TestTokenSettingsEndIdleSessions(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	ends := func(p person) (in []time.Duration) {
		var list api.Sessions
		p.get("/v1/users/me/sessions", &list)
		for _, session := range list.Items {
			in = append(in, time.Until(session.Status.Expiry).Round(time.Hour))
		}
		return in
	}
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	before := ends(theirs.person)
	admin.do("PUT", "/v1/tenants/"+me.TenantUID+"/authTokenSettings", `{"expiryTimeMinutes":120}`).Want(http.StatusNoContent)
	_, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	server.Client(t).Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	if got := ends(admin); !slices.Equal(got, []time.Duration{2 * time.Hour, 2 * time.Hour}) {
		t.Errorf("sessions end in %s", got)
	}
	if got := ends(theirs.person); !slices.Equal(got, before) || got[0] <= 2*time.Hour {
		t.Errorf("sessions of another organization end in %s, before %s", got, before)
	}
}
