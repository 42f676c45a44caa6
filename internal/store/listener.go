package store

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// The channel on which servers tell each other that the list of changes has grown. It carries nothing else: what changed
// is in the list, which is asked in any case.
const (
	sqlNotify = `SELECT pg_notify('regwarden_changes', '')`
	sqlListen = `LISTEN regwarden_changes`
)

const (
	listenAgain = time.Second      // after the connection was lost, on average
	listenCheck = 10 * time.Second // of silence, after which the connection is tried
)

// listener waits on a connection of its own for other servers to tell of changes.
type listener struct {
	config  *pgx.ConnConfig
	changed chan struct{}
	healthy atomic.Bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

// listen starts the listener, or one that hears nothing when the database has no NOTIFY.
func listen(config *pgx.ConnConfig, supported bool) *listener {
	ctx, stop := context.WithCancel(context.Background())
	l := &listener{config: config.Copy(), changed: make(chan struct{}, 1), stop: stop}
	if supported {
		l.running.Go(func() { l.run(ctx) })
	}
	return l
}

// Changed is described at database.
func (l *listener) Changed() <-chan struct{} { return l.changed }

// Listening is described at database.
func (l *listener) Listening() bool { return l.healthy.Load() }

func (l *listener) close() {
	l.stop()
	l.running.Wait()
}

func (l *listener) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.hear(ctx)
		l.healthy.Store(false)
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain/2 + rand.N(listenAgain)): // #nosec G404 -- spreads, and guards nothing
		}
	}
}

// hear listens until the connection is lost. Errors are told by Listening: whoever relies on being woken asks more often.
func (l *listener) hear(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return
	}
	defer func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bound)
	}()
	if err := noticeLoss(ctx, conn); err != nil {
		return
	}
	if _, err := conn.Exec(ctx, sqlListen); err != nil {
		return
	}
	l.healthy.Store(true)
	for ; err == nil; err = l.wait(ctx, conn) {
		select {
		case l.changed <- struct{}{}: // also at the beginning: something may have been missed
		default: // nobody has taken the last one yet, who will see this change too
		}
	}
}

// wait returns when there is a notification, or with the connection's error.
func (l *listener) wait(ctx context.Context, conn *pgx.Conn) error {
	for {
		silence, cancel := context.WithTimeout(ctx, listenCheck)
		_, err := conn.WaitForNotification(silence)
		cancel()
		if err == nil {
			return nil
		}
		if silence.Err() == nil || ctx.Err() != nil || conn.IsClosed() {
			return err
		}
		check, cancel := context.WithTimeout(ctx, time.Second)
		err = conn.Ping(check)
		cancel()
		if err != nil {
			return err
		}
	}
}
