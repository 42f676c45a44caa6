package registries

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// server is a server's scheduled checks, done when a test wants them.
type server struct {
	t *testing.T
	*watch
}

func (k keeping) server(t *testing.T) server {
	return server{t, &watch{k.Service, WatchConfig{Interval: time.Hour}}}
}

func (s server) claim(want int) []store.Watched {
	s.t.Helper()
	rows, err := s.watch.claim(s.t.Context(), []queue.Share{{OrgUID: "org-a", Count: 10}})
	if err != nil || len(rows) != want {
		s.t.Fatalf("%d registries are due, want %d: %v", len(rows), want, err)
	}
	return rows
}

func (s server) checkAll(rows []store.Watched) {
	for _, row := range rows {
		s.checkOne(s.t.Context(), row)
	}
}

func (k keeping) mustRequest(t *testing.T, p auth.Principal, uid string) CheckRequest {
	t.Helper()
	request, err := k.RequestCheck(t.Context(), p, audit.Origin{}, "org-a", uid)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// The result of a check that a member or an operator asks for is a server's, and is the registry's health.
func TestRequestedChecksAreDoneByAServer(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		uid, s := k.mustCreate(t, forbidden("harbor")), k.server(t)
		s.checkAll(s.claim(1))
		s.claim(0)
		for i, p := range []auth.Principal{k.member, k.admin, auth.Operator()} {
			request := k.mustRequest(t, p, uid)
			if _, err := k.AwaitCheck(t.Context(), request, 0); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s, before any server began: %v", p.Role, err)
			}
			s.checkAll(s.claim(1))
			report, err := k.AwaitCheck(t.Context(), request, time.Minute)
			if err != nil || report.Code != regcheck.CodeAddressForbidden {
				t.Errorf("%s: %+v, %v", p.Role, report, err)
			}
			status, runs, err := k.History(t.Context(), "org-a", uid, 0, VerdictRun{})
			if err != nil || len(runs) != 1 || runs[0].Checks != int64(i+2) || !status.NextAt.After(recordsStart) {
				t.Errorf("%s: history %+v, next check at %v: %v", p.Role, runs, status.NextAt, err)
			}
		}
		if record := k.recorded(t); record[len(record)-1] != "registry.check succeeded by operator" {
			t.Errorf("on record: %v", record)
		}
	})
}

// A check that runs already may have seen the registry before it was repaired: another one follows at once.
func TestARunningCheckDoesNotAnswerARequest(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		uid, s := k.mustCreate(t, forbidden("harbor")), k.server(t)
		running := s.claim(1)
		request := k.mustRequest(t, k.member, uid)
		s.claim(0) // the running check goes on
		s.checkAll(running)
		if _, err := k.AwaitCheck(t.Context(), request, 0); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("after the check that ran: %v", err)
		}
		s.checkAll(s.claim(1))
		if report, err := k.AwaitCheck(t.Context(), request, 0); err != nil || report.Valid {
			t.Errorf("after the next one: %+v, %v", report, err)
		}
		s.claim(0)
	})
}

// Requests are limited like changes of definitions: the user's checks are spread, and none is postponed.
func TestRequestedChecksAreSpread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		uid, s := k.mustCreate(t, unsynced("harbor")), k.server(t)
		for range 3 {
			k.mustRequest(t, k.admin, uid)
		}
		late := k.mustRequest(t, k.admin, uid)
		if _, err := k.AwaitCheck(t.Context(), late, late.delay-1); late.delay != 15*time.Second || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("beyond the allowance the check is delayed by %v, and waiting less ends with %v", late.delay, err)
		}
		s.claim(1) // due since it was stored
	})
}

func TestRequestCheckOfNothing(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, forbidden("harbor"))
	for name, try := range map[string]struct {
		p        auth.Principal
		org, uid string
	}{
		"another organization's": {k.stranger, "org-a", uid}, "from another organization": {k.stranger, "org-b", uid},
		"by name": {k.admin, "org-a", "harbor"}, "unknown": {k.admin, "org-a", "00000000-0000-4000-8000-000000000000"},
	} {
		if _, err := k.RequestCheck(t.Context(), try.p, audit.Origin{}, try.org, try.uid); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	request := k.mustRequest(t, k.admin, uid)
	if err := k.Delete(t.Context(), k.admin, audit.Origin{}, uid); err != nil {
		t.Fatal(err)
	}
	if _, err := k.AwaitCheck(t.Context(), request, time.Minute); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleted meanwhile: %v", err)
	}
}

// A definition that cannot be tried has no report; the answer says why.
func TestARequestedCheckThatCannotBeTried(t *testing.T) {
	k := mustKeep(t)
	uid, s := k.mustCreate(t, forbidden("harbor")), k.server(t)
	for _, tt := range []struct {
		verdict store.Verdict
		kind    fault.Kind
	}{
		{store.Verdict{Code: CodeSecretUnreadable}, fault.Conflict}, {store.Verdict{Code: fault.CodeInvalidRequest, Field: "endpoint"}, fault.Invalid},
	} {
		request := k.mustRequest(t, k.admin, uid)
		row := s.claim(1)[0]
		if _, err := s.end(t.Context(), finding{record: record{UID: uid, OrgUID: "org-a", Version: 1}, row: row, seen: seen{Verdict: tt.verdict}}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.AwaitCheck(t.Context(), request, time.Minute); fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", tt.verdict.Code, err)
		}
	}
}
