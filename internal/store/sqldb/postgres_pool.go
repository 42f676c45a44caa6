package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
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
// no caller for long.
type pool struct {
	conns   *pgxpool.Pool
	timeout time.Duration // to acquire a connection
	waiting atomic.Int64
}

// newPool returns a pool of at most that many connections, each prepared by these statements. It opens the first one, for which the only
// time limit is connect_timeout: no caller waits for a start.
func newPool(ctx context.Context, config *pgxpool.Config, conns int32, timeout time.Duration, prepare string) (*pool, error) {
	config = config.Copy()
	config.MaxConns = conns
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return prepareConn(ctx, conn, prepare) }
	pooled, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", Translate(err))
	}
	if err := pooled.Ping(ctx); err != nil {
		pooled.Close()
		return nil, fmt.Errorf("open the database: %w", Translate(err))
	}
	return &pool{conns: pooled, timeout: timeout}, nil
}

// acquire returns a connection, which the caller releases, or fails at the latest at until. Its error is a fault, or ctx's
// own when the caller has left.
func (p *pool) acquire(ctx context.Context, until time.Time) (*pgxpool.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.waiting.Add(1) > maxAcquiring {
		p.waiting.Add(-1)
		return nil, unavailable(errTooMany)
	}
	defer p.waiting.Add(-1)
	bound, cancel := context.WithTimeout(ctx, min(p.timeout, time.Until(until)))
	defer cancel()
	conn, err := p.conns.Acquire(bound)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bound.Err() != nil:
		return nil, unavailable(p.noConn())
	}
	return nil, unreachable(err)
}

// noConn returns errNoConn with what an operator can do about it.
func (p *pool) noConn() error {
	now := p.conns.Stat()
	if now.AcquiredConns() < now.MaxConns() {
		return fmt.Errorf("%w: it is slow to open one more, %d are in use", errNoConn, now.AcquiredConns())
	}
	return fmt.Errorf("%w: all %d are in use; pool_max_conns in the URL allows more", errNoConn, now.MaxConns())
}

func (p *pool) close() { p.conns.Close() }
