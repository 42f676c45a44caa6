// Package store stores all durable data in one database (sqldb).
//
// A method of a group of Tx (Tx.Sessions, Tx.Users, …) runs one query or makes one change, and returns records. The packages
// auth, directory and registries decide what follows from them. Races are settled by conditional updates, never by reading
// first and writing later. Secrets are encrypted on the way in and decrypted on the way out, so no caller sees a ciphertext and
// the database holds no secret.
package store

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/changelist"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/incidents"
	"github.com/regwarden/regwarden/internal/storage/invitations"
	"github.com/regwarden/regwarden/internal/storage/keyset"
	"github.com/regwarden/regwarden/internal/storage/listdetails"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/provisioned"
	"github.com/regwarden/regwarden/internal/storage/roles"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/teams"
	"github.com/regwarden/regwarden/internal/storage/tenants"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

// Errors that callers decide on. Everything else is a *fault.Error of kind Unavailable (the database is unreachable, full or
// busy: a retry may help) or an internal error.
var (
	ErrNotFound = sqldb.ErrNotFound
	ErrExists   = sqldb.ErrExists
)

// Options define where the store is: in a file of DataDir, or in a PostgreSQL database.
type Options struct {
	DatabaseURL   secret.String  // postgres://…; empty: SQLite in DataDir
	AllowNewer    bool           // open a store that a newer program migrated
	Existing      bool           // sqldb.ErrEmpty where there is no store yet; nothing is created
	DataDir       string         // required except for PostgreSQL with a given key; created with mode 0700 when it is missing
	MasterKeyFile string         // empty: master.key in DataDir; created at the first start
	MasterKey     seal.MasterKey // when given, used instead of the file
	Now           func() time.Time
	Timeout       time.Duration // of a transaction or query on PostgreSQL; zero: the default of sqldb.Options
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Options) keyFile() string {
	if o.MasterKeyFile == "" {
		return filepath.Join(o.DataDir, "master.key")
	}
	return o.MasterKeyFile
}

func (o Options) keySource() keyset.Source {
	return keyset.Source{Key: o.MasterKey, File: o.keyFile(), Now: o.now}
}

// database returns the options of the database.
func (o Options) database() sqldb.Options {
	d := sqldb.Options{URL: o.DatabaseURL, Dir: o.DataDir, Timeout: o.Timeout}
	if o.Existing {
		d.MustHave = keyset.Table
	}
	return d
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	*sqldb.DB
	ring    *seal.Keyring
	options Options

	numberer   *changelist.Numberer
	changeLock sync.Mutex
	onChange   []func(subjects []string)
}

// Close ends the store after the running transactions. Later calls fail with kind Unavailable.
func (db *DB) Close() error {
	db.numberer.Close()
	return db.DB.Close()
}

// InTx runs fn in one write transaction. When fn returns nil and InTx returns nil, what fn wrote is
// durable. When fn returns an error nothing of it is stored, and that error is returned.
//
// Several calls may share one commit, and on PostgreSQL they run concurrently; so fn must be quick and
// self-contained: no hashing, no network, no other transaction inside. It may be run again when the database asks
// for a retry. When a statement fails, fn must return an error: PostgreSQL runs no other after it.
func (db *DB) InTx(ctx context.Context, fn func(*Tx) error) error {
	var tx *Tx
	err := db.DB.InTx(ctx, func(q sqldb.Querier) error {
		tx = db.newTx(q)
		return fn(tx)
	})
	if err == nil {
		db.reportChanges(tx.subjects)
	}
	return err
}

// Autocommit is InTx for fn that runs one statement. On PostgreSQL it shares a transaction with those of other callers, so it must neither
// note a change nor wait for a lock.
func (db *DB) Autocommit(ctx context.Context, fn func(*Tx) error) error {
	return db.DB.Autocommit(ctx, func(q sqldb.Querier) error { return fn(db.newTx(q)) })
}

