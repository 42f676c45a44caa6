// Package clockmonitor stores the newest time that a server has seen, and reports a clock that is behind it.
package clockmonitor

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/clock"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	// clockTolerance is how far behind the clock of the machine may be before that is reported: servers differ, and NTP corrects clocks.
	clockTolerance = 5 * time.Minute
	clockInterval  = time.Minute

	// stopTime is how long no server has stored its time when the service as a whole did not work: none ran, or none reached the store.
	// The start of one more server is not a stop.
	stopTime = 5 * clockInterval

	// WaitHold is how long a step of the clock forward must last before waits after failed logins take account of it: longer than most
	// of them.
	WaitHold = time.Hour
)

// Monitor compares the clock of this machine with the newest time of the store: it may be far behind it, or was set back.
type Monitor struct {
	DB    *store.DB
	Clock *clock.Clock
	Log   *slog.Logger
	// AfterStop, if set, is called after the service as a whole did not work for stopTime, or the clock was set forward by it.
	AfterStop func(context.Context) error
	newest    atomic.Int64 // milliseconds; the newest that this process has seen in the store
}

// Run monitors the clock until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	started, reported := false, false
	loop.Repeat(ctx, clockInterval, func(ctx context.Context) {
		err := m.poll(ctx, !started)
		started = started || err == nil
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("clock check failed", "retry_in", clockInterval, "error", err)
		}
		behind := m.Behind()
		if behind > clockTolerance && !reported {
			m.report(behind)
		}
		reported = behind > clockTolerance
	})
}

// poll reads the newest time, and stores that of this server if it is newer. The first poll of a server stores its own in any case: the
// difference was reported then, and the start accepts the clock.
func (m *Monitor) poll(ctx context.Context, first bool) error {
	newest, err := store.Read(ctx, m.DB, func(tx *store.Tx) (time.Time, error) { return tx.Times.Newest(ctx) })
	if err != nil {
		return err
	}
	m.newest.Store(max(m.newest.Load(), newest.UnixMilli()))
	if m.AfterStop != nil && m.Clock.Now().Sub(newest) > stopTime {
		if err := m.AfterStop(ctx); err != nil {
			return err
		}
	}
	return m.DB.InTx(ctx, func(tx *store.Tx) error {
		if first {
			return tx.Times.Set(ctx, m.Clock.Now())
		}
		return tx.Times.Note(ctx, m.Clock.Now())
	})
}

func (m *Monitor) report(behind time.Duration) {
	m.Log.Error("clock of this machine is behind", "behind", behind.Round(time.Second),
		"newest_time", time.Now().Add(behind).UTC().Format(time.RFC3339),
		"hint", "Set the clock of this machine right, then restart the server. If it was ahead before and is right now, only restart "+
			"the server.")
}

// Behind returns how far the clock of the machine is behind the newest time.
func (m *Monitor) Behind() time.Duration { return m.Clock.Behind(time.UnixMilli(m.newest.Load())) }
