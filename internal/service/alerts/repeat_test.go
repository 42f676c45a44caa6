package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/incidents"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// failing is a channel, and a registry whose health changes.
type failing struct {
	*fixture
	*receiver
	repeater *Repeater
	registry store.Registry
	uid      string // of the channel
}

func newFailing(t *testing.T, afterMinutes, repeatHours int64) failing {
	t.Helper()
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t), Pages: "https://regwarden.example.com/console/"})
	hook := r.hook()
	hook.AfterMinutes, hook.RepeatHours = &afterMinutes, &repeatHours
	uid, _ := f.create(hook)
	registry := store.Registry{UID: uuid.NewString(), OrgUID: f.in.OrgUID, Name: "r", Canonical: "r", Version: 1, CreatedAt: f.clock,
		UpdatedAt: f.clock, Labels: map[string]string{"team": "a"}}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Insert(ctx, registry), tx.Watch.Schedule(ctx, f.in.OrgUID, registry.UID, f.clock))
	})
	return failing{f, r, &Repeater{db: f.db, now: func() time.Time { return f.clock }}, registry, uid}
}

const codeProviderDown = "RegistryCredentialSourceFailed"

// becomes changes the health of the registry, and raises the alert of the change unless that is muted.
func (f failing) becomes(kind Kind, code string, raised bool) {
	f.t.Helper()
	f.write(func(ctx context.Context, tx *store.Tx) error {
		rows, err := tx.Watch.Claim(ctx, "test", f.clock.AddDate(1, 0, 0), f.clock.AddDate(2, 0, 0),
			[]store.Share{{OrgUID: f.in.OrgUID, Count: 1}})
		if err != nil || len(rows) != 1 {
			return fmt.Errorf("claimed %d: %w", len(rows), err)
		}
		row := rows[0]
		var previous *HealthResult
		if !row.Since.IsZero() {
			before := ResultOf(row.State)
			previous = &before
		}
		row.State = store.HealthResult{Valid: kind == RegistryValid, Code: code}
		if code == codeProviderDown {
			row.State.Reason = "providerUnavailable"
		}
		row.Since, row.LastAt, row.NextAt = f.clock, f.clock, f.clock
		err = tx.Watch.End(ctx, row, 1, store.HealthPeriod{Since: f.clock, LastAt: f.clock, Counted: true, Result: row.State})
		if err != nil || !raised {
			return err
		}
		a := sample(f.fixture)
		a.Kind, a.Registry.UID, a.Registry.Previous, a.Registry.Current = kind, f.registry.UID, previous, ResultOf(row.State)
		a.Message = string(kind)
		return Raise(ctx, tx, a)
	})
}

// after returns the messages that the channel sends until so much later.
func (f failing) after(d time.Duration) (sent []string) {
	f.t.Helper()
	for end := f.clock.Add(d); ; f.clock = f.clock.Add(time.Minute) {
		if err := f.repeater.sendDue(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
		for f.attempt() {
		}
		if !f.clock.Before(end) {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, body := range f.bodies {
		var a Alert
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			f.t.Fatal(err)
		}
		message, _, _ := strings.Cut(a.Message, ", since")
		sent = append(sent, fmt.Sprint(message, " ", a.Registry.Current.Code, " ", a.Repeat))
	}
	f.bodies = nil
	return sent
}

func (f failing) want(sent []string, want ...string) {
	f.t.Helper()
	if fmt.Sprintf("%q", sent) != fmt.Sprintf("%q", want) {
		f.t.Errorf("%s: sent %q, want %q", f.clock.Format(time.TimeOnly), sent, want)
	}
}

// A channel alerts of a registry that has failed so long, once with its newest result, and then of its recovery.
func TestChannelsAlertAfterAThreshold(t *testing.T) {
	f := newFailing(t, 15, 0)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(14 * time.Minute))
	f.becomes(RegistryCodeChanged, "B", true)
	f.want(f.after(time.Minute), "registryCodeChanged B 0")
	f.want(f.after(48 * time.Hour))
	f.becomes(RegistryCodeChanged, "C", true)
	f.want(f.after(0), "registryCodeChanged C 0")
	f.becomes(RegistryValid, "", true)
	f.want(f.after(0), "registryValid  0")

	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(14 * time.Minute))
	f.becomes(RegistryValid, "", true)
	f.want(f.after(time.Hour))

	f.becomes(RegistryNotValid, codeProviderDown, true)
	f.want(f.after(15*time.Minute), "registryNotValid "+codeProviderDown+" 0")
	f.becomes(RegistryNotValid, "B", true)
	f.want(f.after(0), "registryNotValid B 0")
	f.becomes(RegistryNotValid, "C", true) // as after too many alerts
	f.want(f.after(14 * time.Minute))
	f.becomes(RegistryValid, "", true)
	f.want(f.after(time.Hour))

	f.write(func(ctx context.Context, tx *store.Tx) error { // not an outage
		a := sample(f.fixture)
		a.Kind, a.Registry.UID, a.Message = CertificateExpiresSoon, f.registry.UID, "expires"
		return Raise(ctx, tx, a)
	})
	f.want(f.after(0), "expires RegistryAuthFailed 0")
}

