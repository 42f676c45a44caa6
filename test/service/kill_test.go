package service_test

import (
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const killClients = 8

var long = flag.Bool("long", false, "6 rounds of kills instead of 2")

func killRounds() int {
	if *long {
		return 6
	}
	return 2
}

// TestKillLosesNoSession ends the server with kill -9 during logins and refreshes and starts it on the same data: the tokens
// that each client received last are valid. A refresh whose response was lost may be repeated within the grace period.
func TestKillLosesNoSession(t *testing.T) {
	t.Parallel()
	var data string
	for round := range killRounds() {
		server := instance.Start(t, instance.Options{DataDir: data})
		data = server.DataDir
		last := workUntilKilled(t, server, 6+4*round)
		after := instance.Start(t, instance.Options{DataDir: data})
		client := after.Client(t)
		for i, tokens := range last {
			if tokens.RefreshToken == "" {
				continue // this client received nothing in time
			}
			client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
			next := client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
			client.Do(http.MethodGet, refresh+next.RefreshToken, "").Want(http.StatusOK)
			if t.Failed() {
				t.Fatalf("round %d, client %d", round, i)
			}
		}
		after.Admin(t, "", "audit", "verify")
		after.Kill()
	}
}

// workUntilKilled lets clients log in and refresh, kills the server after this many responses of
// each kind, and returns the last tokens of each client.
func workUntilKilled(t *testing.T, server *instance.Server, enough int) []instance.Tokens {
	t.Helper()
	client := server.Client(t)
	var logins, refreshes atomic.Int64
	last := make([]instance.Tokens, killClients)
	wrong := make(chan string, killClients)
	var wait sync.WaitGroup
	for i := range last {
		wait.Go(func() {
			if err := keepBusy(client, &last[i], &logins, &refreshes); err != nil && server.Running() {
				time.Sleep(50 * time.Millisecond) // the connection may end before the process is seen to
				if server.Running() {
					wrong <- fmt.Sprintf("client %d: %v", i, err)
				}
			}
		})
	}
	for logins.Load() < int64(enough) || refreshes.Load() < int64(enough) {
		select {
		case problem := <-wrong:
			t.Fatal(problem)
		case <-time.After(time.Millisecond):
		}
	}
	server.Kill()
	wait.Wait()
	t.Logf("killed after %d logins and %d refreshes", logins.Load(), refreshes.Load())
	return last
}

// keepBusy logs in, refreshes a few times, and begins again, until a request fails.
func keepBusy(client *instance.Client, last *instance.Tokens, logins, refreshes *atomic.Int64) error {
	for {
		response, err := client.Try(http.MethodPost, "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password))
		if err != nil {
			return err
		}
		if response.Status != http.StatusOK {
			return fmt.Errorf("logging in returned %d %s", response.Status, response.Body)
		}
		*last = response.Tokens()
		logins.Add(1)
		for range 3 {
			response, err := client.Try(http.MethodGet, refresh+last.RefreshToken, "")
			if err != nil {
				return err
			}
			if response.Status != http.StatusOK {
				return fmt.Errorf("a refresh returned %d %s", response.Status, response.Body)
			}
			*last = response.Tokens()
			refreshes.Add(1)
		}
	}
}
