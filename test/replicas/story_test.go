package replicas_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// story is several replicas and a client that selects the one that responds.
type story struct {
	*fleet
	t      *testing.T
	client *instance.Client
}

// on asks the replica of that number.
func (s story) on(replica int, method, path, body string, headers ...string) instance.Response {
	s.t.Helper()
	return do(s.t, s.client, method, path, body, append(headers, toReplica, strconv.Itoa(replica))...)
}

// do sends a request, and again after 503: on a busy machine PostgreSQL may be slow for a replica.
func do(t *testing.T, client *instance.Client, method, path, body string, headers ...string) (response instance.Response) {
	t.Helper()
	instance.Await(t, "a replica does not return 503", func() bool {
		response = client.Do(method, path, body, headers...)
		return response.Status != http.StatusServiceUnavailable
	})
	return response
}

// logIn is Login by do.
func logIn(t *testing.T, client *instance.Client) instance.Tokens {
	t.Helper()
	return do(t, client, http.MethodPost, "/v1/auth/authenticate", loginAs(instance.Email)).Want(http.StatusOK).Tokens()
}

// within requires that every replica returns a status within a second, and again after that.
func (s story) within(what string, status int, method, path string, headers ...string) {
	s.t.Helper()
	began := time.Now()
	for replica := range s.replicas {
		instance.Await(s.t, what, func() bool {
			asked := time.Now()
			got := s.client.Do(method, path, "", append(headers, toReplica, strconv.Itoa(replica))...).Status
			late := got != status && got != http.StatusServiceUnavailable && asked.Sub(began) > time.Second
			if late {
				s.t.Errorf("%s: replica %d returns %d after a second, want %d", what, replica, got, status)
			}
			return got == status || late
		})
	}
	s.t.Logf("%s: known to all after %v", what, time.Since(began).Round(time.Millisecond))
	for replica := range s.replicas {
		s.on(replica, method, path, "", headers...).Want(status)
	}
}

func loginAs(email string) string {
	return instance.Credentials(email, instance.Org, instance.Password)
}

// TestStoryOverThreeReplicas plays what concerns more than one replica, each step on another of them.
func TestStoryOverThreeReplicas(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	f := startFleet(t, 3, database.NewDatabase(t), "--check-per-minute", "2")
	s := story{f, t, f.client(t)}
	admin := s.on(0, http.MethodPost, "/v1/auth", loginAs(instance.Email)).Want(http.StatusOK).Tokens()
	for _, part := range []struct {
		name string
		play func(s story, admin []string)
	}{
		{"a session", aSession},
		{"retries on all replicas at once", retriesEverywhere},
		{"a user and a key", aUserAndAKey},
		{"wrong passwords", wrongPasswords},
		{"validations per minute", perMinute},
		{"new signing keys", newKeys},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.play(story{f, t, f.client(t)}, []string{"Authorization", admin.Authorization})
		})
	}
}

// aSession logs in on one replica, refreshes on another and revokes on the third.
func aSession(s story, _ []string) {
	first := s.on(0, http.MethodPost, "/v1/auth", loginAs(instance.Email)).Want(http.StatusOK).Tokens()
	next := s.on(1, http.MethodGet, refresh+first.RefreshToken, "").Want(http.StatusOK).Tokens()
	for replica := range s.replicas {
		s.on(replica, http.MethodGet, alerts, "", "Authorization", first.Authorization).Want(http.StatusOK)
		s.on(replica, http.MethodGet, alerts, "", "Authorization", next.Authorization).Want(http.StatusOK)
	}
	s.on(2, http.MethodPost, "/v1/users/auth/tokens/revoke", instance.JSON(map[string][]string{"tokens": {next.RefreshToken}}),
		"Authorization", next.Authorization).Want(http.StatusNoContent)
	s.within("a revoked session", http.StatusUnauthorized, http.MethodGet, alerts, "Authorization", next.Authorization)
	s.within("its older token", http.StatusUnauthorized, http.MethodGet, alerts, "Authorization", first.Authorization)
	for replica := range s.replicas {
		s.on(replica, http.MethodGet, refresh+next.RefreshToken, "").Want(http.StatusUnauthorized)
	}
}

// retriesEverywhere sends one refresh token to all replicas at once, again and again.
func retriesEverywhere(s story, _ []string) {
	tokens := s.on(0, http.MethodPost, "/v1/auth", loginAs(instance.Email)).Want(http.StatusOK).Tokens()
	for range 20 {
		responses := make([]instance.Response, 2*len(s.replicas))
		var asking sync.WaitGroup
		for i := range responses {
			asking.Go(func() {
				responses[i] = s.on(i%len(s.replicas), http.MethodGet, refresh+tokens.RefreshToken, "")
			})
		}
		asking.Wait()
		next := responses[0].Want(http.StatusOK).Tokens()
		for _, response := range responses {
			if other := response.Want(http.StatusOK).Tokens(); other.RefreshToken != next.RefreshToken {
				s.t.Fatal("one refresh token has two successors")
			}
		}
		tokens = next
	}
}