// A recovery ends the incident of a channel that is not active then: the next failure has a threshold of its own.
func TestRecoveriesEndIncidentsOfInactiveChannels(t *testing.T) {
	f := newFailing(t, 60, 0)
	activate := func(active bool) {
		t.Helper()
		hook := f.hook()
		hook.Active = active
		if err := f.Update(t.Context(), f.admin, audit.Origin{}, f.in, f.uid, hook); err != nil {
			t.Fatal(err)
		}
	}
	f.becomes(RegistryNotValid, "A", true)
	activate(false)
	f.becomes(RegistryValid, "", true)
	f.want(f.after(2 * time.Hour))
	activate(true)
	f.becomes(RegistryNotValid, "B", true)
	f.want(f.after(59 * time.Minute))
	f.want(f.after(time.Minute), "registryNotValid B 0")
}

// A channel repeats an alert with the current result while the registry fails, and no longer.
func TestChannelsRepeatAlerts(t *testing.T) {
	f := newFailing(t, 0, 6)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(0), "registryNotValid A 0")
	still := `Registry "a\"}, \"x\": {\"" (https://r.example.com) is still not valid: `
	f.want(f.after(6*time.Hour), still+"A A 1")
	f.becomes(RegistryCodeChanged, "B", true)
	f.want(f.after(6*time.Hour), "registryCodeChanged B 0", still+"B B 3")
	f.becomes(RegistryValid, "", true)
	f.want(f.after(24*time.Hour), "registryValid  0")

	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(0), "registryNotValid A 0")
	none := int64(0)
	hook := f.hook()
	hook.RepeatHours = &none
	if err := f.Update(t.Context(), f.admin, audit.Origin{}, f.in, f.uid, hook); err != nil {
		t.Fatal(err)
	}
	f.want(f.after(24 * time.Hour))
}

// A repeated alert does not say that a registry is not valid while only the provider of its credentials is down.
func TestRepeatedAlertsOfAnOutage(t *testing.T) {
	f := newFailing(t, 0, 1)
	f.becomes(RegistryNotValid, codeProviderDown, true)
	f.want(f.after(0), "registryNotValid "+codeProviderDown+" 0")
	f.want(f.after(time.Hour), `Registry "a\"}, \"x\": {\"" (https://r.example.com) cannot be checked: the provider of its credentials is `+
		"down, not the registry.  "+codeProviderDown+" 1")
}

