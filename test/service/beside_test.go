package service_test

import (
	"net/http"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// What is done from the command line holds in a running server within a second, though it remembers credentials.
func TestCommandsHoldInARunningServer(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := signedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := signedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	made := mate.newKey("ci", "")
	key := withKey(t, server, made.APIKey)
	beside := func(args ...string) {
		t.Helper()
		server.Admin(t, "eleven larks above the meadow\n", args...)
	}
	mates := []string{"--org", instance.Org, "--email", "mate@acme.example"}

	mate.refused("GET", "/v1/users", "", 403, "OperationForbidden")
	beside(append([]string{"user", "role", "--role", "admin"}, mates...)...)
	instance.Await(t, "the role is another one", func() bool { return mate.do("GET", "/v1/users", "").Status == http.StatusOK })
	key.do("GET", alerts, "").Want(http.StatusOK)
	beside("apikey", "revoke", made.UID)
	instance.Await(t, "the key is refused", func() bool { return key.do("GET", alerts, "").Status == http.StatusUnauthorized })
	mate.do("GET", alerts, "").Want(http.StatusOK)
	beside(append([]string{"user", "disable"}, mates...)...)
	instance.Await(t, "the user is refused", func() bool { return mate.do("GET", alerts, "").Status == http.StatusUnauthorized })
	beside(append([]string{"user", "enable"}, mates...)...)
	beside(append([]string{"user", "password", "--password-stdin"}, mates...)...)
	mate, _ = signedIn(t, server, "mate@acme.example", instance.Org, "eleven larks above the meadow")
	mate.do("GET", alerts, "").Want(http.StatusOK)
	admin.do("GET", alerts, "").Want(http.StatusOK) // nobody else was touched
}

// Keys are rotated beside a running server: it signs with the new ones, and takes what the old ones made.
func TestKeysAreRotatedBesideARunningServer(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	before, tokens := signedIn(t, server, instance.Email, instance.Org, instance.Password)
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
	after, _ := signedIn(t, server, instance.Email, instance.Org, instance.Password)
	for _, p := range []person{before, after} {
		p.do("GET", alerts, "").Want(http.StatusOK)
	}
	before.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)

	server.Admin(t, "", "key", "rotate", "--master")
	after.make("/v1/users", newUser("mate@acme.example"))
	server.Kill()
	again := instance.Start(t, instance.Options{DataDir: server.DataDir})
	p, _ := signedIn(t, again, "mate@acme.example", instance.Org, matePassword)
	p.do("GET", alerts, "").Want(http.StatusOK)
}
