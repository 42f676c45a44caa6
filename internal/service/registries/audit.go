package registries

import (
	"context"
	"errors"
	"fmt"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// allowed checks a permission of p, and records a refusal.
func (s *Service) allowed(ctx context.Context, p auth.Principal, origin audit.Origin, permission access.Permission,
	action audit.Action, object string) error {
	return s.recordRefusal(ctx, p, origin, action, object, p.May(permission))
}

// recordRefusal records an error if it is a refusal, and returns it.
func (s *Service) recordRefusal(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action,
	object string, refusal error) error {
	f, ok := errors.AsType[*fault.Error](refusal)
	if !ok || f.Kind != fault.Forbidden {
		return refusal
	}
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object, record.Outcome, record.Reason = audit.NewUID(), s.now(), object, audit.Refused, f.Code
	err := s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Audits.Append(ctx, record) })
	if err != nil {
		return fmt.Errorf("record a refusal: %w", err)
	}
	return refusal
}

// succeeded returns the audit record of a successful change.
func (s *Service) succeeded(p auth.Principal, origin audit.Origin, action audit.Action, orgUID, uid string) audit.Record {
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.OrgUID, record.Object, record.Outcome = origin.RecordUID(), s.now(), orgUID, uid, audit.Succeeded
	return record
}