// Alerts that are due during a mute are sent after it, if the registry still fails.
func TestMutesPostponeRepeatedAlerts(t *testing.T) {
	f := newFailing(t, 10, 1)
	f.becomes(RegistryNotValid, "A", true)
	until := f.clock.Add(3 * time.Hour)
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.Mutes.Insert(ctx, mutes.Mute{UID: "m", OrgUID: f.in.OrgUID, Key: "team", Value: "a", From: f.clock, Until: until,
			CreatedAt: f.clock})
	})
	f.want(f.after(2 * time.Hour))
	f.want(f.after(time.Hour+postponed), "registryNotValid A 0")
	f.becomes(RegistryValid, "", false) // muted
	f.want(f.after(5 * time.Hour))
	f.becomes(RegistryNotValid, "B", false)
	f.want(f.after(postponed), `Registry "a\"}, \"x\": {\"" (https://r.example.com) is still not valid: B B 1`)
}

// An alert that waits is sent with the result of then, also if that raised none because of the limit of the registry.
func TestLimitedAlertsHaveTheNewestResult(t *testing.T) {
	f := newFailing(t, 30, 0)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(20 * time.Minute))
	f.becomes(RegistryCodeChanged, "B", false)
	f.want(f.after(2*time.Hour), `Registry "a\"}, \"x\": {\"" (https://r.example.com) is still not valid: B B 0`)
}

// An alert that waits because of a mute, during which the result changed, is that of the first check after the mute.
func TestMutedAlertsHaveTheNewestResult(t *testing.T) {
	f := newFailing(t, 30, 0)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(5 * time.Minute))
	until := f.clock.Add(2 * time.Hour)
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.Mutes.Insert(ctx, mutes.Mute{UID: "m", OrgUID: f.in.OrgUID, Key: "team", Value: "a", From: f.clock, Until: until,
			CreatedAt: f.clock})
	})
	f.want(f.after(15 * time.Minute))
	f.becomes(RegistryCodeChanged, "B", false)
	f.note("A")
	f.want(f.after(2*time.Hour + postponed))
	f.becomes(RegistryCodeChanged, "B", true)
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.Mutes.Clear(ctx, f.registry.UID) })
	f.want(f.after(postponed+time.Hour), "registryCodeChanged B 0")
}

// Something else that changed during a mute, such as an expiry, does not delay the alert.
func TestMutesOfOtherChangesDelayNoAlert(t *testing.T) {
	f := newFailing(t, 30, 0)
	f.becomes(RegistryNotValid, "A", true)
	f.note("A")
	f.want(f.after(30*time.Minute), "registryNotValid A 0")
}

// note stores what a check in a mute does that changes something: the code before it.
func (f failing) note(code string) {
	f.t.Helper()
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.Mutes.Note(ctx, f.in.OrgUID, f.registry.UID, map[string]any{"State": store.HealthResult{Code: code}})
	})
}

// An alert that waits longer than alerts are stored, because its registry is muted, is sent after the mute.
func TestLongMutes(t *testing.T) {
	f := newFailing(t, 10, 0)
	f.becomes(RegistryNotValid, "A", true)
	until := f.clock.AddDate(0, 0, 40)
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.Mutes.Insert(ctx, mutes.Mute{UID: "m", OrgUID: f.in.OrgUID, Key: "team", Value: "a", From: f.clock, Until: until,
			CreatedAt: f.clock})
	})
	for ; f.clock.Before(until); f.clock = f.clock.AddDate(0, 0, 1) {
		f.want(f.after(0))
		if err := f.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.want(f.after(0), "registryNotValid A 0")
}

