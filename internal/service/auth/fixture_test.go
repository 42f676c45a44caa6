package auth

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/sweep"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

const (
	goodEmail    = "Ada@Example.com"
	goodOrg      = "Analytical Engines"
	goodPassword = "nine purple ducks on ice"
)

var (
	start  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cheap  = passwordhash.Cost{MemoryKiB: 64, Time: 1, Parallelism: 1}
	origin = audit.Origin{RequestID: "ref-1", Address: "192.0.2.1"}
)

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// service is a Service of which these tests call the parts.
type service struct {
	*Service
	*Authenticator
	*Logins
	*Sessions
	*Keys
	*tokens
	db     *store.DB
	config Config
}

func newService(ctx context.Context, db *store.DB, config Config) (*service, error) {
	s, err := New(ctx, db, config)
	if err != nil {
		return nil, err
	}
	return &service{s, s.Authenticator, s.Logins, s.Sessions, s.Keys, s.Logins.tokens, db, s.Logins.config}, nil
}

// world is a service on a real store, with one organization and one user.
type world struct {
	*service
	clock *clock
	dir   string
	org   store.Org
	user  store.User
	seen  map[string]int64 // by newAudits: repeats by uid
}

// server is the PostgreSQL server of these tests, nil for SQLite (TestMain).
var server *postgrestest.Server

// mustCreateStore creates the store of a new data directory.
func mustCreateStore(t *testing.T, dir string) {
	t.Helper()
	if url := storetest.Create(t, dir, server); url != "" {
		if err := postgrestest.WriteURL(dir, url); err != nil {
			t.Fatal(err)
		}
	}
}

func storeIn(dir string, now func() time.Time) store.Options {
	return store.Options{DataDir: dir, DatabaseURL: secret.String(postgrestest.ReadURL(dir)), Now: now, Timeout: storetest.LongTimeout}
}

func mustWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	dir := t.TempDir()
	mustCreateStore(t, dir)
	return mustWorldIn(t, dir, change)
}

// mustWorldIn returns a world with the store of a data directory.
func mustWorldIn(t *testing.T, dir string, change func(*Config)) *world {
	t.Helper()
	w := &world{clock: &clock{at: start}, dir: dir, seen: map[string]int64{}}
	config := Config{Now: w.clock.now, hashCost: cheap, RefreshAcceptsAuthorization: true, PollTime: time.Minute}
	if change != nil {
		change(&config)
	}
	db, err := store.Open(t.Context(), storeIn(w.dir, w.clock.now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if w.service, err = newService(t.Context(), db, config); err != nil {
		t.Fatal(err)
	}
	w.passwords.bulk.HoldBack, w.recordTime = 0, time.Minute
	for w.cache.Position() == 0 { // the first poll waits a second at most, and tokens without a position need queries
		mustPolled(t, w.service)
	}
	w.org = store.Org{UID: uuid.NewString(), Name: goodOrg, Canonical: names.Canonical(goodOrg), CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.Insert(t.Context(), w.org) })
	w.user = w.mustUser(t, w.org, goodEmail, RoleMember)
	return w
}

func (w *world) sweeper() sweep.Sweeper {
	return sweep.Sweeper{DB: w.db, Now: w.Logins.now, WaitNow: w.Logins.waitNow}
}

func (w *world) mustWrite(t *testing.T, fn func(*store.Tx) error) {
	t.Helper()
	if err := w.db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (w *world) mustUser(t *testing.T, org store.Org, email string, role Role) store.User {
	t.Helper()
	hashed, err := w.passwords.Hash(t.Context(), "org", goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	user := store.User{UID: uuid.NewString(), OrgUID: org.UID, Email: email, Canonical: names.Canonical(email), Role: string(role),
		PasswordHash: hashed, PasswordChangedAt: start, CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Insert(t.Context(), user) })
	return user
}

func (w *world) mustUserWithoutPassword(t *testing.T, email string) store.User {
	t.Helper()
	user := store.User{UID: uuid.NewString(), OrgUID: w.org.UID, Email: email, Canonical: names.Canonical(email), Role: string(RoleMember),
		PasswordChangedAt: start, CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Insert(t.Context(), user) })
	return user
}

func (w *world) mustLogin(t *testing.T) Tokens {
	t.Helper()
	tokens, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// sessionOf returns the stored session of an authorization token.
func (w *world) sessionOf(t *testing.T, tokens Tokens) store.Session {
	t.Helper()
	c, err := w.verify(tokens.Authorization, w.clock.now())
	if err != nil && !errors.Is(err, errExpiredToken) {
		t.Fatal(err)
	}
	return w.session(t, c.Session)
}

func (w *world) session(t *testing.T, uid string) (session store.Session) {
	t.Helper()
	if err := w.db.View(t.Context(), func(tx *store.Tx) (err error) {
		session, err = tx.Sessions.Get(t.Context(), uid)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return session
}

// audits returns the newest records, newest first. The clock of the tests stands still, so they are ordered by uid.
func (w *world) audits(t *testing.T, n int) (records []audit.Record) {
	t.Helper()
	driver, address := "sqlite", filepath.Join(w.dir, "regwarden.db")
	if url := postgrestest.ReadURL(w.dir); url != "" {
		driver, address = "pgx", url
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for _, uid := range uids(t, raw, "SELECT uid FROM audits ORDER BY uid DESC LIMIT $1", n) {
		if err := w.db.View(t.Context(), func(tx *store.Tx) error {
			record, err := tx.Audits.Get(t.Context(), uid)
			records = append(records, record)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return records
}

func uids(t *testing.T, raw *sql.DB, query string, args ...any) (list []string) {
	t.Helper()
	rows, err := raw.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var uid string
		if err := rows.Scan(&uid); err != nil {
			t.Fatal(err)
		}
		list = append(list, uid)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// newAudits returns the records that were created or repeated since the last call. The uid of a refusal begins with its
// minute, so uids do not order refusals among other records.
func (w *world) newAudits(t *testing.T) (changed []audit.Record) {
	t.Helper()
	for _, e := range w.audits(t, 1000) {
		if repeats, seen := w.seen[e.UID]; !seen || repeats != e.Repeats {
			changed, w.seen[e.UID] = append(changed, e), e.Repeats
		}
	}
	return changed
}

// wantFault checks the code and reason of a fault.
func wantFault(t *testing.T, err error, code, reason string) {
	t.Helper()
	got, ok := errors.AsType[*fault.Error](err)
	if !ok || got.Code != code || got.Reason != reason {
		t.Errorf("got %v, want %s (%s)", err, code, reason)
	}
}

func (w *world) authenticate(t *testing.T, token secret.String) error {
	t.Helper()
	_, err := w.Authenticate(t.Context(), Presented{Authorization: token})
	return err
}

func (w *world) serviceKeys(t *testing.T) (keys []store.ServiceKey) {
	t.Helper()
	if err := w.db.View(t.Context(), func(tx *store.Tx) (err error) {
		keys, err = tx.Keys.List(t.Context())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func secretOf(text []byte) secret.String { return secret.String(text) }

// mustOccupy takes all slots for hashing, which must be free.
func mustOccupy(t *testing.T, slots *fairqueue.Limiter) (release func()) {
	t.Helper()
	releases := make([]func(), slots.Workers)
	for i := range releases {
		var err error
		if releases[i], _, err = slots.Acquire(t.Context(), fairqueue.Caller{}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

func isBusy(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Unavailable && f.RetryAfter > 0
}
