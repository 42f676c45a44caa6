package checks

import (
	"bytes"
	"context"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
)

// ScanRequest is a file in which to find definitions.
type ScanRequest struct {
	Name    string // of the file in the result
	File    []byte
	Options model.Options
	Refusal error // why the request is refused regardless of its content; may be nil
}

// Scan returns the definitions that a file has. It reads no other file, starts no program and contacts no registry. One file is read at
// a time, since reading needs a multiple of its size in memory, and organizations take turns.
//
// auditUID identifies the audit record. Errors are a *fault.Error, or that of ctx if the caller has disconnected.
func (s *Service) Scan(ctx context.Context, p auth.Principal, origin audit.Origin, r ScanRequest) (result model.Result, auditUID string, err error) {
	of := Request{Action: audit.RegistryScan}
	release, err := s.admitScan(ctx, p, r)
	if err != nil {
		auditUID, err = s.recordRefusal(ctx, p, origin, of, err)
		return result, auditUID, err
	}
	defer release()
	record := s.auditRecord(p, origin, of, audit.Succeeded, "")
	record.UID = origin.RecordUID()
	if err := s.record(ctx, record); err != nil {
		return result, record.UID, err
	}
	scanner := definitions.NewScanner(r.Options)
	if err := scanner.AddReader(r.Name, bytes.NewReader(r.File)); err != nil {
		return result, record.UID, err
	}
	result = scanner.Result()
	result.Validate()
	return result, record.UID, nil
}

// admitScan returns the function that ends a scan once it may begin. Scans count against the same limit per minute as validations.
func (s *Service) admitScan(ctx context.Context, p auth.Principal, r ScanRequest) (release func(), err error) {
	if r.Refusal != nil {
		return nil, r.Refusal
	}
	if err := p.May(auth.ValidateRegistries); err != nil {
		return nil, err
	}
	if err := s.perMinute.await(ctx, p.UserUID); err != nil {
		return nil, err
	}
	return s.scans.acquire(ctx, p.OrgUID)
}
