package checks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// A user has one file read at a time, and every outcome is recorded.
func TestScanIsLimitedAndRecorded(t *testing.T) {
	f := registriestest.New(t, nil)
	s := newService(f.DB, 3)
	docker := ScanRequest{Name: "body", File: []byte(`{"auths":{"ghcr.io":{"auth":"YWRhOmh1bnRlcjI="}}}`)}
	result, uid, err := s.Scan(t.Context(), f.Member, audit.Origin{}, docker)
	if err != nil || result.Summary.Found != 1 || s.recorded(t, uid).Outcome != audit.Succeeded ||
		s.recorded(t, uid).Action != audit.RegistryScan {
		t.Errorf("%+v %v, record %+v", result.Summary, err, s.recorded(t, uid))
	}
	release, _, err := s.scans.Acquire(t.Context(), fairqueue.Caller{Source: f.Member.OrgUID, Account: f.Member.UserUID})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, uid, err = s.Scan(ctx, f.Member, audit.Origin{}, docker); !errors.Is(err, context.DeadlineExceeded) ||
		s.recorded(t, uid).Outcome != audit.Refused {
		t.Errorf("while another file of the user is read: %v, record %+v", err, s.recorded(t, uid))
	}
	release()
	if uid, err = s.Refuse(t.Context(), f.Member, audit.Origin{}, Refusal{audit.RegistryScan, fault.CodeInvalidRequest}); err != nil {
		t.Errorf("refused: %v", err)
	}
	if record := s.recorded(t, uid); record.Outcome != audit.Refused || record.Reason != fault.CodeInvalidRequest {
		t.Errorf("a refusal is audited as %+v", record)
	}
	if _, uid, err = s.Scan(t.Context(), f.Member, audit.Origin{}, docker); err != nil {
		t.Errorf("the third scan in a minute: %v", err)
	}
	if result := s.recorded(t, uid); result.Object != "" || result.Report != nil {
		t.Errorf("the record has more than the action: %+v", result)
	}
}

// Scans of one user delay those of no other user, and of two users those of no other organization.
func TestOrganizationsAndUsersTakeTurnsToScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newScanLimiter()
		var mu sync.Mutex // callers whose slots end at the same time are served at once
		var served []string
		release := make(chan bool)
		scan := func(org, user string, long bool) {
			end, _, err := l.Acquire(t.Context(), fairqueue.Caller{Source: org, Account: user, Long: long})
			if err != nil {
				return // displaced
			}
			mu.Lock()
			served = append(served, user)
			mu.Unlock()
			<-release
			end()
		}
		for range 2 * maxWaiting {
			go scan("a", "attacker", true)
			synctest.Wait()
		}
		go scan("a", "colleague", false)
		synctest.Wait()
		if got, want := fmt.Sprint(served), "[attacker colleague]"; got != want {
			t.Errorf("served %s at once, want %s", got, want)
		}
		for range 2 {
			go scan("a", "accomplice", true)
			synctest.Wait()
		}
		go scan("b", "other", false)
		synctest.Wait()
		if got, want := fmt.Sprint(served), "[attacker colleague other]"; got != want {
			t.Errorf("served %s at once, want %s", got, want)
		}
		close(release)
		time.Sleep(2 * maxWait)
		synctest.Wait()
		if running, waiting := l.Load(); running != 0 || waiting != 0 || len(served) < maxWaiting {
			t.Errorf("left: %d running, %d waiting; served %d", running, waiting, len(served))
		}
	})
}
