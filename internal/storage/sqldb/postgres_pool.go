package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	acquireTimeout = 2 * time.Second // for a connection, a new one included
	maxAcquiring   = 256             // callers that may wait for a connection; more are refused at once
)

var (
	errTooMany = errors.New("too many callers wait for a connection to the database")
	errNoConn  = errors.New("no connection to the database within " + acquireTimeout.String())
)

// pool gives connections within a bounded time to a bounded number of callers, so that an unreachable database delays
// no caller for long. Writers and readers each leave a connection to the other, so that neither delays the other for long.
type pool struct {
	conns   *pgxpool.Pool
	timeout time.Duration // to acquire a connection
	writers share
	readers share
}

// share is what one kind of callers may use of a pool.
type share struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// pooledConn is a connection that is in use.
type pooledConn struct {
	*pgxpool.Conn
	share *share
}

// Release gives the connection back. One that is still in a transaction is closed.
func (c pooledConn) Release() {
	c.Conn.Release()
	<-c.share.slots
}

// newPool returns a pool. It opens the first connection, for which the only time limit is connect_timeout: no caller waits for a start.
func newPool(ctx context.Context, config *pgxpool.Config, timeout time.Duration) (*pool, error) {
	pooled, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", Translate(err))
	}
	if err := pooled.Ping(ctx); err != nil {
		pooled.Close()
		return nil, fmt.Errorf("open the database: %w", Translate(err))
	}
	slots := func() chan struct{} { return make(chan struct{}, config.MaxConns-1) }
	return &pool{conns: pooled, timeout: timeout, writers: share{slots: slots()}, readers: share{slots: slots()}}, nil
}

// acquire returns a connection, which the caller releases, or fails at the latest at until. Its error is a fault, or ctx's
// own when the caller has left.
func (p *pool) acquire(ctx context.Context, until time.Time, s *share) (conn pooledConn, err error) {
	if err := ctx.Err(); err != nil {
		return conn, err
	}
	if s.waiting.Add(1) > maxAcquiring {
		s.waiting.Add(-1)
		return conn, unavailable(errTooMany)
	}
	defer s.waiting.Add(-1)
	bound, cancel := context.WithTimeout(ctx, min(p.timeout, time.Until(until)))
	defer cancel()
	got := s.acquire(bound)
	if got {
		conn.share = s
		if conn.Conn, err = p.conns.Acquire(bound); err == nil {
			return conn, nil
		}
		defer func() { <-s.slots }()
	}
	switch {
	case ctx.Err() != nil:
		return conn, ctx.Err()
	case bound.Err() != nil:
		return conn, unavailable(p.noConn(got))
	}
	return conn, unreachable(err)
}

// acquire reports whether there was a slot before the end of ctx.
func (s *share) acquire(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// noConn returns errNoConn with what an operator can do about it. free: another connection was allowed.
func (p *pool) noConn(free bool) error {
	now := p.conns.Stat()
	if free && now.AcquiredConns() < now.MaxConns() {
		return fmt.Errorf("%w: it is slow to open one more, %d are in use", errNoConn, now.AcquiredConns())
	}
	return fmt.Errorf("%w: all %d are in use; pool_max_conns in the URL allows more", errNoConn, now.AcquiredConns())
}
