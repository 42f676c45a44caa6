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

// forbidden is a definition that the standard policy refuses before any packet leaves.
func forbidden(name string) Wanted {
	w := wanted(name)
	w.Definition.Endpoint = "http://127.0.0.1:1"
	return w
}

// An operator's check counts as one of the watch's, and a check of the watch that is under way is not heard any more.
func TestCheckNowCountsAsTheWatch(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, forbidden("harbor"))
	found, err := k.Find(t.Context(), auth.Operator(), "A", "HARBOR")
	if err != nil || found.UID != uid {
		t.Fatalf("found %q: %v", found.UID, err)
	}
	w := &watch{k.Service, WatchConfig{Interval: time.Hour}}
	claimed, err := w.claim(t.Context(), []queue.Share{{OrgUID: found.OrgUID, Count: 1}})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("the watch claims %v: %v", claimed, err)
	}
	var heard int
	report, err := k.CheckNow(t.Context(), audit.Origin{}, auth.Operator(), found, time.Hour, func(regcheck.StageResult) { heard++ })
	if err != nil || report.Code != regcheck.CodeAddressForbidden || heard == 0 {
		t.Fatalf("report %+v, %d stages heard: %v", report, heard, err)
	}
	outcome, err := w.tryOne(t.Context(), claimed[0])
	if err != nil || outcome != WatchDropped {
		t.Errorf("the watch's own check: %s, %v; want it dropped", outcome, err)
	}
	status, runs, err := k.History(t.Context(), found.OrgUID, uid, 0)
	if err != nil || len(runs) != 1 || runs[0].Checks != 1 || !runs[0].Counted {
		t.Fatalf("history %+v: %v", runs, err)
	}
	if status.State.Code != string(regcheck.CodeAddressForbidden) || !status.LastAt.Equal(recordsStart) || !status.NextAt.After(recordsStart) {
		t.Errorf("state %+v", status)
	}
	list, err := k.Standings(t.Context(), auth.Operator(), "A")
	if err != nil || len(list) != 1 || list[0].UID != uid || list[0].Code != string(regcheck.CodeAddressForbidden) || list[0].Since.IsZero() {
		t.Errorf("list %+v: %v", list, err)
	}
}

// A check that does not come to a verdict leaves the definition to the watch.
func TestCheckNowBrokenOff(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, forbidden("harbor"))
	found, err := k.Get(t.Context(), k.admin, uid)
	if err != nil {
		t.Fatal(err)
	}
	k.gate = newGate(Limits{PerMinute: 1}, time.Now)
	if _, err := k.CheckNow(t.Context(), audit.Origin{}, auth.Operator(), found, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := k.CheckNow(t.Context(), audit.Origin{}, auth.Operator(), found, time.Minute, nil); fault.KindOf(err) != fault.Limited {
		t.Fatalf("a check too many: %v", err)
	}
	status, runs, err := k.History(t.Context(), found.OrgUID, uid, 0)
	if err != nil || len(runs) != 1 || runs[0].Checks != 1 || status.NextAt.After(recordsStart.Add(2*time.Minute)) {
		t.Errorf("history %+v, next check %v: %v", runs, status.NextAt, err)
	}
	var row store.Watched
	err = k.db.View(t.Context(), func(tx *store.Tx) (err error) {
		row, err = tx.WatchOf(t.Context(), found.OrgUID, uid)
		return err
	})
	if err != nil || row.LeaseOwner != "" {
		t.Errorf("the lease is %q's: %v", row.LeaseOwner, err)
	}
}

// Secrets are opened for the operator alone, and for where they are kept for.
func TestOpen(t *testing.T) {
	k := mustKeep(t)
	k.mustCreate(t, wanted("harbor"))
	asIs := func(*regcheck.Definition) error { return nil }
	for _, p := range []auth.Principal{k.admin, k.member, k.stranger} {
		if _, err := k.Open(t.Context(), p, "", "harbor", asIs); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("%s opens: %v", p.Email, err)
		}
		if _, err := k.CheckNow(t.Context(), audit.Origin{}, p, Registry{}, time.Hour, nil); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("%s checks: %v", p.Email, err)
		}
	}
	opened, err := k.Open(t.Context(), auth.Operator(), "A", "harbor", func(d *regcheck.Definition) error {
		if d.Auth.Password != mask {
			t.Error("the change sees the secret")
		}
		d.BaseContentPath = "charts"
		return nil
	})
	if err != nil || opened.Definition.Auth.Password != storedPassword || opened.Definition.BaseContentPath != "charts" || opened.Registry.Definition.Auth.Password != mask {
		t.Errorf("opened %+v: %v", opened, err)
	}
	_, err = k.Open(t.Context(), auth.Operator(), "A", "harbor", func(d *regcheck.Definition) error {
		d.Endpoint = "https://elsewhere.example.com"
		return nil
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("the stored secret for another endpoint: %v", err)
	}
	if _, err := k.Open(t.Context(), auth.Operator(), "B", "harbor", asIs); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another organization's: %v", err)
	}
}
