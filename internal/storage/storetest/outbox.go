package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

func mustProject(t *testing.T, db *store.DB, org store.Org) store.Project {
	t.Helper()
	p := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "P", Canonical: "p", CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Insert(ctx, p) })
	return p
}

func mustChannel(t *testing.T, db *store.DB, p store.Project, position int64) store.Channel {
	t.Helper()
	c := store.Channel{UID: uuid.NewString(), OrgUID: p.OrgUID, ProjectUID: p.UID, Component: "c", Type: "http", Position: position,
		Active: true, Identifiers: []string{"a", "b"}, CreatedAt: start,
		HTTP: store.ChannelHTTP{URL: "https://hooks.example.com/secret-path", Method: "POST", Headers: map[string]string{"X": "secret"},
			Body: "{}", Secret: "s"}}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Insert(ctx, c) })
	return c
}

func mustAlert(t *testing.T, db *store.DB, org store.Org, at time.Time) store.Alert {
	t.Helper()
	a := store.Alert{UID: uuid.NewString(), OrgUID: org.UID, Component: "c", At: at, Body: []byte(`{"n":1}`)}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return enqueue(ctx, tx, a, at.Add(time.Hour)) })
	return a
}

// enqueue stores an alert and a delivery for each of its channels.
func enqueue(ctx context.Context, tx *store.Tx, a store.Alert, latest time.Time) error {
	err := tx.Outbox.Store(ctx, a)
	if err != nil {
		return err
	}
	channels, err := tx.Outbox.AlertedChannels(ctx, a)
	for _, c := range channels {
		err = errors.Join(err, tx.Outbox.Enqueue(ctx, a, c.UID, latest))
	}
	return err
}

func mustClaimChannel(t *testing.T, db *store.DB, org store.Org, now time.Time) (taken []store.ClaimedChannel) {
	t.Helper()
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		taken, err = tx.Outbox.Claim(ctx, uuid.NewString(), now, now.Add(time.Minute), []store.Share{{OrgUID: org.UID, Count: 2}})
		return err
	})
	return taken
}

func mustNext(t *testing.T, db *store.DB, c store.ClaimedChannel, now time.Time) (d store.Delivery) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		d, err = tx.Outbox.Next(ctx, c.UID, now)
		return err
	})
	return d
}

// channels are read as they were stored, in order, only by their own project.
func channels(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	p := mustProject(t, db, org)
	second, first := mustChannel(t, db, p, 2), mustChannel(t, db, p, 1)
	mail := store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: p.UID, Component: "c", Type: "email", Position: 3,
		AlertAllUsers: true, Identifiers: []string{}, CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Insert(ctx, mail) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, errL := tx.Channels.List(ctx, org.UID, p.UID, "c")
		none, errN := tx.Channels.List(ctx, other.UID, p.UID, "c")
		if diff := cmp.Diff([]store.Channel{first, second, mail}, list); diff != "" || len(none) != 0 {
			t.Error(diff, none)
		}
		return errors.Join(errL, errN)
	})
	first.HTTP.URL, first.Active, first.Position = "http://other.example.com/", false, 9
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Update(ctx, first, start) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		changed, err := tx.Channels.Get(ctx, org.UID, first.UID)
		if diff := cmp.Diff(first, changed); diff != "" {
			t.Error(diff)
		}
		return err
	})
	foreign := func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Delete(ctx, other.UID, first.UID) }
	wantError(t, db, store.ErrNotFound, foreign)
}

