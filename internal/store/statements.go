package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// preparer is what makes statements: the pool of readers, or the writer's one connection.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements runs queries and prepares each one once. The queries are constants of this package, so
// there are few. It is safe for concurrent use when its source is.
type statements struct {
	source preparer

	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
}

func newStatements(source preparer) *statements {
	return &statements{source: source, prepared: map[string]*sql.Stmt{}}
}

func (s *statements) exec(ctx context.Context, query string, args []any) (int64, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return 0, translate(err)
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, translate(err)
	}
	return result.RowsAffected()
}

// later has nothing to save: a statement is no round trip here.
func (s *statements) later(ctx context.Context, query string, args []any) error {
	_, err := s.exec(ctx, query, args)
	return err
}

func (s *statements) each(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return translate(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return translate(rows.Err())
}

// wake has nothing to do: the processes of one machine ask often enough.
func (s *statements) wake() {}

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
