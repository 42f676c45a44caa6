package replicas_test

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	alerts   = "/v1/projects/alerts"
	refresh  = "/v1/auth/refresh/"
	logout   = "/v1/auth/logout"
	validate = "/v1/registries/oci/basic/validate"
)

// shared is the environment of servers on one database.
func shared(t *testing.T, database *postgrestest.Server) []string {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return []string{"REGWARDEN_DATABASE_URL=" + database.NewDatabase(t), "REGWARDEN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(key)}
}

// TestThreeServersAreOne logs in on one server, renews on the next and signs out on the third.
func TestThreeServersAreOne(t *testing.T) {
	t.Parallel()
	env := shared(t, postgrestest.Start(t, postgrestest.Options{}))
	var clients []*instance.Client
	for range 3 {
		server := instance.Start(t, instance.Options{Env: env})
		if entries, err := os.ReadDir(server.DataDir); err == nil && len(entries) > 0 {
			t.Errorf("a server with an external database and key stores %v", entries)
		}
		clients = append(clients, server.Client(t))
	}
	tokens := logIn(t, clients[0])
	for _, c := range clients {
		do(t, c, http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
	}
	next := do(t, clients[1], http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
	again := do(t, clients[2], http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
	if again.RefreshToken != next.RefreshToken {
		t.Error("a legitimate retry at another server gets another token")
	}
	for _, c := range clients {
		do(t, c, http.MethodGet, alerts, "", "Authorization", next.Authorization).Want(http.StatusOK)
	}
	do(t, clients[2], http.MethodPost, logout, "", "Authorization", next.Authorization).Want(http.StatusNoContent)
	ended := time.Now()
	for i, c := range clients {
		instance.Await(t, "the token of an ended session is refused", func() bool {
			asked := time.Now()
			status := c.Do(http.MethodGet, alerts, "", "Authorization", next.Authorization).Status
			if status == http.StatusOK && asked.Sub(ended) > 2*time.Second {
				t.Fatalf("server %d takes the token of an ended session", i)
			}
			return status == http.StatusUnauthorized
		})
		do(t, c, http.MethodGet, refresh+next.RefreshToken, "").Want(http.StatusUnauthorized)
	}
	t.Logf("refused everywhere after %v", time.Since(ended))
}

// TestTheDatabaseGoesAway stops the database below a running server.
func TestTheDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{})
	server := instance.Start(t, instance.Options{Env: shared(t, database)})
	login := instance.Credentials(instance.Email, instance.Org, instance.Password)
	ask := func(method, path, body string) (status int, header http.Header) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode, response.Header
	}
	if err := database.Stop(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if status, header := ask("POST", "/v1/auth/authenticate", login); status != http.StatusServiceUnavailable ||
			header.Get("Retry-After") == "" {
			t.Errorf("login: %d, %v", status, header)
		}
		if status, _ := ask("GET", "/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("ready: %d", status)
		}
		if status, _ := ask("GET", "/healthz", ""); status != http.StatusOK {
			t.Errorf("healthy: %d", status)
		}
	}
	if err := database.Run(); err != nil {
		t.Fatal(err)
	}
	instance.Await(t, "ready again", func() bool {
		ready, _ := ask("GET", "/readyz", "")
		return ready == http.StatusOK
	})
	instance.Await(t, "a login after the database came back", func() bool {
		status, _ := ask("POST", "/v1/auth/authenticate", login)
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("login after the database came back: %d", status)
		}
		return status == http.StatusOK
	})
	for _, log := range []string{server.Log(), server.Out()} {
		if strings.Contains(log, "marked") {
			t.Errorf("the password of the database is in the log:\n%s", log)
		}
	}
}

// TestTheDatabaseIsNoRegistry has a user point a definition at the database of the service.
func TestTheDatabaseIsNoRegistry(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	_, port, err := net.SplitHostPort(database.Address())
	if err != nil {
		t.Fatal(err)
	}
	// Loopback is allowed as a whole, as in a lab; the port of the database is not thereby.
	server := instance.Start(t, instance.Options{Env: shared(t, database), Flags: []string{"--egress-allow", "127.0.0.0/8"}})
	c := server.Client(t)
	body := instance.JSON(map[string]any{"endpoint": "http://localhost:" + port, "auth": map[string]string{"type": "noAuth"}})
	response := c.Do(http.MethodPost, validate, body, "Authorization", logIn(t, c).Authorization)
	if response.Want(http.StatusUnprocessableEntity).Fault().Code != "RegistryAddressForbidden" {
		t.Errorf("response %s", response.Body)
	}
}

// TestCommandsOnADatabase administers the store from the command line, without a server.
func TestCommandsOnADatabase(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url, dir := database.NewDatabase(t), t.TempDir()
	flags := []string{"--data-dir", dir + "/data", "--database-url-file", urlFile(t, url)}
	command := func(args ...string) instance.Result { return instance.Run(t, "", append(args, flags...)...) }
	if result := command("org", "list"); result.Code != 2 ||
		!strings.Contains(result.Err, "there is no store in this database; name the server") {
		t.Errorf("on an empty database: %d %s", result.Code, result.Err)
	}
	instance.Start(t, instance.Options{DataDir: dir + "/data", Flags: flags[2:]}).Kill()
	if result := command("org", "list"); result.Code != 0 || !strings.Contains(result.Out, instance.Org) {
		t.Errorf("%d %s %s", result.Code, result.Out, result.Err)
	}
	for _, result := range []instance.Result{command("config"), instance.Run(t, "", "config", "--database-url", url)} {
		if strings.Contains(result.Out+result.Err, "marked") {
			t.Errorf("the password is shown: %s %s", result.Out, result.Err)
		}
	}
}