// wrongClock delays a channel and a check until a time that a wrong clock caused. The check is counted; the next alert ends
// the wait of the channel, and its delivery that of the earlier delivery.
func wrongClock(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	mustChannel(t, db, mustProject(t, db, org), 1)
	wrong := start.AddDate(1, 0, 0)
	for _, name := range []string{"a", "b"} {
		r := mustWatched(t, db, org, name)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Watch.Schedule(ctx, org.UID, r.UID, wrong) })
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		late, errL := tx.Watch.CountAhead(ctx, start.Add(time.Hour), 100)
		atMost, errM := tx.Watch.CountAhead(ctx, start.Add(time.Hour), 1)
		none, errN := tx.Watch.CountAhead(ctx, wrong, 100)
		if late != 2 || atMost != 1 || none != 0 {
			t.Errorf("%d are due too late, counted up to 1: %d, and %d even later", late, atMost, none)
		}
		return errors.Join(errL, errM, errN)
	})
	putOff := mustAlert(t, db, org, wrong)
	if taken := mustClaimChannel(t, db, org, start); len(taken) != 0 {
		t.Fatalf("due at once: %+v", taken)
	}
	for _, alert := range []store.Alert{mustAlert(t, db, org, start), putOff} {
		taken := mustClaimChannel(t, db, org, start)
		if len(taken) != 1 {
			t.Fatalf("claimed %+v", taken)
		}
		d := mustNext(t, db, taken[0], start)
		if d.AlertUID != alert.UID {
			t.Errorf("the next delivery is of alert %s, want %s", d.AlertUID, alert.UID)
		}
		d.Delivered, d.EndedAt, d.NextAt = true, start, time.Time{}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.Outbox.EndAttempt(ctx, taken[0], d, 0, store.ChannelStatus{OK: true, Message: "HTTP 200", At: start}, time.Time{})
		})
	}
}

// orderOfIncident has a failure whose delivery fails too, and its recovery: that does not arrive before it, whether it is stored before or
// after the attempt. Alerts of another registry do not wait.
func orderOfIncident(t *testing.T, db *store.DB) {
	for _, early := range []bool{true, false} {
		org := mustOrg(t, db, fmt.Sprint("one", early))
		c := mustChannel(t, db, mustProject(t, db, org), 1)
		at := start
		raise := func(registry string) store.Alert {
			at = at.Add(time.Second)
			a := store.Alert{UID: uuid.NewString(), OrgUID: org.UID, Component: "c", RegistryUID: registry, At: at, Body: []byte(`{"n":1}`)}
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return enqueue(ctx, tx, a, at.Add(time.Hour)) })
			return a
		}
		ends := func(now, next time.Time, want store.Alert) {
			t.Helper()
			taken := mustClaimChannel(t, db, org, now)
			if len(taken) != 1 || taken[0].UID != c.UID {
				t.Fatalf("claimed %+v", taken)
			}
			d := mustNext(t, db, taken[0], now)
			if d.AlertUID != want.UID || d.RegistryUID != want.RegistryUID {
				t.Errorf("the next delivery is of alert %s, want %s", d.AlertUID, want.UID)
			}
			if d.NextAt, d.Delivered = next, next.IsZero(); d.Delivered {
				d.EndedAt = now
			}
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
				return tx.Outbox.EndAttempt(ctx, taken[0], d, 0, store.ChannelStatus{At: now}, time.Time{})
			})
		}
		var recovery store.Alert
		failure := raise("a")
		if early {
			recovery = raise("a")
		}
		other := raise("b")
		ends(at, start.Add(time.Minute), failure)
		if !early {
			recovery = raise("a")
		}
		ends(at.Add(2*time.Second), time.Time{}, other)
		ends(at.Add(3*time.Second), time.Time{}, failure) // hurried: the receiver works again
		ends(at.Add(4*time.Second), time.Time{}, recovery)
	}
}

