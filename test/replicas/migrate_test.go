package replicas_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// TestMigrateToPostgreSQL copies a store from its data directory to PostgreSQL and starts a server there: the password, the
// session, the API key and the stored registry with its secret work as before.
func TestMigrateToPostgreSQL(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := urlFile(t, database.NewDatabase(t))
	old := instance.Start(t, instance.Options{})
	client := old.Client(t)
	tokens := logIn(t, client)
	made := client.Do(http.MethodPost, "/v1/registries/oci/basic", `{"metadata":{"name":"stored"},"spec":{"endpoint":"http://127.0.0.1:9",
		"auth":{"type":"basic","username":"u","password":"hunter2-moved"}}}`, "Authorization",
		tokens.Authorization).Want(http.StatusCreated)
	var registry struct{ UID string }
	made.Into(&registry)
	key := old.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email, "--name", "pipeline")

	migrate := []string{"migrate", "--from", "sqlite:" + old.DataDir, "--database-url-file", url}
	if running := instance.Run(t, "", migrate...); running.Code != 2 || !strings.Contains(running.Err, "in use by another server") {
		t.Errorf("while the server runs: %+v", running)
	}
	old.Stop(syscall.SIGTERM)
	done := instance.Run(t, "", migrate...)
	if done.Code != 0 || !strings.Contains(done.Out, "sessions") {
		t.Fatalf("%+v", done)
	}
	want := "Copied the store in " + old.DataDir + ". Start servers with the new --database-url, and with the same master key: " +
		"--master-key-file " + filepath.Join(old.DataDir, "master.key") + ".\nwarning: " + old.DataDir +
		" can still be written to. Move it away, so that no server or command changes it by mistake.\n"
	if !strings.HasSuffix(done.Err, want) {
		t.Errorf("the next step is not said: %s", done.Err)
	}
	if again := instance.Run(t, "", migrate...); again.Code != 2 || !strings.Contains(again.Err, "not empty") {
		t.Errorf("a second time: %+v", again)
	}

	copied := instance.Start(t, instance.Options{Bare: true,
		Flags: []string{"--database-url-file", url, "--master-key-file", filepath.Join(old.DataDir, "master.key")}})
	client = copied.Client(t)
	logIn(t, client)
	do(t, client, http.MethodGet, "/v1/auth/refresh/"+tokens.RefreshToken, "").Want(http.StatusOK)
	do(t, client, http.MethodGet, "/v1/projects", "", "ApiKey", key).Want(http.StatusOK)
	read := do(t, client, http.MethodGet, "/v1/registries/oci/"+registry.UID+"/basic", "", "Authorization",
		tokens.Authorization).Want(http.StatusOK)
	if !strings.Contains(read.Body, `"password":"********"`) {
		t.Errorf("the stored registry is now %s", read.Body)
	}
	// There is no registry, so the result comes from a check with the stored definition.
	do(t, client, http.MethodPost, "/v1/registries/oci/basic/diagnose",
		`{"endpoint":"http://127.0.0.1:9","registryUid":"`+registry.UID+`","auth":{"type":"basic","username":"u"}}`,
		"Authorization", tokens.Authorization).Want(http.StatusOK)
}

func TestMigrateMistakes(t *testing.T) {
	t.Parallel()
	data := instance.Start(t, instance.Options{}).DataDir
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"without a target", "--to postgres", []string{"--from", "sqlite:" + data}},
		{"from a value without the form sqlite:DIR", "sqlite:DIR", []string{"--from", data, "--to", "postgres://127.0.0.1:1/x"}},
		{"from a directory that is not there", "there is no store in the directory",
			[]string{"--from", "sqlite:" + data + "-not", "--to", "postgres://127.0.0.1:1/x"}},
		{"a password in an argument", "password in an argument",
			[]string{"--from", "sqlite:" + data, "--to", "postgres://u:hunter2@127.0.0.1:1/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := instance.Run(t, "", append([]string{"migrate"}, c.args...)...)
			if got.Code != 2 || !strings.Contains(got.Err, c.says) || strings.Contains(got.Err, "hunter2") {
				t.Errorf("%+v", got)
			}
		})
	}
}
