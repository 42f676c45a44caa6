package store

import (
	"context"
	"errors"
	"net"
	"slices"
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

	serving atomic.Pointer[place] // where the newest connection leads to
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

// place is where a connection leads to: to a server, by an address.
type place struct{ server, address string }

// served notes where a new connection of a pool leads.
func (d *doubt) served(ctx context.Context, conn *pgx.Conn) error {
	to, err := identify(ctx, conn)
	if err == nil {
		d.serving.Store(&to)
	}
	return err
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
		index, to, ok := d.tryAll()
		if ok {
			d.found(index, to)
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
func (d *doubt) found(index int, to place) {
	if to == (place{}) { // it refused to let us in
		return
	}
	d.hosts.first.Store(int64(index))
	if serving := d.serving.Swap(&to); serving != nil && *serving != to {
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

// trial is the outcome of a try of one host.
type trial struct {
	index int
	to    place
	err   error
}

// tryAll tries a connection to each host at the same time, and returns the first that succeeds, and where it led. When
// there is none, but a host refused to let us in, it is ok without a place.
func (d *doubt) tryAll() (index int, to place, ok bool) {
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	trials := make(chan trial, len(d.hosts.list))
	for i := range d.hosts.list {
		d.running.Go(func() {
			to, err := try(ctx, d.inUseFirst(d.hosts.only(d.config, i)))
			trials <- trial{i, to, err}
		})
	}
	return d.choose(trials)
}

// choose prefers the way in use to a faster one to the same server, such as another pooler, and waits for it a little.
func (d *doubt) choose(trials <-chan trial) (index int, to place, ok bool) {
	var other *trial
	var late <-chan time.Time
	refused := false
	for range d.hosts.list {
		var one trial
		select {
		case one = <-trials:
		case <-late:
			return other.index, other.to, true
		}
		serving := d.serving.Load()
		switch {
		case one.err != nil:
			refused = refused || refuses(one.err)
		case serving == nil || one.to == *serving || one.to.server != serving.server:
			return one.index, one.to, true
		case other == nil:
			other, late = &one, time.After(doubtAfter)
		}
	}
	if other == nil || refused { // it may be the way in use that refused
		return 0, place{}, refused
	}
	return other.index, other.to, true
}

// inUseFirst has the address in use tried before the others that a name of a host has.
func (d *doubt) inUseFirst(config *pgx.ConnConfig) *pgx.ConnConfig {
	serving, lookUp := d.serving.Load(), config.LookupFunc
	if serving == nil {
		return config
	}
	inUse, _, _ := net.SplitHostPort(serving.address)
	config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookUp(ctx, host)
		if i := slices.Index(addresses, inUse); i > 0 {
			addresses = slices.Insert(slices.Delete(addresses, i, i+1), 0, inUse)
		}
		return addresses, err
	}
	return config
}

// try makes a connection and asks where it led.
func try(ctx context.Context, config *pgx.ConnConfig) (place, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return place{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	defer func() { _ = conn.Close(ctx) }()
	return identify(ctx, conn)
}

const sqlWhichServer = `SELECT CAST(pg_postmaster_start_time() AS TEXT)`

// identify tells servers apart by the microsecond in which they were started: several addresses may lead to the same one
// (poolers, a name with several addresses), and after a failover one address to another. One that has no such function is
// told by its address.
func identify(ctx context.Context, conn *pgx.Conn) (place, error) {
	address := conn.PgConn().Conn().RemoteAddr().String()
	results, err := conn.PgConn().Exec(ctx, sqlWhichServer).ReadAll()
	switch {
	case err == nil && len(results) == 1 && len(results[0].Rows) == 1:
		return place{string(results[0].Rows[0][0]), address}, nil
	case err == nil || codeOf(err) != "" && !conn.IsClosed():
		return place{address, address}, nil
	}
	return place{}, err
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