// Of two replicas that find the same incident due, one sends.
func TestReplicasRepeatOnce(t *testing.T) {
	f := newFailing(t, 0, 1)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(0), "registryNotValid A 0")
	f.clock = f.clock.Add(time.Hour)
	due, err := store.Read(t.Context(), f.db, func(tx *store.Tx) (any, error) { return tx.Incidents.Due(t.Context(), f.clock, 10) })
	if err != nil {
		t.Fatal(due, err)
	}
	errs := make(chan error)
	for range 4 {
		go func() { errs <- f.repeater.sendDue(t.Context()) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if sent := f.after(0); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
}

// All incidents that are due are handled at once: those of an organization do not delay the others.
func TestManyIncidentsAreDue(t *testing.T) {
	f := newFailing(t, 10, 0)
	a := sample(f.fixture)
	stored, err := encode(&a)
	if err != nil {
		t.Fatal(err)
	}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		err := tx.Outbox.Store(ctx, stored)
		for i := range repeatBatch + 50 {
			r := f.registry
			r.UID, r.Name, r.Canonical = uuid.NewString(), fmt.Sprint(i), fmt.Sprint(i)
			err = errors.Join(err, tx.Registries.Insert(ctx, r), tx.Watch.Schedule(ctx, r.OrgUID, r.UID, f.clock),
				tx.Incidents.Put(ctx, incidents.Incident{ChannelUID: f.uid, RegistryUID: r.UID, OrgUID: r.OrgUID, AlertUID: stored.UID,
					DueAt: f.clock}))
		}
		return err
	})
	if err := f.repeater.sendDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	due, err := store.Read(t.Context(), f.db, func(tx *store.Tx) ([]incidents.Incident, error) {
		return tx.Incidents.Due(t.Context(), f.clock, 1)
	})
	if err != nil || len(due) > 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// A recovery and the Repeater lock an incident before its channel: the tests fail if PostgreSQL resolves a deadlock.
func TestRecoveriesDoNotDeadlock(t *testing.T) {
	f := newFailing(t, 0, 1)
	f.becomes(RegistryNotValid, "A", true)
	f.want(f.after(0), "registryNotValid A 0")
	f.clock = f.clock.Add(time.Hour)
	recovers := func() error {
		return f.db.InTx(t.Context(), func(tx *store.Tx) error {
			a := sample(f.fixture)
			a.Kind, a.Registry.UID, a.Message = RegistryValid, f.registry.UID, "valid"
			return Raise(t.Context(), tx, a)
		})
	}
	postgrestest.Concurrently(t, f.url, "SELECT 1 FROM alert_incidents FOR UPDATE",
		func() error { return f.repeater.sendDue(t.Context()) }, recovers)
}

// An alert has the address of the page of its registry or of the API keys, in every form in which it is sent.
func TestAlertsHaveALink(t *testing.T) {
	f := newFailing(t, 0, 0)
	f.becomes(RegistryNotValid, "A", true)
	f.attempt()
	const page = "https://regwarden.example.com/console/registries/"
	if want := `"link":"` + page + f.registry.UID + `"`; len(f.bodies) != 1 || !strings.Contains(f.bodies[0], want) {
		t.Errorf("%q has no %s", f.bodies, want)
	}
	a := sample(f.fixture)
	a.Link = page + "x"
	if !strings.Contains(text(a), "Page: "+page+"x\n") || opsgenieDetails(a)["link"] != page+"x" {
		t.Errorf("%s%v", text(a), opsgenieDetails(a))
	}
	if of := f.Channels.config.link(Alert{Kind: APIKeyExpiresSoon}); of != "https://regwarden.example.com/console/api-keys" {
		t.Errorf("keys: %q", of)
	}
	if of := (Config{}).link(a); of != "" {
		t.Errorf("without public-url: %q", of)
	}
}

func TestTimesOfChannelsHaveLimits(t *testing.T) {
	f := newFailing(t, 0, 0)
	for _, tt := range []struct {
		after, repeat int64
		component     string
		fields        string
	}{
		{maxAfterMinutes, maxRepeatHours, RegistryHealth, ""}, {0, 0, APIKeyExpiry, ""}, {1, 0, APIKeyExpiry, "afterMinutes"},
		{-1, 0, RegistryHealth, "afterMinutes"}, {maxAfterMinutes + 1, maxRepeatHours + 1, ClusterHealth, "afterMinutes repeatHours"},
	} {
		hook, in := f.hook(), f.in
		hook.AfterMinutes, hook.RepeatHours, in.Component = &tt.after, &tt.repeat, tt.component
		_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, in, hook)
		var fields []string
		if err != nil {
			for _, problem := range fault.Visible(err).Fields {
				fields = append(fields, problem.Field)
			}
		}
		if got := strings.Join(fields, " "); got != tt.fields || (err == nil) != (tt.fields == "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}
