package checks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// An organization reads one file at a time, and every outcome is recorded.
func TestScanIsLimitedAndRecorded(t *testing.T) {
	f := registriestest.New(t, nil)
	s := newService(f.DB, 3)
	docker := ScanRequest{Name: "body", File: []byte(`{"auths":{"ghcr.io":{"auth":"YWRhOmh1bnRlcjI="}}}`)}
	result, uid, err := s.Scan(t.Context(), f.Member, audit.Origin{}, docker)
	if err != nil || result.Summary.Found != 1 || s.recorded(t, uid).Outcome != audit.Succeeded ||
		s.recorded(t, uid).Action != audit.RegistryScan {
		t.Errorf("%+v %v, record %+v", result.Summary, err, s.recorded(t, uid))
	}
	release, _, err := s.scans.Acquire(t.Context(), fairqueue.Caller{Source: f.Member.OrgUID})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, uid, err = s.Scan(ctx, f.Member, audit.Origin{}, docker); !errors.Is(err, context.DeadlineExceeded) || s.recorded(t, uid).Outcome != audit.Refused {
		t.Errorf("while another file of the organization is read: %v, record %+v", err, s.recorded(t, uid))
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

// Scans of one user do not delay those of other organizations, and of other users of the organization little.
func TestOrganizationsAndUsersTakeTurnsToScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newScanLimiter()
		var served []string
		release := make(chan bool)
		scan := func(org, user string) {
			end, _, err := l.Acquire(t.Context(), fairqueue.Caller{Source: org, Account: user})
			if err != nil {
				return // displaced
			}
			served = append(served, user)
			<-release
			end()
		}
		for range 2 * maxWaiting {
			go scan("a", "attacker")
			synctest.Wait()
		}
		for _, user := range []string{"colleague", "other"} {
			go scan(map[string]string{"colleague": "a", "other": "b"}[user], user)
			synctest.Wait()
		}
		for range 3 {
			release <- true
			synctest.Wait()
		}
		if got, want := fmt.Sprint(served[:4]), "[attacker other attacker colleague]"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		close(release)
		time.Sleep(2 * maxWait)
		if running, waiting := l.Load(); running != 0 || waiting != 0 || len(served) != maxWaiting+2 {
			t.Errorf("left: %d running, %d waiting; served %d", running, waiting, len(served))
		}
	})
}
