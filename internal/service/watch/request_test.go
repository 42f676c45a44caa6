package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// eachDatabase runs a test on a service with a fixed clock whose policy forbids loopback addresses.
func eachDatabase(t *testing.T, test func(*testing.T, *fixture)) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) { test(t, newFixture(t, f, &regcheck.Checker{})) })
}

// createForbidden creates a registry whose endpoint the default policy denies before any packet is sent.
func (w *fixture) createForbidden() (uid string) {
	w.t.Helper()
	return w.create("harbor", "http://127.0.0.1:1")
}

func (w *fixture) mustRequest(p auth.Principal, uid string) CheckRequest {
	w.t.Helper()
	request, err := w.RequestCheck(w.t.Context(), p, audit.Origin{}, uid)
	if err != nil {
		w.t.Fatal(err)
	}
	return request
}

// A check that begins only after the wait is not waited for, and the reason says when it begins.
func TestLaterChecksAreNotAwaited(t *testing.T) {
	_, err := new(Service).awaitCheck(t.Context(), CheckRequest{delay: 90 * time.Second}, time.Minute)
	const want = "The check begins in 1m30s, after those of other registries"
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// A server runs the checks that members and operators request, and the result is the registry's health status.
func TestRequestedChecksRunOnAServer(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *fixture) {
		uid := w.createForbidden()
		w.checkAll(w.mustClaim(1))
		w.mustClaim(0)
		for i, p := range []auth.Principal{w.Member, w.Admin, w.Operator()} {
			request := w.mustRequest(p, uid)
			if _, err := w.awaitCheck(t.Context(), request, 0); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s, before any server began: %v", p.Role, err)
			}
			w.checkAll(w.mustClaim(1))
			report, err := w.awaitCheck(t.Context(), request, time.Minute)
			if err != nil || report.Code != regcheck.CodeAddressForbidden {
				t.Errorf("%s: %+v, %v", p.Role, report, err)
			}
			status, runs, err := w.History(t.Context(), p, uid, 0, HistoryEntry{})
			if v := status.State; v.Message != report.Message || v.Hint != report.Hint || v.Hint == "" || runs[0].Result != v {
				t.Errorf("%s: health %+v, history %+v, want the texts of %+v", p.Role, v, runs[0].Result, report)
			}
			if err != nil || len(runs) != 1 || runs[0].Checks != int64(i+2) || !status.NextAt.After(registriestest.Start) {
				t.Errorf("%s: history %+v, next check at %v: %v", p.Role, runs, status.NextAt, err)
			}
		}
		if record := w.AuditRecords(t); record[len(record)-1] != "registry.check succeeded by operator" {
			t.Errorf("audit record: %v", record)
		}
	})
}

// A running check may have begun before the registry was fixed, so another one follows at once.
func TestRunningCheckDoesNotSatisfyRequest(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *fixture) {
		uid := w.createForbidden()
		running := w.mustClaim(1)
		request := w.mustRequest(w.Member, uid)
		w.mustClaim(0) // the running check continues
		w.checkAll(running)
		if _, err := w.awaitCheck(t.Context(), request, 0); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("after the check that ran: %v", err)
		}
		w.checkAll(w.mustClaim(1))
		if report, err := w.awaitCheck(t.Context(), request, 0); err != nil || report.Valid {
			t.Errorf("after the next one: %+v, %v", report, err)
		}
		w.mustClaim(0)
	})
}

// Requests are limited like changes of definitions: the user's checks are spread, and none is postponed.
func TestRequestedChecksAreSpread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *fixture) {
		uid := w.createForbidden()
		for range 3 {
			w.mustRequest(w.Admin, uid)
		}
		late := w.mustRequest(w.Admin, uid)
		if _, err := w.awaitCheck(t.Context(), late, late.delay-1); late.delay != 15*time.Second || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("beyond the allowance the check is delayed by %v, and waiting less ends with %v", late.delay, err)
		}
		running := w.mustClaim(1) // due since the registry was stored
		during := w.mustRequest(w.Admin, uid)
		w.checkAll(running)
		w.mustClaim(0)
		w.clock = w.clock.Add(during.delay)
		w.checkAll(w.mustClaim(1))
		if _, err := w.awaitCheck(t.Context(), during, time.Minute); err != nil || during.delay != 30*time.Second {
			t.Errorf("requested during a check, after %v: %v", during.delay, err)
		}
	})
}

func TestRequestCheckOfMissingRegistry(t *testing.T) {
	w := newFixture(t, registriestest.New(t, nil), &regcheck.Checker{})
	uid := w.createForbidden()
	for name, try := range map[string]struct {
		p   auth.Principal
		uid string
	}{
		"from another organization": {w.OtherAdmin, uid}, "by name": {w.Admin, "harbor"},
		"unknown": {w.Admin, "00000000-0000-4000-8000-000000000000"},
	} {
		if _, err := w.RequestCheck(t.Context(), try.p, audit.Origin{}, try.uid); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	request := w.mustRequest(w.Admin, uid)
	if err := w.stored.Delete(t.Context(), w.Admin, audit.Origin{}, uid); err != nil {
		t.Fatal(err)
	}
	if _, err := w.awaitCheck(t.Context(), request, time.Minute); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleted concurrently: %v", err)
	}
}

// A definition that cannot be checked has no report; the fault has the reason.
func TestRequestedCheckWithoutReport(t *testing.T) {
	w := newFixture(t, registriestest.New(t, nil), &regcheck.Checker{})
	uid := w.createForbidden()
	for _, tt := range []struct {
		status store.HealthResult
		kind   fault.Kind
	}{
		{store.HealthResult{Code: registries.CodeSecretUnreadable}, fault.Conflict},
		{store.HealthResult{Code: fault.CodeInvalidRequest, Field: "endpoint"}, fault.Invalid},
	} {
		request := w.mustRequest(w.Admin, uid)
		row := w.mustClaim(1)[0]
		if _, err := w.end(t.Context(),
			finishedCheck{registry: registries.Registry{UID: uid, OrgUID: "org-a", Version: 1}, row: row,
				result: result{HealthResult: tt.status}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.awaitCheck(t.Context(), request, time.Minute); fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", tt.status.Code, err)
		}
		_, entries, err := w.History(t.Context(), w.Admin, uid, 1, HistoryEntry{})
		if err != nil || entries[0].Result.Message == "" || entries[0].Result.Hint == "" {
			t.Errorf("%s: history %+v, %v", tt.status.Code, entries, err)
		}
	}
}

// A check that was scheduled while the clock was wrong counts as late, and runs on request.
func TestWrongClock(t *testing.T) {
	w := mustWatch(t)
	right := w.clock
	w.clock = right.AddDate(1, 0, 0)
	uid := w.create("r", registry(t, func() {}))
	w.checkAll(w.claimDue())
	w.clock = right
	if _, late, err := w.CountDue(t.Context(), w.Interval); late != 1 || err != nil {
		t.Errorf("%d late, %v", late, err)
	}
	if _, err := w.RequestCheck(t.Context(), w.Operator(), audit.Origin{}, uid); err != nil {
		t.Fatal(err)
	}
	if w.checkAll(w.claimDue()); w.status(uid).LastAt != right {
		t.Errorf("not checked: %+v", w.status(uid))
	}
	if _, late, err := w.CountDue(t.Context(), w.Interval); late != 0 || err != nil {
		t.Errorf("afterwards: %d late, %v", late, err)
	}
}
