package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/partitions"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Running all migrations takes longer than most tests. Create runs them once for each kind of database in a test process and copies
// the result, with its keys. The tests of migrations in internal/storage/store do not use Create.

// LongTimeout is for store.Options, in tests of other properties than time limits: a busy machine does not exceed it.
const LongTimeout = time.Minute

// Create creates a store for store.Open in the data directory dir. With a server, only the key file is in dir, and the address of
// the new database is returned.
func Create(t testing.TB, dir string, server *postgrestest.Server) (databaseURL string) {
	t.Helper()
	created, err := templateOf(server)
	if err != nil {
		t.Fatal(err)
	}
	if server != nil {
		databaseURL = server.CopyDatabase(t, created.databaseURL)
	}
	for name, content := range created.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return databaseURL
}

// template is a store that is closed.
type template struct {
	databaseURL string // empty for SQLite
	files       map[string][]byte
}

var templates struct {
	sync.Mutex
	byServer map[*postgrestest.Server]template // of SQLite: by nil
}

func templateOf(server *postgrestest.Server) (template, error) {
	templates.Lock()
	defer templates.Unlock()
	if created, ok := templates.byServer[server]; ok {
		return created, nil
	}
	created, err := newTemplate(server)
	if templates.byServer == nil {
		templates.byServer = map[*postgrestest.Server]template{}
	}
	if err == nil {
		templates.byServer[server] = created
	}
	return created, err
}

func newTemplate(server *postgrestest.Server) (created template, err error) {
	dir, err := os.MkdirTemp("", "regwarden-template-")
	if err != nil {
		return created, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if server != nil {
		if created.databaseURL, err = server.CreateDatabase(); err != nil {
			return created, err
		}
	}
	db, err := store.Open(context.Background(), store.Options{DataDir: dir,
		DatabaseURL: secret.String(created.databaseURL), Timeout: LongTimeout})
	if err != nil {
		return created, err
	}
	if server != nil { // as servers do
		err = partitions.Divide(context.Background(), db.DB, time.Now(),
			func() (*sqldb.DB, error) { return db.OpenLonger(context.Background(), time.Minute) })
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return created, err
	}
	created.files, err = filesOf(dir)
	return created, err
}

// filesOf reads all files but the empty ones, which are locks.
func filesOf(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	files := map[string][]byte{}
	for _, entry := range entries {
		content, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		err = errors.Join(err, readErr)
		if len(content) > 0 {
			files[entry.Name()] = content
		}
	}
	return files, err
}
