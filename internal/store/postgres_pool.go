package store

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
	maxAcquiring   = 256             // who may wait for one; the next are told at once
)

var (
	errTooMany = errors.New("too many wait for a connection to the database")
	errNoConn  = errors.New("no connection to the database within " + acquireTimeout.String())
)

// pool hands out connections within a bounded time to a bounded number of callers, so that a database that is away makes
// nobody wait for long.
type pool struct {
	conns   *pgxpool.Pool
	timeout time.Duration // to acquire a connection
	waiting atomic.Int64
}

// newPool makes a pool of at most that many connections, each prepared by these statements.
func newPool(ctx context.Context, config *pgxpool.Config, conns int32, prepare string) (*pool, error) {
	config = config.Copy()
	config.MaxConns = conns
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return prepareConn(ctx, conn, prepare) }
	made, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", translate(err))
	}
	return &pool{conns: made, timeout: acquireTimeout}, nil
}

// acquire returns a connection, to be released, or fails at the latest at until. Its error is a fault, or ctx's own when the caller
// went away.
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
		return nil, unavailable(errNoConn)
	}
	return nil, away(err)
}

func (p *pool) close() { p.conns.Close() }
