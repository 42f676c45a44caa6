package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// preparer prepares statements: the pool of readers, or the writer's one connection.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements runs queries and prepares each one once. The queries are constants of the program, so there are few. It is
// safe for concurrent use when its source is.
type statements struct {
	source preparer

	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
}

func newStatements(source preparer) *statements {
	return &statements{source: source, prepared: map[string]*sql.Stmt{}}
}

func (s *statements) Exec(ctx context.Context, query string, args []any) (int64, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return 0, Translate(err)
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, Translate(err)
	}
	return result.RowsAffected()
}

// ExecDeferred runs the query at once, since that takes no round trip.
func (s *statements) ExecDeferred(ctx context.Context, query string, args []any) error {
	_, err := s.Exec(ctx, query, args)
	return err
}

func (s *statements) Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return Translate(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return Translate(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return Translate(rows.Err())
}

// Notify does nothing: SQLite has no notifications, and processes on one machine poll often enough.
func (s *statements) Notify() {}

func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.prepared[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.source.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.prepared[query] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []error
	for _, stmt := range s.prepared {
		problems = append(problems, stmt.Close())
	}
	clear(s.prepared)
	return errors.Join(problems...)
}
