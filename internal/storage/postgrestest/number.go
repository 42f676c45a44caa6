package postgrestest

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Number returns the result of a query for one number, which runs on its own connection.
func Number(ctx context.Context, url, query string, args ...any) (n int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}
