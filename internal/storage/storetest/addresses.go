package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// alertAddresses get one request from concurrent callers, confirm by the token of their newest link, and belong to one organization.
func alertAddresses(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	requested := store.AlertAddress{OrgUID: org.UID, Address: "a@example.com", RequestedAt: start}
	ask := func(a store.AlertAddress, token string) (first bool) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			first, err = tx.Addresses.Request(ctx, a, []byte(token))
			return err
		})
		return first
	}
	var firsts atomic.Int64
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if ask(requested, strconv.Itoa(i)) {
				firsts.Add(1)
			}
		})
	}
	wait.Wait()
	foreign := requested
	foreign.OrgUID = other.UID
	if firsts.Load() != 1 || !ask(foreign, "foreign") {
		t.Errorf("%d requested an address first, want 1 in each organization", firsts.Load())
	}
	listed := func(orgUID string) (list []store.AlertAddress) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Addresses.List(ctx, orgUID)
			return err
		})
		slices.SortFunc(list, func(a, b store.AlertAddress) int { return strings.Compare(a.Address, b.Address) })
		return list
	}
	if diff := cmp.Diff([]store.AlertAddress{requested}, listed(org.UID)); diff != "" {
		t.Error(diff)
	}
	forget := func(until time.Time) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.Addresses.DeleteUnconfirmed(ctx, org.UID, requested.Address, until)
		})
	}
	forget(start.Add(-time.Millisecond))
	if ask(requested, "later") {
		t.Error("a second request was stored before the first was deleted")
	}
	forget(start)
	if !ask(requested, "newest") {
		t.Error("no request was stored after the first was deleted")
	}
	confirmed := 0
	for _, token := range []string{"0", "unknown", "newest", "newest"} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			first, err := tx.Addresses.Confirm(ctx, []byte(token), start.Add(time.Hour))
			if first {
				confirmed++
			}
			return err
		})
	}
	forget(start.Add(time.Hour))
	requested.ConfirmedAt = start.Add(time.Hour)
	if diff := cmp.Diff([]store.AlertAddress{requested}, listed(org.UID)); diff != "" || confirmed != 1 ||
		!listed(other.UID)[0].ConfirmedAt.IsZero() {
		t.Errorf("confirmed %d times: %s", confirmed, diff)
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		byToken, err := tx.Addresses.ByToken(ctx, []byte("newest"))
		_, errNone := tx.Addresses.ByToken(ctx, []byte("unknown"))
		if want := org.Name; byToken.OrgName != want || byToken.Address != requested.Address || !errors.Is(errNone, store.ErrNotFound) {
			t.Errorf("by token: %+v, %v", byToken, errNone)
		}
		return err
	})
	for _, want := range []int64{1, 0} { // confirmed addresses stay
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.Addresses.DeleteUnconfirmedBefore(ctx, start.Add(time.Hour), 10)
			if n != want {
				t.Errorf("%d deleted, want %d", n, want)
			}
			return err
		})
	}
	if len(listed(org.UID)) != 1 || len(listed(other.UID)) != 0 {
		t.Errorf("left: %+v, %+v", listed(org.UID), listed(other.UID))
	}
}

// dueChannels are due at the given moment, if they are active, not claimed and not due sooner.
func dueChannels(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	p := mustProject(t, db, org)
	c, idle := mustChannel(t, db, p, 1), mustChannel(t, db, p, 2)
	idle.Active = false
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Update(ctx, idle, start) })
	wake := func(at time.Time) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.Channels.Wake(ctx, org.UID, c.UID, at), tx.Channels.Wake(ctx, org.UID, idle.UID, at))
		})
	}
	wake(start.Add(time.Hour))
	wake(start.Add(2 * time.Hour))
	if taken := mustClaimChannel(t, db, org, start.Add(time.Hour-time.Millisecond)); len(taken) != 0 {
		t.Errorf("claimed too early: %+v", taken)
	}
	taken := mustClaimChannel(t, db, org, start.Add(time.Hour))
	if len(taken) != 1 || taken[0].UID != c.UID {
		t.Fatalf("claimed %+v, want %s", taken, c.UID)
	}
	wake(start)
	if again := mustClaimChannel(t, db, org, start.Add(time.Hour)); len(again) != 0 {
		t.Errorf("claimed twice: %+v", again)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Outbox.EndIdle(ctx, taken[0]) })
	wake(start)
	if again := mustClaimChannel(t, db, org, start); len(again) != 1 {
		t.Errorf("claimed %+v, want %s", again, c.UID)
	}
}