// outbox adds each alert to every active channel. One claim at a time has a channel, and no delivery is lost.
func outbox(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	p := mustProject(t, db, org)
	a, b, idle := mustChannel(t, db, p, 1), mustChannel(t, db, p, 2), mustChannel(t, db, p, 3)
	idle.Active = false
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Update(ctx, idle, start) })
	alert := mustAlert(t, db, org, start)
	taken := mustClaimChannel(t, db, org, start)
	if len(taken) != 2 || taken[0].UID == idle.UID || taken[1].UID == idle.UID || len(mustClaimChannel(t, db, org, start)) != 0 {
		t.Fatalf("claimed: %+v, want %s and %s once", taken, a.UID, b.UID)
	}
	d := mustNext(t, db, taken[0], start)
	if d.AlertUID != alert.UID || string(d.AlertBody) != `{"n":1}` || d.Attempts != 0 {
		t.Errorf("the delivery is %+v", d)
	}
	later := mustAlert(t, db, org, start.Add(time.Second)) // during the first delivery
	failed := d
	failed.Attempts, failed.NextAt, failed.Processed, failed.Refused = 1, start.Add(time.Hour), []string{"x@example.com"}, 1
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Outbox.EndAttempt(ctx, taken[0], failed, 1, store.ChannelStatus{Message: "HTTP 500", At: start},
			start.Add(30*time.Second))
	})
	if got := mustClaimChannel(t, db, org, start.Add(29*time.Second)); len(got) != 0 {
		t.Errorf("claimed too early: %+v", got)
	}
	again := mustClaimChannel(t, db, org, start.Add(30*time.Second))
	if len(again) != 1 || mustNext(t, db, again[0], start.Add(30*time.Second)).AlertUID != later.UID {
		t.Fatalf("the later alert waits for the earlier one: %+v", again)
	}
	delivered := mustNext(t, db, again[0], start.Add(30*time.Second))
	delivered.Delivered, delivered.EndedAt, delivered.NextAt = true, start.Add(31*time.Second), time.Time{}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Outbox.EndAttempt(ctx, again[0], delivered, 0,
			store.ChannelStatus{OK: true, Message: "HTTP 200", At: start.Add(31 * time.Second)}, time.Time{})
	})
	// The receiver works again: the failed delivery does not wait for its hour.
	hurried := mustClaimChannel(t, db, org, start.Add(31*time.Second))
	if len(hurried) != 1 {
		t.Fatalf("the failed delivery still waits: %+v", hurried)
	}
	if d = mustNext(t, db, hurried[0], start.Add(31*time.Second)); d.UID != failed.UID || d.Attempts != 1 || len(d.Processed) != 1 ||
		d.Refused != 1 {
		t.Errorf("the second attempt is of %+v, want the same delivery", d)
	}
	outboxEnds(t, db, org, hurried[0], d, taken[1])
}

// outboxEnds ends one delivery, and claims a channel whose lease expired.
func outboxEnds(t *testing.T, db *store.DB, org store.Org, c store.ClaimedChannel, d store.Delivery, dead store.ClaimedChannel) {
	t.Helper()
	d.EndedAt, d.NextAt = start.Add(32*time.Second), time.Time{}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Outbox.EndAttempt(ctx, c, d, 1, store.ChannelStatus{Message: "given up", At: d.EndedAt}, start.Add(33*time.Second))
	})
	late := start.Add(2 * time.Minute) // the lease of the other channel has expired
	taken := mustClaimChannel(t, db, org, late)
	if len(taken) != 1 || taken[0].UID != dead.UID {
		t.Fatalf("claimed %+v, want only the channel whose lease expired", taken)
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		channel, err := tx.Channels.Get(ctx, org.UID, c.UID)
		if channel.Status.Message != "given up" || channel.Status.OK || channel.Failures != 1 || !channel.NextAt.IsZero() {
			t.Errorf("the channel is %+v", channel)
		}
		return err
	})
	// A caller that lost the lease may store that it delivered, but not when the channel is due next.
	held := mustNext(t, db, dead, late)
	held.Delivered, held.EndedAt, held.NextAt = true, late, time.Time{}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Outbox.EndAttempt(ctx, dead, held, 0, store.ChannelStatus{OK: true, At: late}, time.Time{})
	})
	if got := mustClaimChannel(t, db, org, late.Add(time.Second)); len(got) != 0 {
		t.Errorf("claimed although another caller has it: %+v", got)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Outbox.EndIdle(ctx, taken[0]) })
	if got := mustClaimChannel(t, db, org, late.Add(time.Second)); len(got) != 1 {
		t.Errorf("the second delivery of that channel is missing")
	}
}

