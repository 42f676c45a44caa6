package sqldb

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/loop"
)

// The channel on which servers notify each other of a change. Notifications have no content: what changed is in the tables,
// which servers poll in any case.
const (
	sqlNotify = `SELECT pg_notify('regwarden_changes', '')`
	sqlListen = `LISTEN regwarden_changes`
)

const (
	listenBackoff = time.Second      // after the connection was lost, on average
	listenCheck   = 10 * time.Second // without a notification, after which the connection is checked
)

// listener receives the notifications of other servers on its own connection.
type listener struct {
	config  *pgx.ConnConfig
	changed chan struct{}
	healthy atomic.Bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

// listen starts the listener, or one that receives nothing when the database has no NOTIFY.
func listen(config *pgx.ConnConfig, supported bool) *listener {
	ctx, stop := context.WithCancel(context.Background())
	l := &listener{config: config.Copy(), changed: make(chan struct{}, 1), stop: stop}
	if supported {
		l.running.Go(func() { l.run(ctx) })
	}
	return l
}

// Changed is described at engine.
func (l *listener) Changed() <-chan struct{} { return l.changed }

// Listening is described at engine.
func (l *listener) Listening() bool { return l.healthy.Load() }

func (l *listener) close() {
	l.stop()
	l.running.Wait()
}

func (l *listener) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.receive(ctx)
		l.healthy.Store(false)
		_ = loop.Sleep(ctx, listenBackoff/2+rand.N(listenBackoff)) // #nosec G404 -- spreads, and guards nothing
	}
}

// receive listens until the connection is lost. Its errors only show in Listening: callers then poll more often.
func (l *listener) receive(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return
	}
	defer func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(bound)
	}()
	if err := l.subscribe(ctx, conn); err != nil {
		return
	}
	l.healthy.Store(true)
	for ; err == nil; err = l.wait(ctx, conn) {
		select {
		case l.changed <- struct{}{}: // also at the beginning: something may have been missed
		default: // the last value was not received yet, and covers this change too
		}
	}
}

// subscribe makes a new connection receive notifications, or fails if the database becomes unresponsive.
func (l *listener) subscribe(ctx context.Context, conn *pgx.Conn) error {
	bound, cancel := context.WithTimeout(ctx, l.config.ConnectTimeout)
	defer cancel()
	if err := detectLoss(bound, conn); err != nil {
		return err
	}
	_, err := conn.Exec(bound, sqlListen)
	return err
}

// wait returns when there is a notification, or the connection's error.
func (l *listener) wait(ctx context.Context, conn *pgx.Conn) error {
	for {
		idle, cancel := context.WithTimeout(ctx, listenCheck)
		_, err := conn.WaitForNotification(idle)
		cancel()
		if err == nil {
			return nil
		}
		if idle.Err() == nil || ctx.Err() != nil || conn.IsClosed() {
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
