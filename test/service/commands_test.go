package service_test

import (
	"net/http"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// Commands take effect in a running server within a second, although it caches credentials.
func TestCommandsTakeEffectInARunningServer(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	made := mate.newKey("ci", "")
	key := withKey(t, server, made.APIKey)
	command := func(args ...string) {
		t.Helper()
		server.Admin(t, "eleven larks above the meadow\n", args...)
	}
	mates := []string{"--org", instance.Org, "--email", "mate@acme.example"}

	mate.refused("GET", "/v1/users", "", 403, "OperationForbidden")
	command(append([]string{"user", "role", "--role", "admin"}, mates...)...)
	instance.Await(t, "the role is another one", func() bool { return mate.do("GET", "/v1/users", "").Status == http.StatusOK })
	key.do("GET", alerts, "").Want(http.StatusOK)
	command("apikey", "revoke", made.UID, "--yes")
	instance.Await(t, "the key is refused", func() bool { return key.do("GET", alerts, "").Status == http.StatusUnauthorized })
	mate.do("GET", alerts, "").Want(http.StatusOK)
	command(append([]string{"user", "disable"}, mates...)...)
	instance.Await(t, "the user is refused", func() bool { return mate.do("GET", alerts, "").Status == http.StatusUnauthorized })
	command(append([]string{"user", "enable"}, mates...)...)
	command(append([]string{"user", "password", "--password-stdin"}, mates...)...)
	mate, _ = loggedIn(t, server, "mate@acme.example", instance.Org, "eleven larks above the meadow")
	mate.do("GET", alerts, "").Want(http.StatusOK)
	admin.do("GET", alerts, "").Want(http.StatusOK) // other users are not affected
}

// After a rotation of keys a running server signs with the new ones and still accepts tokens of the old ones.
func TestKeysAreRotatedWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	before, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var keys struct{ Keys []struct{ KID string } }
	published := func() int {
		before.client.Do("GET", "/.well-known/jwks.json", "").Want(http.StatusOK).Into(&keys)
		return len(keys.Keys)
	}
	if n := published(); n != 1 {
		t.Fatalf("%d keys are published at first", n)
	}
	server.Admin(t, "", "key", "rotate")
	instance.Await(t, "two keys are published", func() bool { return published() == 2 })
	after, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for _, p := range []person{before, after} {
		p.do("GET", alerts, "").Want(http.StatusOK)
	}
	before.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)

	server.Admin(t, "", "key", "rotate", "--master")
	after.make("/v1/users", newUser("mate@acme.example"))
	server.Kill()
	again := instance.Start(t, instance.Options{DataDir: server.DataDir})
	p, _ := loggedIn(t, again, "mate@acme.example", instance.Org, matePassword)
	p.do("GET", alerts, "").Want(http.StatusOK)
}
