package postgrestest

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Number asks a database for one number, on a connection of its own.
func Number(ctx context.Context, url, query string, args ...any) (n int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}