// aUserAndAKey makes a user and a key on one replica, and takes them away on others.
func aUserAndAKey(s story, admin []string) {
	const email = "mate@acme.example"
	var user, key struct{ UID, APIKey string }
	s.on(0, http.MethodPost, "/v1/users",
		instance.JSON(map[string]any{"spec": map[string]string{"emailId": email, "password": instance.Password}}), admin...).
		Want(http.StatusCreated).Into(&user)
	mate := s.on(1, http.MethodPost, "/v1/auth", loginAs(email)).Want(http.StatusOK).Tokens()
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	s.on(2, http.MethodPost, "/v1/apiKeys",
		instance.JSON(map[string]any{"metadata": map[string]string{"name": "ci"}, "spec": map[string]string{"expiry": tomorrow}}),
		"Authorization", mate.Authorization).Want(http.StatusCreated).Into(&key)
	for replica := range s.replicas {
		s.on(replica, http.MethodGet, alerts, "", "ApiKey", key.APIKey).Want(http.StatusOK)
	}
	s.on(1, http.MethodDelete, "/v1/apiKeys/"+key.UID, "", "Authorization", mate.Authorization).Want(http.StatusNoContent)
	s.within("a deleted key", http.StatusUnauthorized, http.MethodGet, alerts, "ApiKey", key.APIKey)
	s.within("its user", http.StatusOK, http.MethodGet, alerts, "Authorization", mate.Authorization)
	s.admin(s.t, "user", "disable", "--org", instance.Org, "--email", email)
	s.within("a disabled user", http.StatusUnauthorized, http.MethodGet, alerts, "Authorization", mate.Authorization)
}

// wrongPasswords come on every replica in turn, and have the free failures of one. The last ones come at once: each is
// held back for a second, and the wait is only two.
func wrongPasswords(s story, _ []string) {
	wrong := instance.Credentials("unknown@acme.example", instance.Org, "eleven gulls over the harbour")
	for n := range 5 {
		s.on(n%len(s.replicas), http.MethodPost, "/v1/auth", wrong).Want(http.StatusUnauthorized)
	}
	// A busy machine may send them after the wait, which is twice as long the next time. Replicas that do not share the failures refuse the
	// fourth time.
	var statuses []int
	for range 3 {
		statuses = wrongAtOnce(s, wrong)
		if !slices.ContainsFunc(statuses, func(status int) bool { return status != http.StatusTooManyRequests }) {
			return
		}
	}
	s.t.Errorf("the replicas return %d, want %d from each", statuses, http.StatusTooManyRequests)
}

// wrongAtOnce sends a login on every replica at once, and returns the statuses.
func wrongAtOnce(s story, login string) []int {
	statuses := make([]int, len(s.replicas))
	var all sync.WaitGroup
	for replica := range s.replicas {
		all.Go(func() {
			response, err := s.client.Try(http.MethodPost, "/v1/auth", login, toReplica, strconv.Itoa(replica))
			if statuses[replica] = response.Status; err != nil {
				s.t.Error(err)
			}
		})
	}
	all.Wait()
	return statuses
}

// perMinute is what a user may have validated, on all replicas together.
func perMinute(s story, admin []string) {
	const path, body = "/v1/registries/oci/basic/diagnose", `{"endpoint":"http://127.0.0.1:1","auth":{"type":"noAuth"}}`
	for n := range 2 {
		s.on(n%len(s.replicas), http.MethodPost, path, body, admin...).Want(http.StatusOK)
	}
	for replica := range s.replicas {
		s.on(replica, http.MethodPost, path, body, admin...).Want(http.StatusTooManyRequests)
	}
}

// newKeys are put into use from the command line: what any replica then signs is taken by all, and so is what was
// signed before.
func newKeys(s story, admin []string) {
	before := s.on(0, http.MethodGet, "/.well-known/jwks.json", "").Body
	s.admin(s.t, "key", "rotate")
	for replica := range s.replicas {
		tokens := s.on(replica, http.MethodPost, "/v1/auth", loginAs(instance.Email)).Want(http.StatusOK).Tokens()
		for other := range s.replicas {
			s.on(other, http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
			tokens.RefreshToken = s.on(other, http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens().RefreshToken
		}
		s.on(replica, http.MethodGet, alerts, "", admin...).Want(http.StatusOK)
	}
	after := s.on(0, http.MethodGet, "/.well-known/jwks.json", "").Body
	if after == before || strings.Count(after, `"kid"`) != 2 {
		s.t.Errorf("the published keys are %s, and were %s", after, before)
	}
	instance.Await(s.t, "all replicas publish the new keys", func() bool {
		return s.on(1, http.MethodGet, "/.well-known/jwks.json", "").Body == after &&
			s.on(2, http.MethodGet, "/.well-known/jwks.json", "").Body == after
	})
}
