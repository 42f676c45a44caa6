// Package checks validates registry definitions for callers. It checks permissions, limits how many run at once, and writes audit
// records. Package regcheck does the check itself.
package checks

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/filereader"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Limits limits validations. Zero values are the defaults.
type Limits struct {
	Concurrency int // validations at once, in all; default 64
	PerOrg      int // validations at once for one organization; default 8
	PerMinute   int // validations that one user may begin per minute; default 120
}

// Limits of the queue in front of the engine (threat model: egress bounds).
const (
	maxWaiting = 64               // callers that wait for a slot; and as many that wait for their user's limit per minute
	maxWait    = 10 * time.Second // for a slot; and as long for the user's limit per minute
)

// Service validates definitions. It is safe for concurrent use.
type Service struct {
	db         *store.DB
	registries *registries.Service
	checker    *regcheck.Checker
	limiter    *limiter
	perMinute  *perMinute
	scans      *fairqueue.Limiter
	waits      reportWaits
	now        func() time.Time

	// Ambient has who may use the identity of the server; none by default.
	Ambient ambient.Policy
	// ReadFile reads the file of a scan: by default filereader.Read. A service sets that of a filereader.Reader before use.
	ReadFile func(context.Context, filereader.File) (model.Result, error)
	// Traced is called after each check; nil is not called.
	Traced func(ctx context.Context, began time.Time, report *regcheck.Report, err error)
}

// New returns a service that checks with checker and fills in secrets of stored registries.
func New(db *store.DB, stored *registries.Service, checker *regcheck.Checker, limits Limits, now func() time.Time) *Service {
	return &Service{db: db, registries: stored, checker: checker, limiter: newLimiter(limits),
		perMinute: newPerMinute(db, limits.PerMinute, now), now: now,
		scans: newScanLimiter(), waits: reportWaits{count: map[string]int{}}, ReadFile: filereader.Read}
}

// Load returns how many validations run and how many callers wait.
func (s *Service) Load() (running, waiting int) {
	running, waiting = s.limiter.load()
	return running, waiting + s.perMinute.load()
}