// switchedOff deactivates and activates a channel: its pending deliveries are sent afterwards, whether an attempt that ran
// ended, was released or was lost.
func switchedOff(t *testing.T, db *store.DB) {
	for name, after := range map[string]func(context.Context, *store.Tx, store.ClaimedChannel) error{
		"given back": func(ctx context.Context, tx *store.Tx, c store.ClaimedChannel) error {
			return tx.Outbox.Release(ctx, c, start)
		},
		"ended": func(ctx context.Context, tx *store.Tx, c store.ClaimedChannel) error {
			return tx.Outbox.EndIdle(ctx, c)
		},
		"died": func(context.Context, *store.Tx, store.ClaimedChannel) error { return nil },
	} {
		for _, early := range []bool{true, false} { // active again before the end of the attempt, or after it
			org := mustOrg(t, db, fmt.Sprint(name, early))
			c := mustChannel(t, db, mustProject(t, db, org), 1)
			mustAlert(t, db, org, start)
			taken := mustClaimChannel(t, db, org, start)[0]
			turn := func(on bool) {
				c.Active = on
				mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Update(ctx, c, start) })
			}
			end := func() {
				mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return after(ctx, tx, taken) })
			}
			turn(false)
			if early {
				turn(true)
				end()
			} else {
				end()
				turn(true)
			}
			if got := mustClaimChannel(t, db, org, start.Add(59*time.Second)); (name == "died") != (len(got) == 0) {
				t.Errorf("%s, on early %t: claimed %v while a lease is valid", name, early, got)
			} else if got = append(got, mustClaimChannel(t, db, org, start.Add(time.Minute))...); len(got) != 1 {
				t.Errorf("%s, on early %t: claimed %v, want it once", name, early, got)
			}
			turn(false)
			if got := mustClaimChannel(t, db, org, start.Add(time.Hour)); len(got) == 1 { // by its expired lease, for the last time
				mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Outbox.EndIdle(ctx, got[0]) })
			}
			if got := mustClaimChannel(t, db, org, start.Add(2*time.Hour)); len(got) != 0 {
				t.Errorf("%s, on early %t: claimed %v although it is inactive", name, early, got)
			}
		}
	}
}

// outboxContention writes alerts while others deliver: each is delivered once, and none is lost.
func outboxContention(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	mustChannel(t, db, mustProject(t, db, org), 1)
	const alerts = 60
	var writing, sending sync.WaitGroup
	var mu sync.Mutex
	sent := map[string]int{}
	written := make(chan struct{})
	for range 3 {
		writing.Go(func() {
			for range alerts / 3 {
				mustAlert(t, db, org, start)
			}
		})
	}
	for range 4 {
		sending.Go(func() {
			for last := false; !last; {
				select {
				case <-written:
					last = true
				default:
				}
				for _, c := range mustClaimChannel(t, db, org, start) {
					last = false
					d := mustNext(t, db, c, start)
					d.Delivered, d.EndedAt, d.NextAt = true, start, time.Time{}
					mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
						return tx.Outbox.EndAttempt(ctx, c, d, 0, store.ChannelStatus{OK: true, At: start}, time.Time{})
					})
					mu.Lock()
					sent[d.AlertUID]++
					mu.Unlock()
				}
			}
		})
	}
	writing.Wait()
	close(written)
	sending.Wait()
	for _, n := range sent {
		if n != 1 {
			t.Errorf("one alert was delivered %d times", n)
		}
	}
	if len(sent) != alerts {
		t.Errorf("%d of %d alerts were delivered", len(sent), alerts)
	}
}

