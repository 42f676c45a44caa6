package checks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries/registriestest"
)

// One file is read at a time, and every outcome is recorded.
func TestScanIsLimitedAndRecorded(t *testing.T) {
	f := registriestest.New(t, nil)
	s := newService(f.DB, 3)
	docker := ScanRequest{Name: "body", File: []byte(`{"auths":{"ghcr.io":{"auth":"YWRhOmh1bnRlcjI="}}}`)}
	result, uid, err := s.Scan(t.Context(), f.Member, audit.Origin{}, docker)
	if err != nil || result.Summary.Found != 1 || s.recorded(t, uid).Outcome != audit.Succeeded || s.recorded(t, uid).Action != audit.RegistryScan {
		t.Errorf("%+v %v, record %+v", result.Summary, err, s.recorded(t, uid))
	}
	release, err := s.scans.acquire(t.Context(), "another organization")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, uid, err = s.Scan(ctx, f.Member, audit.Origin{}, docker); !errors.Is(err, context.DeadlineExceeded) || s.recorded(t, uid).Outcome != audit.Refused {
		t.Errorf("while another file is read: %v, record %+v", err, s.recorded(t, uid))
	}
	release()
	refusal := docker
	refusal.Refusal = fault.InvalidFields(fault.Field{Field: "format", Problem: "is wrong"})
	if _, _, err = s.Scan(t.Context(), f.Member, audit.Origin{}, refusal); fault.KindOf(err) != fault.Invalid {
		t.Errorf("refused: %v", err)
	}
	if _, uid, err = s.Scan(t.Context(), f.Member, audit.Origin{}, docker); err != nil {
		t.Errorf("the third scan in a minute: %v", err)
	}
	if result := s.recorded(t, uid); result.Object != "" || result.Report != nil {
		t.Errorf("the record has more than the action: %+v", result)
	}
}
