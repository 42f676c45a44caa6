package abuse_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	checkStreams  = 200
	manyPerMinute = "100000"
)

// TestCheckStreamsOfOneUser starts 200 checks of slow registries at once, again and again. Others of the organization can check theirs.
func TestCheckStreamsOfOneUser(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"default settings", nil},
		{"without a limit per minute", []string{"--check-per-minute", manyPerMinute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := beginAttack(t, c.flags...)
			member := newMember(t, a.server)
			slow := "http://" + serveRaw(t, silent)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var streams sync.WaitGroup
			for n := range checkStreams {
				streams.Go(func() { repeatCheck(ctx, a.server, member, slow, attacker, time.Duration(n)*time.Millisecond) })
			}
			time.Sleep(time.Second)
			good := goodRegistry(t)
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				a.client.validates(good)
				a.client.took = append(a.client.took,
					a.client.try(http.MethodGet, "/v1/projects/alerts", "", "Authorization", a.client.authorization))
			}
			stop()
			streams.Wait()
			a.end(t)
		})
	}
}

// newMember creates a member of the customer's organization and returns its token.
func newMember(t testing.TB, server *instance.Server) (token string) {
	t.Helper()
	server.Admin(t, instance.Password+"\n", "user", "create", "--org", instance.Org, "--email", memberEmail, "--password-stdin")
	return server.Client(t).Do(http.MethodPost, login,
		instance.Credentials(memberEmail, instance.Org, instance.Password)).Want(http.StatusOK).Tokens().Authorization
}

// repeatCheck checks a registry until ctx ends.
func repeatCheck(ctx context.Context, server *instance.Server, token, registry, from string, delay time.Duration) {
	body := instance.JSON(map[string]any{"endpoint": registry, "auth": map[string]any{"type": "noAuth"}})
	for pause := delay; !stops(ctx, pause); pause = uploadPause {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+diagnosePath, strings.NewReader(body))
		if err != nil {
			continue
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", token)
		request.Close = true
		conn, err := dialFrom(ctx, from, request.URL.Host)
		if err != nil {
			continue
		}
		end := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_ = request.Write(conn) // the read fails too
		_, _ = io.Copy(io.Discard, conn)
		end()
		_ = conn.Close()
	}
}
