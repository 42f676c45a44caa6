package service_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	killRounds  = 6
	killClients = 8
)

// kill -9 in the middle of sign-ins and refreshes, then a start on the same data: whoever was told of
// a session can go on with the tokens told last. An answer that the kill cut off may be asked for
// again (the same refresh token, within the grace).
func TestKillLosesNoSession(t *testing.T) {
	t.Parallel()
	var data string
	for round := range killRounds {
		server := instance.Start(t, instance.Options{DataDir: data})
		data = server.DataDir
		told := workUntilKilled(t, server, 6+4*round)
		after := instance.Start(t, instance.Options{DataDir: data})
		client := after.Client(t)
		for i, tokens := range told {
			if tokens.RefreshToken == "" {
				continue // this client was told nothing in time
			}
			client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
			next := client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
			client.Do(http.MethodGet, refresh+next.RefreshToken, "").Want(http.StatusOK)
			if t.Failed() {
				t.Fatalf("round %d, client %d", round, i)
			}
		}
		after.Kill()
	}
}

// workUntilKilled lets clients sign in and refresh, kills the server after this many answers of
// each kind, and returns what each client was told last.
func workUntilKilled(t *testing.T, server *instance.Server, enough int) []instance.Tokens {
	t.Helper()
	client := server.Client(t)
	var signIns, refreshes atomic.Int64
	told := make([]instance.Tokens, killClients)
	wrong := make(chan string, killClients)
	var wait sync.WaitGroup
	for i := range told {
		wait.Go(func() {
			if err := keepBusy(client, &told[i], &signIns, &refreshes); err != nil && server.Running() {
				time.Sleep(50 * time.Millisecond) // the connection may end before the process is seen to
				if server.Running() {
					wrong <- fmt.Sprintf("client %d: %v", i, err)
				}
			}
		})
	}
	for signIns.Load() < int64(enough) || refreshes.Load() < int64(enough) {
		select {
		case problem := <-wrong:
			t.Fatal(problem)
		case <-time.After(time.Millisecond):
		}
	}
	server.Kill()
	wait.Wait()
	t.Logf("killed after %d sign-ins and %d refreshes", signIns.Load(), refreshes.Load())
	return told
}

// keepBusy signs in, refreshes a few times, and begins again, until a request fails.
func keepBusy(client *instance.Client, told *instance.Tokens, signIns, refreshes *atomic.Int64) error {
	for {
		answer, err := client.Try(http.MethodPost, "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password))
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			return fmt.Errorf("signing in answered %d %s", answer.Status, answer.Body)
		}
		*told = answer.Tokens()
		signIns.Add(1)
		for range 3 {
			answer, err := client.Try(http.MethodGet, refresh+told.RefreshToken, "")
			if err != nil {
				return err
			}
			if answer.Status != http.StatusOK {
				return fmt.Errorf("a refresh answered %d %s", answer.Status, answer.Body)
			}
			*told = answer.Tokens()
			refreshes.Add(1)
		}
	}
}
