package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	doubtAfter = time.Second            // of waiting for the database: somebody is to look
	lookAgain  = 250 * time.Millisecond // while it is away
)

var errSilent = errors.New("the database does not answer")

// doubt keeps those who need the database from waiting for one that is silent: a machine that stopped, a network that
// drops everything. Whoever has waited for a while raises it; then one connection of its own is tried, and when that
// fails too nobody waits any more until one succeeds: neither who comes, nor who is waiting.
type doubt struct {
	try     func(context.Context) error // a connection
	away    atomic.Bool
	raised  atomic.Bool
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	there  context.Context // ends when the database is found to be away
	leave  context.CancelFunc
}

func newDoubt(config *pgx.ConnConfig) *doubt {
	config = config.Copy()
	d := &doubt{try: func(ctx context.Context) error {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			_ = conn.Close(ctx) // it answered, which is all that was asked
		}
		return err
	}}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.there, d.leave = context.WithCancel(d.ctx)
	return d
}

// waiting is called by who begins to wait, and what it returns once that is over. cancel ends the waiting when the
// database is found to be away.
func (d *doubt) waiting(cancel context.CancelFunc) (over func()) {
	d.mu.Lock()
	there := d.there
	d.mu.Unlock()
	late := time.AfterFunc(doubtAfter, d.raise)
	cut := context.AfterFunc(there, cancel)
	return func() {
		late.Stop()
		cut()
	}
}

// raise has the database looked at, unless somebody looks already.
func (d *doubt) raise() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && d.raised.CompareAndSwap(false, true) {
		d.running.Go(d.look)
	}
}

// look tries connections until one succeeds. One that did is believed for a while, since it cost the database a process.
func (d *doubt) look() {
	defer d.raised.Store(false)
	for !answers(d.try(d.ctx)) {
		d.away.Store(true)
		d.leave()
		if !pauseFor(d.ctx, lookAgain) {
			return
		}
	}
	if d.away.Load() {
		d.mu.Lock()
		d.there, d.leave = context.WithCancel(d.ctx)
		d.mu.Unlock()
		d.away.Store(false)
	}
	pauseFor(d.ctx, doubtAfter)
}

// answers tells whether the outcome of a try is a database's that works for those who have a connection: it may have no
// room for another (class 53).
func answers(err error) bool { return err == nil || strings.HasPrefix(codeOf(err), "53") }

func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *doubt) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	d.running.Wait()
}
