package alerts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func hookAt(origin string) Channel {
	return Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: secret.String(origin + "/path")}}
}

func limitOf(err error) time.Duration {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Limited {
		return f.RetryAfter
	}
	return 0
}

// TestWebhooksCannotScanANetwork replaces webhooks repeatedly while alerts are sent.
func TestWebhooksCannotScanANetwork(t *testing.T) {
	to := &network{to: "127.0.0.1:1"} // dialed connections are refused
	f := newFixture(t, Config{Egress: loopback(t), Dialer: to})
	wanted := func(round int) []Channel {
		list := make([]Channel, maxChannels)
		for i := range list {
			list[i] = hookAt(fmt.Sprintf("http://127.0.0.%d:%d", 1+round, 2000+i))
		}
		return list
	}
	began := f.clock
	for round := range 10 {
		err := f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, wanted(round))
		if err != nil && limitOf(err) == 0 {
			t.Fatal(err)
		}
		f.raise()
		for f.attempt() {
		}
		f.clock = f.clock.Add(time.Second)
	}
	targets := map[string]bool{}
	for _, address := range to.dialed {
		targets[address] = true
	}
	minutes := f.clock.Sub(began).Minutes()
	if most := 120 + int(120*minutes) + maxChannels; len(targets) < 100 || len(targets) > most {
		t.Errorf("%d targets were contacted in %.1f minutes, want at most %d", len(targets), minutes, most)
	}
}

// TestNewOriginsAreLimited checks which origins count, and that a refused request neither stores nor counts any.
func TestNewOriginsAreLimited(t *testing.T) {
	f := newFixture(t, Config{ChecksPerMinute: 2})
	refused := func(err error) time.Duration {
		t.Helper()
		if err != nil && limitOf(err) == 0 {
			t.Fatal(err)
		}
		return limitOf(err)
	}
	create := func(p auth.Principal, in Scope, origin string) time.Duration {
		t.Helper()
		_, _, err := f.Create(t.Context(), p, audit.Origin{}, in, hookAt(origin))
		return refused(err)
	}
	other := Scope{f.in.OrgUID, uuid.NewString(), APIKeyExpiry}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.Projects.Insert(ctx, store.Project{UID: other.ProjectUID, OrgUID: other.OrgUID, Name: "Q", Canonical: "q",
			CreatedAt: f.clock})
	})
	second := f.admin
	second.UserUID = uuid.NewString()
	operator := auth.Principal{Role: auth.RoleOperator}
	for i, step := range []struct {
		caller auth.Principal
		in     Scope
		origin string
		wait   time.Duration
	}{
		{f.admin, f.in, "https://one.example.com", 0},
		{f.admin, f.in, "https://ONE.example.com:443", 0}, // another spelling
		{f.admin, other, "https://one.example.com", 0},    // known to the organization
		{f.admin, f.in, "http://one.example.com", 0},
		{f.admin, f.in, "https://one.example.com:8443", 30 * time.Second},
		{f.admin, f.in, "https://one.example.com:8443", 30 * time.Second}, // nothing was stored or counted
		{f.admin, other, "http://one.example.com", 0},
		{second, f.in, "https://two.example.com", 0},
		{operator, f.in, "https://three.example.com", 0},
		{operator, f.in, "https://four.example.com", 0},
		{operator, f.in, "https://five.example.com", 0},
	} {
		if wait := create(step.caller, step.in, step.origin); wait != step.wait {
			t.Errorf("step %d, %s: retry after %v, want %v", i, step.origin, wait, step.wait)
		}
	}
	list, err := f.List(t.Context(), f.in)
	if err != nil || len(list) != 7 {
		t.Fatalf("%d channels, want 7: %v", len(list), err)
	}
	moved := list[0]
	moved.HTTP.URL = "https://one.example.com:8443/"
	if wait := refused(f.update(moved.UID, moved)); wait != 30*time.Second {
		t.Errorf("update: retry after %v", wait)
	}
	moved.HTTP.URL = "https://one.example.com/other-path"
	if wait := refused(f.update(moved.UID, moved)); wait != 0 {
		t.Errorf("update of the path: retry after %v", wait)
	}
	f.wantRefusals("TooManyRequests", 2) // of create and of update
}

// A list with more new origins than the allowance has left is stored, and all of them count.
func TestManyNewOriginsAtOnceAreStored(t *testing.T) {
	f := newFixture(t, Config{ChecksPerMinute: 2})
	var list []Channel
	for i := range 5 {
		list = append(list, hookAt(fmt.Sprintf("https://h%d.example.com", i)))
	}
	if err := f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, list); err != nil {
		t.Fatal(err)
	}
	list = append(list, hookAt("https://h5.example.com"))
	for _, step := range []struct{ after, wait time.Duration }{{0, 2 * time.Minute}, {2*time.Minute - time.Second, time.Second},
		{time.Second, 0}} {
		f.clock = f.clock.Add(step.after)
		if wait := limitOf(f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, list)); wait != step.wait {
			t.Errorf("%v later: retry after %v, want %v", step.after, wait, step.wait)
		}
	}
}

// TestOriginsAreCountedOnceByReplicas has two replicas store the last new origin that is allowed at the same time.
func TestOriginsAreCountedOnceByReplicas(t *testing.T) {
	f := newFixture(t, Config{ChecksPerMinute: 3})
	f.create(hookAt("https://first.example.com"))
	f.create(hookAt("https://second.example.com"))
	limited := make(chan time.Duration, 2)
	create := func(origin string) func() error {
		return func() error {
			_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, hookAt(origin))
			limited <- limitOf(err)
			if limitOf(err) > 0 {
				return nil
			}
			return err
		}
	}
	postgrestest.Concurrently(t, f.url, "SELECT 1 FROM projects FOR UPDATE", create("https://a.example.com"),
		create("https://b.example.com"))
	if one, two := <-limited, <-limited; (one > 0) == (two > 0) {
		t.Errorf("retry after %v and %v, want one of them refused", one, two)
	}
}

// The addresses of a known host may change between attempts.
func TestUpdatesDoNotHastenDeliveries(t *testing.T) {
	to := &network{to: "127.0.0.1:1"}
	f := newFixture(t, Config{Egress: loopback(t), Dialer: to})
	uid, _ := f.create(hookAt("http://127.0.0.1:2000"))
	f.raise()
	for round := range 10 {
		for f.attempt() {
		}
		if to.dials() != 1 {
			t.Errorf("after %v: %d attempts, want 1", time.Duration(round)*3*time.Second, to.dials())
		}
		f.clock = f.clock.Add(3 * time.Second)
		if err := f.update(uid, f.channel(uid)); err != nil {
			t.Fatal(err)
		}
	}
	if f.attempt(); to.dials() != 2 {
		t.Errorf("%d attempts after the interval, want 2", to.dials())
	}
}

// wantRefusals checks the number of audit records of refusals with a reason.
func (f *fixture) wantRefusals(reason string, want int) {
	f.t.Helper()
	if err := f.db.View(f.t.Context(), func(tx *store.Tx) error {
		records, err := tx.Audits.List(f.t.Context(), audits.Filter{OrgUID: f.in.OrgUID, Outcome: audit.Refused}, 100)
		n := 0
		for _, e := range records {
			if e.Reason == reason {
				n++
			}
		}
		if n != want {
			f.t.Errorf("%d refusals with %s are recorded, want %d", n, reason, want)
		}
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
}
