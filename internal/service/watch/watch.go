// Package watch checks stored registries on a schedule and on request. It maintains their health status and its history, and raises
// alerts when the status changes.
//
// Package regcheck does the check itself, and package alerts delivers alerts.
package watch

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Service checks stored registries. It is safe for concurrent use.
type Service struct {
	db         *store.DB
	registries *registries.Service
	checker    *regcheck.Checker
	now        func() time.Time

	Ambient ambient.Policy // who may use the identity of the server; none by default
	// Traced is called after each check; nil is not called.
	Traced func(ctx context.Context, began time.Time, report *regcheck.Report, err error)
}

// New returns a service that checks with checker.
func New(db *store.DB, stored *registries.Service, checker *regcheck.Checker, now func() time.Time) *Service {
	return &Service{db: db, registries: stored, checker: checker, now: now}
}
