package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

func lastChange(t *testing.T, db *DB) error {
	return db.View(t.Context(), func(tx *Tx) error {
		_, err := tx.LastChange(t.Context())
		return err
	})
}

// awaitServed returns when the database answers. It has no time limit but that of the test binary: a busy machine may be slow.
func awaitServed(t *testing.T, db *DB) {
	t.Helper()
	for lastChange(t, db) != nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSilenceIsFoundOutOnce has a database that stops answering: those who wait are told once it was tried in vain, those
// who come then at once, and all are served again when it answers.
func TestSilenceIsFoundOutOnce(t *testing.T) {
	db, proxy := mustOpenVia(t, Shared.Server(t))
	patient(db) // only the doubt ends the waiting
	awaitServed(t, db)
	proxy.next(cutSilence)
	var waiting sync.WaitGroup
	for range 30 { // more than there are connections
		waiting.Go(func() {
			if err := lastChange(t, db); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("told %v", err)
			}
		})
	}
	waiting.Wait()
	for range 1000 { // without waiting for a connection
		if err := lastChange(t, db); fault.KindOf(err) != fault.Unavailable || !errors.Is(err, errSilent) {
			t.Fatalf("told %v", err)
		}
	}
	proxy.next(pass)
	awaitServed(t, db)
}

// TestAnotherHostTakesOver has two ways to a database, and the one that is in use fall silent in the middle of a question.
func TestAnotherHostTakesOver(t *testing.T) {
	server := Shared.Server(t)
	direct := server.NewDatabase(t)
	first, second := startCutProxy(t, server.Address()), startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), first.address()+","+second.address(), 1), Options{MasterKey: testKey})
	doubt := patient(db).doubt // which alone ends the waiting
	awaitServed(t, db)
	first.next(cutSilence)
	awaitServed(t, db)
	if index := doubt.hosts.first.Load(); index != 1 {
		t.Errorf("host %d is tried first", index)
	}
	// A connection that tries the silent host first comes too late in every try.
	write := func() error {
		return db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "kept") })
	}
	err := write()
	for errors.Is(err, errNoConn) {
		err = write()
	}
	if err != nil {
		t.Errorf("a first write: %v", err)
	}
}

// TestTwoWaysToOneServer has two proxies before one database, of which a look takes whichever is faster: somebody who is slow
// must not have those cut off who came the other way.
func TestTwoWaysToOneServer(t *testing.T) {
	server := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	direct := server.NewDatabase(t)
	first, second := startCutProxy(t, server.Address()), startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), first.address()+","+second.address(), 1)+slowConnect, Options{MasterKey: testKey})
	doubt := db.database.(*postgres).doubt
	awaitServed(t, db)
	there := doubt.there
	look := func() {
		t.Helper()
		index, to, ok := doubt.tryAll()
		for !ok { // a connection has its own time limit
			index, to, ok = doubt.tryAll()
		}
		doubt.found(index, to)
	}
	for range 20 {
		if look(); there.Err() != nil {
			t.Fatal("another way is taken for another server")
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	if look(); there.Err() == nil {
		t.Error("another server at the same address is taken for the same")
	}
}

func TestHostsInOrder(t *testing.T) {
	config, err := pgx.ParseConfig("postgres://u@a:1,b:2,c:3/d?sslmode=prefer")
	if err != nil {
		t.Fatal(err)
	}
	said := func(c *pgx.ConnConfig) string {
		ways := []string{c.Host}
		for _, way := range c.Fallbacks {
			ways = append(ways, way.Host)
		}
		return strings.Join(ways, " ")
	}
	h := hostsOf(config)
	h.first.Store(1)
	for range 2 { // the list stays as it is
		ordered := config.Copy()
		if err := h.order(t.Context(), ordered); err != nil || said(ordered) != "b b a a c c" || ordered.TLSConfig == nil || ordered.Fallbacks[0].TLSConfig != nil {
			t.Errorf("in order: %s, %v", said(ordered), err)
		}
	}
	if alone := h.only(config, 2); said(alone) != "c c" || alone.Port != 3 {
		t.Errorf("alone: %s", said(alone))
	}
}

// slowly is a transaction that waits for long enough to raise a doubt.
func slowly(t *testing.T, db *DB) error {
	return db.InTx(t.Context(), func(tx *Tx) error {
		return tx.each(t.Context(), func(scanner) error { return nil }, "SELECT pg_sleep(1.5)")
	})
}

// TestADatabaseThatLetsNobodyInStillServes has the password be changed, after which the connections that are there go on.
func TestADatabaseThatLetsNobodyInStillServes(t *testing.T) {
	url := postgrestest.Start(t, postgrestest.Options{NoSync: true}).NewDatabase(t) + slowConnect
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	awaitServed(t, db)
	if err := slowly(t, db); err != nil {
		t.Fatal(err)
	}
	rawly(t, url, "ALTER ROLE regwarden PASSWORD 'another'")
	if err := slowly(t, db); err != nil {
		t.Errorf("who waited was told: %v", err)
	}
	if err := lastChange(t, db); err != nil {
		t.Errorf("who came then was told: %v", err)
	}
}

func TestWhatARefusalSays(t *testing.T) {
	for code, want := range map[string]bool{
		"53300": true, "28P01": true, "28000": true, "08P01": true,
		"57P01": false, "57P03": false, codeReadOnly: false,
	} {
		if got := refuses(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	if refuses(errSilent) {
		t.Error("silence is taken for a refusal")
	}
}

// TestOneImpatientCallerCostsOneConnection has somebody with little patience wait for a locked row.
func TestOneImpatientCallerCostsOneConnection(t *testing.T) {
	url := Shared.Server(t).NewDatabase(t) + slowConnect
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	const connections = 6
	var running, together sync.WaitGroup
	together.Add(connections)
	for range connections {
		running.Go(func() {
			err := unavailable(errNoConn)
			for errors.Is(err, errNoConn) { // on a busy machine
				err = db.InTx(t.Context(), func(tx *Tx) error {
					together.Done()
					together.Wait()
					return nil
				})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "o") }); err != nil {
		t.Fatal(err)
	}
	before := processes(t, url)
	rename := "UPDATE orgs SET name = name"
	blocker := mustConnect(t, url)
	for _, statement := range []string{"BEGIN", rename} {
		if _, err := blocker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := db.InTx(ctx, func(tx *Tx) error {
		_, err := tx.change(ctx, rename)
		return err
	})
	if err == nil {
		t.Error("a locked row was changed")
	}
	if _, err := blocker.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // in which those that are not trusted would be closed
	after := processes(t, url)
	kept := slices.DeleteFunc(slices.Clone(before), func(pid int64) bool { return !slices.Contains(after, pid) })
	if len(before) < connections || len(kept) < len(before)-1 {
		t.Errorf("of %d connections %d were kept", len(before), len(kept))
	}
}

// processes are the database's for connections of a store.
func processes(t *testing.T, url string) (pids []int64) {
	t.Helper()
	const query = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'regwarden' AND datname = current_database()"
	if err := mustConnect(t, url).QueryRow(t.Context(), query).Scan(&pids); err != nil {
		t.Fatal(err)
	}
	return pids
}