// keyAlerts reports a key once for each of its ends, and only in projects with an active channel.
func keyAlerts(t *testing.T, db *store.DB) {
	org, quiet := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	mustChannel(t, db, mustProject(t, db, org), 1)
	key := func(org store.Org, name string, expires time.Time) store.APIKey {
		user := mustUser(t, db, org, name+"@example.com")
		k := store.APIKey{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID, Name: name, Canonical: name,
			Hash: []byte(name + org.UID), CreatedAt: start, ExpiresAt: expires}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.APIKeys.Insert(ctx, k) })
		return k
	}
	soon := key(org, "soon", start.Add(time.Hour))
	key(org, "late", start.Add(1000*time.Hour))
	key(org, "past", start.Add(-time.Hour))
	key(quiet, "unheard", start.Add(time.Hour))
	expiring := func() (names []string) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			keys, err := tx.APIKeys.Expiring(ctx, "c", store.ExpiringKey{ExpiresAt: start}, start, 10)
			for _, k := range keys {
				names = append(names, fmt.Sprint(k.Name, k.Email, k.OrgName))
			}
			return err
		})
		return names
	}
	sooner := key(quiet, "first", start.Add(time.Minute+time.Millisecond))
	for _, row := range []struct {
		org   store.Org
		user  string
		limit int
		want  string
	}{{org, "", 10, "soon"}, {quiet, "", 10, "first unheard"}, {quiet, "", 1, "first"}, {quiet, sooner.UserUID, 10, "first"},
		{quiet, soon.UserUID, 10, ""}} {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			keys, err := tx.APIKeys.ExpiringOfOrg(ctx, row.org.UID, row.user, start, start.Add(24*time.Hour), row.limit)
			var names []string
			for _, k := range keys {
				names = append(names, k.Name)
			}
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("%d of %s, user %q: %q, want %q", row.limit, row.org.Name, row.user, got, row.want)
			}
			return err
		})
	}
	if got := expiring(); len(got) != 1 || got[0] != "soonsoon@example.comone" {
		t.Errorf("expiring: %v", got)
	}
	var first int
	for range 2 {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			was, err := tx.APIKeys.NoteAlert(ctx, soon.UID, soon.ExpiresAt, 1)
			if was {
				first++
			}
			return err
		})
	}
	if got := expiring(); first != 1 || len(got) != 0 {
		t.Errorf("%d reported the key first; still expiring: %v", first, got)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.APIKeys.Update(ctx, soon.OrgUID, soon.UID, store.APIKeyChange{ExpiresAt: start.Add(2 * time.Hour)}, start)
	})
	if got := expiring(); len(got) != 1 {
		t.Errorf("a key with another end: %v", got)
	}
}

// keyReminders has which reminder of a key is due, before and after others were noted, by default and as an organization sets them.
func keyReminders(t *testing.T, db *store.DB) {
	const day = 24 * time.Hour
	for i, row := range []struct {
		set   *store.Reminders // nil for the default
		left  time.Duration    // until the key ends
		noted int              // days of the last reminder, 0 for none
		want  int              // days of the reminder that is due, 0 for none
	}{
		{left: 30*day + time.Millisecond}, {left: 30 * day, want: 30}, {left: 8 * day, want: 30}, {left: 8 * day, noted: 30},
		{left: 7 * day, noted: 30, want: 7}, {left: 7 * day, noted: 7}, {left: time.Hour, want: 1}, {left: time.Hour, noted: 7, want: 1},
		{left: time.Hour, noted: 1}, {left: 0, want: 1}, {left: -time.Millisecond},
		{set: &store.Reminders{60, 0, 0}, left: 60 * day, want: 60}, {set: &store.Reminders{60, 0, 0}, left: time.Hour, noted: 60},
		{set: &store.Reminders{14, 2, 0}, left: 15 * day}, {set: &store.Reminders{14, 2, 0}, left: 2 * day, noted: 14, want: 2},
		{set: &store.Reminders{0, 0, 0}, left: time.Hour}, {set: &store.Reminders{store.MaxReminder, 0, 0}, left: store.MaxReminder * day,
			want: store.MaxReminder},
	} {
		org := mustOrg(t, db, fmt.Sprint("reminded ", i))
		mustChannel(t, db, mustProject(t, db, org), 1)
		user := mustUser(t, db, org, "ada@example.com")
		key := store.APIKey{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID, Name: "k", Canonical: "k", Hash: []byte(org.UID),
			CreatedAt: start, ExpiresAt: start.Add(row.left)}
		due := 0
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			err := tx.APIKeys.Insert(ctx, key)
			if err == nil && row.set != nil {
				err = tx.APIKeys.SetReminders(ctx, org.UID, *row.set)
			}
			if err == nil && row.noted != 0 {
				_, err = tx.APIKeys.NoteAlert(ctx, key.UID, key.ExpiresAt, row.noted)
			}
			return err
		})
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			keys, err := tx.APIKeys.Expiring(ctx, "c", store.ExpiringKey{ExpiresAt: start}, start, 100)
			for _, k := range keys {
				if k.UID == key.UID {
					due = k.Days
				}
			}
			set, errR := tx.APIKeys.Reminders(ctx, org.UID)
			if row.set != nil && *row.set != set {
				t.Errorf("row %d: read %v", i, set)
			}
			return errors.Join(err, errR)
		})
		if due != row.want {
			t.Errorf("row %d: %v before the end, %v, noted %d: due %d, want %d", i, row.left, row.set, row.noted, due, row.want)
		}
	}
}
