package service_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/test/instance"
)

var (
	clockBehind = regexp.MustCompile(`(?m)^regwarden_clock_behind_seconds (\S+)$`)
	farBehind   = regexp.MustCompile(`level=ERROR msg="clock of this machine is behind" behind=(24h0m0s|23h59m)`)
)

// TestClockFarBehindIsReported starts a server on a store whose newest time is a day ahead, as after its clock was set back.
func TestClockFarBehindIsReported(t *testing.T) {
	t.Parallel()
	first := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	awaitNewest(t, first.DataDir, time.Now())
	if match := clockBehind.FindStringSubmatch(first.Metrics(t)); match == nil || match[1] != "0" || first.Logs("clock of this machine") {
		t.Errorf("with a right clock: %q\n%s", match, first.Log())
	}
	first.Kill()
	setNewest(t, first.DataDir, time.Now().Add(24*time.Hour))
	second := instance.Start(t, instance.Options{DataDir: first.DataDir, Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	instance.Await(t, "the log names the clock", func() bool { return second.Logs("clock of this machine is behind") })
	if log := second.Log(); !farBehind.MatchString(log) {
		t.Errorf("the log does not have how far:\n%s", log)
	}
	if match := clockBehind.FindStringSubmatch(second.Metrics(t)); match == nil || !strings.HasPrefix(match[1], "86") {
		t.Errorf("the metric is %q, want about 86400", match)
	}
	second.Client(t).Login()
	awaitNewest(t, first.DataDir, time.Now())
	second.Kill()
	third := instance.Start(t, instance.Options{DataDir: first.DataDir})
	third.Client(t).Login()
	if third.Logs("clock of this machine") {
		t.Errorf("the start before accepted the clock:\n%s", third.Log())
	}
}

// A restart moves no check that is overdue. After an hour without a server it spreads the missed ones.
func TestOnlyLongStopSpreadsChecks(t *testing.T) {
	t.Parallel()
	first := instance.Start(t, instance.Options{Flags: []string{"--watch-interval", "0s"}})
	awaitNewest(t, first.DataDir, time.Now())
	client := first.Client(t)
	admin := person{t, client, []string{"Authorization", client.Login().Authorization}}
	endpoint, _, _ := slowRegistry(t) // no check ends, so that a busy machine does not see all of them done
	for i := range 100 {
		admin.make(registriesPath, newRegistry(fmt.Sprint("registry-", i), spec(endpoint, object{"type": "noAuth"}, nil)))
	}
	first.Kill()
	for stopped, spread := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		setNewest(t, first.DataDir, time.Now().Add(-stopped))
		missed := time.Now().Add(-time.Hour)
		withStoreFile(t, first.DataDir, func(db *sqldb.Raw) error {
			_, err := db.ExecContext(t.Context(), "UPDATE registry_watch SET next_at = $1, lease_owner = NULL", missed.UnixMilli())
			return err
		})
		next := instance.Start(t, instance.Options{DataDir: first.DataDir, Flags: []string{"--watch-concurrency", "1"}})
		awaitNewest(t, first.DataDir, time.Now().Add(30*time.Second)) // that of this start
		var overdue int                                               // and not being checked already
		withStoreFile(t, first.DataDir, func(db *sqldb.Raw) error {
			return db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM registry_watch WHERE next_at = $1 AND lease_owner IS NULL",
				missed.UnixMilli()).Scan(&overdue)
		})
		if (overdue == 0) != spread || next.Logs("missed checks rescheduled") != spread {
			t.Errorf("after a start without a server for %v %d checks are overdue, want them spread: %v\n%s", stopped,
				overdue, spread, next.Log())
		}
		next.Kill()
	}
}

// awaitNewest waits until the stored time is about that time.
func awaitNewest(t *testing.T, dir string, want time.Time) {
	t.Helper()
	instance.Await(t, "the time is stored", func() bool {
		var newest int64
		withStoreFile(t, dir, func(db *sqldb.Raw) error {
			return db.QueryRowContext(t.Context(), "SELECT newest FROM service_clock").Scan(&newest)
		})
		return time.UnixMilli(newest).Sub(want).Abs() < time.Minute
	})
}

func setNewest(t *testing.T, dir string, at time.Time) {
	t.Helper()
	withStoreFile(t, dir, func(db *sqldb.Raw) error {
		_, err := db.ExecContext(t.Context(), "UPDATE service_clock SET newest = $1", at.UnixMilli())
		return err
	})
}

func withStoreFile(t *testing.T, dir string, use func(*sqldb.Raw) error) {
	t.Helper()
	db, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := use(db); err != nil {
		t.Fatal(err)
	}
}