// OpenLonger opens the database once more, with another time limit of transactions, which then end with the context of their callers.
func (db *DB) OpenLonger(ctx context.Context, limit time.Duration) (*sqldb.DB, error) {
	o := db.options.database()
	o.Timeout, o.Cancel = limit, true
	return sqldb.Open(ctx, o, func(context.Context, *sqldb.Raw) error { return nil })
}

// InTxDetached is InTx for a result that must be recorded although the context of the caller has ended or the service is
// stopping. change gets its own context, which ends after 5 s.
func (db *DB) InTxDetached(ctx context.Context, change func(context.Context, *Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return db.InTx(ctx, func(tx *Tx) error { return change(ctx, tx) })
}

// View runs fn with a Tx that can only read. Each query sees the newest committed state, so two queries may see two states.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	return db.DB.View(func(q sqldb.Querier) error { return fn(db.newTx(q)) })
}

// Write is InTx for a function that returns a value.
func Write[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (value T, err error) {
	err = db.InTx(ctx, func(tx *Tx) (err error) {
		value, err = fn(tx)
		return err
	})
	return value, err
}

// Read is View for a function that returns a value.
func Read[T any](ctx context.Context, db *DB, fn func(*Tx) (T, error)) (value T, err error) {
	err = db.View(ctx, func(tx *Tx) (err error) {
		value, err = fn(tx)
		return err
	})
	return value, err
}

// Tx reads and changes the store inside InTx or View, in one group for each kind of record. It may not be used
// after its function ends, nor by two goroutines.
type Tx struct {
	*conn
	APIKeys     APIKeys
	Addresses   Addresses
	Allowances  Allowances
	Audits      audits.Records
	Changes     Changes
	Channels    Channels
	Contents    Contents
	Factors     secondfactors.Factors
	Identities  identities.Identities
	Incidents   incidents.Incidents
	Invitations invitations.Invitations
	Keys        Keys
	Lists       listdetails.Lists
	Mutes       mutes.Mutes
	Orgs        Orgs
	Origins     Origins
	Outbox      Outbox
	Projects    Projects
	Registries  Registries
	Roles       roles.Roles
	SCIM        provisioned.Provisioned
	Sessions    Sessions
	Settings    tenants.Settings
	Syncs       Syncs
	Teams       teams.Teams
	Throttling  Throttling
	Times       Times
	Trusts      trusts.Rules
	Users       Users
	Watch       Watch
}

// conn is what the groups of a Tx share.
type conn struct {
	db       *rows.Conn
	ring     *seal.Keyring
	changes  changelist.List
	subjects []string // of Changes.Note
}

func (db *DB) newTx(q sqldb.Querier) *Tx {
	c := &conn{db: &rows.Conn{Querier: q, Postgres: db.Shared()}, ring: db.ring, changes: changelist.Of(q, db.Shared())}
	return &Tx{
		conn:        c,
		APIKeys:     APIKeys{c},
		Addresses:   Addresses{c},
		Allowances:  Allowances{c},
		Audits:      audits.In(c.db, c.ring),
		Changes:     Changes{c.changes, c},
		Channels:    Channels{c},
		Contents:    Contents{c},
		Factors:     secondfactors.In(c.db, c.ring),
		Identities:  identities.In(c.db, c.ring),
		Incidents:   incidents.In(c.db),
		Invitations: invitations.In(c.db),
		Keys:        Keys{c},
		Lists:       listdetails.In(c.db),
		Mutes:       mutes.In(c.db),
		Orgs:        Orgs{c},
		Origins:     Origins{c},
		Outbox:      Outbox{c},
		Projects:    Projects{c},
		Registries:  Registries{c},
		Roles:       roles.In(c.db),
		SCIM:        provisioned.In(c.db),
		Sessions:    Sessions{c},
		Settings:    tenants.In(c.db),
		Syncs:       Syncs{c},
		Teams:       teams.In(c.db),
		Throttling:  Throttling{c},
		Times:       Times{c},
		Trusts:      trusts.In(c.db),
		Users:       Users{c},
		Watch:       Watch{c},
	}
}
