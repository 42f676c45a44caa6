package sqldb

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres is a PostgreSQL database. Transactions and other queries run concurrently on a pool of connections.
type postgres struct {
	pool  *pool
	begin string
	// of a transaction or a query with its connection and retries: an unresponsive server must not delay callers for longer
	limit    time.Duration
	cancels  bool // Options.Cancel
	notifies bool // the database has NOTIFY
	pooling  atomic.Pointer[pooling]
	sharer   *sharer
	*listener
}

func openPostgres(ctx context.Context, o Options, setup func(context.Context, *Raw) error) (engine, error) {
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	raw, err := openRawPostgres(ctx, config, o.MustHave)
	if err != nil {
		return nil, err
	}
	p := &postgres{begin: "BEGIN ISOLATION LEVEL READ COMMITTED", limit: cmp.Or(o.Timeout, txTimeout), cancels: o.Cancel}
	p.pooling.Store(raw.pooling)
	if err = setup(ctx, raw); err == nil {
		p.notifies, err = supportsNotify(ctx, raw.DB)
	}
	if err = errors.Join(err, raw.Close()); err != nil {
		return nil, err
	}
	p.prepare(config)
	if p.pool, err = newPool(ctx, config, cmp.Or(o.Timeout, acquireTimeout)); err != nil {
		return nil, err
	}
	p.sharer = newSharer(p)
	p.listener = listen(config.ConnConfig, p.notifies && !raw.pooling.transactions)
	return p, nil
}

// prepare sets what is done with each new connection of the pool.
func (p *postgres) prepare(config *pgxpool.Config) {
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.DefaultQueryExecMode = p.pooling.Load().execMode()
		return nil
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if p.pooling.Load().transactions {
			return nil
		}
		bound, cancel := context.WithTimeout(ctx, config.ConnConfig.ConnectTimeout) // one that becomes unresponsive must not keep its place
		defer cancel()
		return prepareConn(bound, conn, prepareSession)
	}
}

// checkDisk checks nothing: the disk is PostgreSQL's own.
func (p *postgres) checkDisk() error { return nil }

// Ping runs a query.
func (p *postgres) Ping(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, p.pool.timeout)
	defer cancel()
	err := pgReader{p}.Each(bound, "SELECT 1", nil, func(Scanner) error { return nil })
	if bound.Err() != nil && ctx.Err() == nil {
		return unavailable(errNoConn)
	}
	return err
}

// Close waits for running transactions, but not for a database that no longer responds.
func (p *postgres) Close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.listener.close()
		p.sharer.close()
		p.pool.conns.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(txTimeout + time.Second):
		return unavailable(errors.New("the database does not confirm the end of its connections"))
	}
}

// Shared is true: any number of servers may use the database.
func (p *postgres) Shared() bool { return true }

func (p *postgres) reader() (Querier, error) { return pgReader{p}, nil }
