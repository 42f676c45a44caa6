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
// drops everything. Whoever has waited for a while raises it; then a connection to each host is tried. When none
// succeeds nobody waits any more until one does: neither who comes, nor who is waiting. When one succeeds at another
// server than where the connections lead, whoever is waiting waits for a server that lost its part.
type doubt struct {
	hosts  *hosts
	config *pgx.ConnConfig
	moved  func() // called when another server takes the writes

	serving atomic.Pointer[string] // the address of the server that the newest connection leads to
	away    atomic.Bool
	raised  atomic.Bool
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	there  context.Context // ends when waiting is in vain
	leave  context.CancelFunc
}

func newDoubt(config *pgx.ConnConfig, moved func()) *doubt {
	d := &doubt{hosts: hostsOf(config), config: config.Copy(), moved: moved}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.there, d.leave = context.WithCancel(d.ctx)
	return d
}

// served notes where a new connection of a pool leads.
func (d *doubt) served(conn *pgx.Conn) {
	address := conn.PgConn().Conn().RemoteAddr().String()
	d.serving.Store(&address)
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
	for {
		index, address, ok := d.tryAll()
		if ok {
			d.found(index, address)
			break
		}
		d.away.Store(true)
		d.cut()
		if !pauseFor(d.ctx, lookAgain) {
			return
		}
	}
	d.away.Store(false)
	pauseFor(d.ctx, doubtAfter)
}

// found puts a server first that answered, and gives those up who wait for another.
func (d *doubt) found(index int, address string) {
	if address == "" { // it refused to let us in
		return
	}
	d.hosts.first.Store(int64(index))
	if serving := d.serving.Swap(&address); serving != nil && *serving != address {
		d.cut()
		d.moved()
	}
}

// cut ends all waiting.
func (d *doubt) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave()
	d.there, d.leave = context.WithCancel(d.ctx)
}

// tryAll tries a connection to each host at the same time, and returns the first that succeeds, and to which address.
// When there is none, but a host refused to let us in, it is ok without an address.
func (d *doubt) tryAll() (index int, address string, ok bool) {
	type outcome struct {
		index   int
		address string
		err     error
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	outcomes := make(chan outcome, len(d.hosts.list))
	for i := range d.hosts.list {
		d.running.Go(func() {
			address, err := try(ctx, d.hosts.only(d.config, i))
			outcomes <- outcome{i, address, err}
		})
	}
	for range d.hosts.list {
		o := <-outcomes
		if o.err == nil {
			return o.index, o.address, true
		}
		ok = ok || refuses(o.err)
	}
	return 0, "", ok
}

// try makes a connection, which is all that is asked, and tells where it led.
func try(ctx context.Context, config *pgx.ConnConfig) (address string, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	address = conn.PgConn().Conn().RemoteAddr().String()
	_ = conn.Close(ctx)
	return address, nil
}

// refuses tells whether a try failed at a database that works for those who have a connection: it has no room for another
// (53300, and 08P01 of PgBouncer), or takes another password by now (28P01). One that is being started or shut down (57)
// or takes no writes serves nobody.
func refuses(err error) bool {
	code := codeOf(err)
	return code != "" && !strings.HasPrefix(code, "57") && code != codeReadOnly
}

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
