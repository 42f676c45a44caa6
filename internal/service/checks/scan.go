package checks

import (
	"context"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/filereader"
)

// ScansAtOnce is how many files are read at once, since reading needs a multiple of the size of a file in memory. One organization has at
// most all but one of them, a user one, and large files leave one free: so a small file of another user never waits for one user's files.
const ScansAtOnce = 3

// largeFile is the size in bytes from which reading a file takes long. One slot is for smaller files.
const largeFile = 512 << 10

// newScanLimiter has the organization first whose files took least, and lets the users of an organization take turns.
func newScanLimiter() *fairqueue.Limiter {
	return fairqueue.New(fairqueue.Config{Workers: ScansAtOnce, PerSource: ScansAtOnce - 1, PerAccount: 1, Queue: maxWaiting,
		Wait: maxWait, ByTime: true,
		Busy: "Too many scans are running. Retry after the time in Retry-After."})
}

// ScanRequest is a file in which to find definitions.
type ScanRequest struct {
	Name    string // of the file in the result
	File    []byte
	Options model.Options
}

// Scan returns the definitions that a file has. It reads no other file, starts no program of others and contacts no registry.
//
// auditUID identifies the audit record. Errors are a *fault.Error, or that of ctx if the caller has disconnected.
func (s *Service) Scan(ctx context.Context, p auth.Principal, origin audit.Origin, r ScanRequest) (
	result model.Result, auditUID string, err error,
) {
	of := Request{Action: audit.RegistryScan}
	release, err := s.admitScan(ctx, p, r)
	if err != nil {
		auditUID, err = s.refuse(ctx, p, origin, of, err)
		return result, auditUID, err
	}
	defer release()
	record := s.auditRecord(p, origin, of, audit.Succeeded, "")
	record.UID = origin.RecordUID()
	if err := s.record(ctx, record); err != nil {
		return result, record.UID, err
	}
	result, err = s.ReadFile(ctx, filereader.File{Name: r.Name, Data: r.File, Options: r.Options})
	return result, record.UID, err
}

// ScanLoad returns how many scans run and how many callers wait.
func (s *Service) ScanLoad() (running, waiting int) { return s.scans.Load() }

// admitScan returns the function that ends a scan once it may begin. Scans count against the same limit per minute as validations.
func (s *Service) admitScan(ctx context.Context, p auth.Principal, r ScanRequest) (release func(), err error) {
	if err := p.MayAnywhere(access.ValidateRegistries); err != nil {
		return nil, err
	}
	if err := s.perMinute.await(ctx, p.UserUID); err != nil {
		return nil, err
	}
	release, _, err = s.scans.Acquire(ctx, fairqueue.Caller{Source: p.OrgUID, Account: p.UserUID, Long: len(r.File) > largeFile})
	return release, err
}
