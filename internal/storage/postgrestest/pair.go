package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pair is a primary and a standby that streams from it, over loopback. The roles change: the primary is killed, the
// standby promoted, and the killed server created again as the standby of the other.
//
// Replication is synchronous (synchronous_standby_names): a commit is acknowledged once both have it on disk. With
// asynchronous replication a promotion loses the last acknowledged commits, which no client can prevent. A pair without a
// standby must continue alone until there is a new one: as a failover manager does, Promote removes the lost standby from
// the setting, and Rebuild adds the new one.
type Pair struct{ primary, standby *Server }

const (
	wholeSettings = "host=127.0.0.1 port=%d user=" + User + " application_name=standby"
	sqlCaughtUp   = `SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') AND flush_lsn >= $1::pg_lsn)`
)

// StartPair runs a pair until the test ends.
func StartPair(t testing.TB, o Options) *Pair {
	t.Helper()
	o.Settings = append(o.Settings, "wal_retrieve_retry_interval = '200ms'") // otherwise a promotion may begin with a pause of 5 s
	p := &Pair{primary: Start(t, o)}
	standby, err := p.primary.newStandby()
	if err != nil {
		t.Fatal(err)
	}
	p.standby = standby
	removeAfter(t, standby)
	if err := p.Rebuild(); err != nil {
		t.Fatal(err)
	}
	return p
}

// removeAfter ends a server with its test.
func removeAfter(t testing.TB, s *Server) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of PostgreSQL at %s:\n%s", s.Address(), s.Log())
		}
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
}

// newStandby returns a server of the same kind without data, which does not run yet.
func (s *Server) newStandby() (*Server, error) {
	other := &Server{options: s.options, bin: s.bin, owner: s.owner}
	return other, other.reserve()
}

// NewDatabase creates an empty database on both servers and returns its address, which names both.
func (p *Pair) NewDatabase(t testing.TB) string {
	t.Helper()
	alone := strings.TrimSuffix(p.primary.NewDatabase(t), SlowConnect) // so that a silent server does not delay the attempt at the other
	both := p.primary.Address() + "," + p.standby.Address()
	return strings.Replace(alone, p.primary.Address(), both, 1) + "&target_session_attrs=read-write"
}

// Primary returns the server that currently accepts writes.
func (p *Pair) Primary() *Server { return p.primary }

// Standby returns the other server.
func (p *Pair) Standby() *Server { return p.standby }

// Promote makes the standby the primary, and returns when it accepts writes. The old primary must have been killed.
func (p *Pair) Promote(ctx context.Context) error {
	p.primary, p.standby = p.standby, p.primary
	if err := p.primary.set(ctx, "synchronous_standby_names", ""); err != nil {
		return fmt.Errorf("continue without the lost standby: %w", err)
	}
	if err := p.primary.Exec(ctx, p.primary.URL("postgres"), "SELECT pg_promote(true, 60)"); err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	return nil
}

// Rebuild creates the standby again from the primary, and returns when every commit is on both. The standby must not run.
func (p *Pair) Rebuild() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	if err := os.RemoveAll(p.standby.data()); err != nil {
		return err
	}
	from := fmt.Sprintf(wholeSettings, p.primary.address.Port())
	backup := p.primary.command("pg_basebackup", "--pgdata", p.standby.data(), "--dbname", from, "--checkpoint", "fast", "--wal-method",
		"stream", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := p.standby.follow(from); err != nil {
		return err
	}
	if err := p.standby.Run(); err != nil {
		return errors.Join(err, errors.New(p.standby.Log()))
	}
	if err := p.primary.set(ctx, "synchronous_standby_names", "*"); err != nil {
		return err
	}
	return p.primary.awaitStandby(ctx)
}

// follow configures a server that is not started yet as a standby of another.
func (s *Server) follow(from string) error {
	signal := filepath.Join(s.data(), "standby.signal")
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), s.own(signal)); err != nil {
		return err
	}
	settings, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// The last setting wins. The password comes from the server's environment.
	_, err = fmt.Fprintf(settings, "primary_conninfo = '%s'\nunix_socket_directories = '%s'\n", from, s.Dir)
	return errors.Join(err, settings.Close())
}

// set changes a setting permanently, also on a standby, since this does not write to the database.
func (s *Server) set(ctx context.Context, name, value string) error {
	return s.Exec(ctx, s.URL("postgres"), "ALTER SYSTEM SET "+name+" = '"+value+"'", "SELECT pg_reload_conf()")
}

// awaitStandby returns when the standby is synchronous and has every commit from before that moment.
func (s *Server) awaitStandby(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for synchronous := false; ; {
		var end string
		if err := conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&end); err != nil {
			return err
		}
		var caughtUp bool
		if err := conn.QueryRow(ctx, sqlCaughtUp, end).Scan(&caughtUp); err != nil {
			return err
		}
		if caughtUp && synchronous {
			return nil
		}
		synchronous = caughtUp // twice: commits from the time of the change count too
		select {
		case <-ctx.Done():
			return fmt.Errorf("the standby does not catch up: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
