package storetest

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// secondFactor stores the factor of a user, which a login asks for once it is confirmed.
func secondFactor(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	ada := mustUser(t, db, org, "ada")
	factor := secondfactors.Factor{UserUID: ada.UID, OrgUID: org.UID, Secret: "S1", CreatedAt: start}
	changed := func(want bool, change func(context.Context, *store.Tx) (bool, error)) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := change(ctx, tx)
			if got != want {
				t.Errorf("changed %t, want %t", got, want)
			}
			return err
		})
	}
	put := func(ctx context.Context, tx *store.Tx) (bool, error) { return tx.Factors.Put(ctx, factor) }
	wantUser := func(asks bool) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			user, err := tx.Users.Get(ctx, org.UID, ada.UID)
			if user.SecondFactor != asks {
				t.Errorf("a login asks for a code: %t, want %t", user.SecondFactor, asks)
			}
			return err
		})
	}
	confirm := func(ctx context.Context, tx *store.Tx) (bool, error) {
		return tx.Factors.Confirm(ctx, ada.UID, 7, start)
	}
	changed(false, confirm)
	changed(true, put)
	factor.Secret = "S2"
	changed(true, put) // replaces the one that no app has
	changed(false, func(ctx context.Context, tx *store.Tx) (bool, error) { return tx.Factors.Accept(ctx, ada.UID, 8) })
	wantUser(false)
	changed(true, confirm)
	changed(false, confirm)
	wantUser(true)
	changed(false, put)
	factor.ConfirmedAt, factor.LastStep = start, 7
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.Factors.Get(ctx, ada.UID)
		if diff := cmp.Diff(factor, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Factors.Delete(ctx, ada.UID) })
	wantUser(false)
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Factors.Delete(ctx, ada.UID) })
}

// codesOnce has several callers use the same code, of the app and for recovery: one of them may.
func codesOnce(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	ada := mustUser(t, db, org, "ada")
	one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Factors.Put(ctx, secondfactors.Factor{UserUID: ada.UID, OrgUID: org.UID, Secret: "S",
			CreatedAt: start}); err != nil {
			return err
		}
		if _, err := tx.Factors.Confirm(ctx, ada.UID, 7, start); err != nil {
			return err
		}
		return tx.Factors.PutCodes(ctx, ada.UID, [][]byte{one, two})
	})
	for name, use := range map[string]func(*store.Tx) (bool, error){
		"code":          func(tx *store.Tx) (bool, error) { return tx.Factors.Accept(t.Context(), ada.UID, 8) },
		"recovery code": func(tx *store.Tx) (bool, error) { return tx.Factors.UseCode(t.Context(), ada.UID, one) },
	} {
		var accepted atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := db.InTx(t.Context(), func(tx *store.Tx) error {
					ok, err := use(tx)
					if ok {
						accepted.Add(1)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		}
		if all.Wait(); accepted.Load() != 1 {
			t.Errorf("one %s is accepted %d times", name, accepted.Load())
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		earlier, err := tx.Factors.Accept(ctx, ada.UID, 8)
		left, errC := tx.Factors.CountCodes(ctx, ada.UID)
		if earlier || left != 1 || err != nil || errC != nil {
			t.Errorf("earlier step %t, %d codes left, %v, %v", earlier, left, err, errC)
		}
		return tx.Factors.PutCodes(ctx, ada.UID, [][]byte{one})
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if left, err := tx.Factors.CountCodes(ctx, ada.UID); left != 1 || err != nil {
			t.Errorf("%d codes after others were put, %v", left, err)
		}
		return nil
	})
}

// pendingLogins wait for a code until they expire, or the factor or user is deleted.
func pendingLogins(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	ada := mustUser(t, db, org, "ada")
	of := func(name byte, until time.Time) secondfactors.Pending {
		return secondfactors.Pending{Hash: bytes.Repeat([]byte{name}, 32), OrgUID: org.UID, UserUID: ada.UID, Password: []byte{9},
			NextHash:  "next",
			ExpiresAt: until}
	}
	first, second := of(1, start.Add(time.Minute)), of(2, start.Add(time.Hour))
	insert := func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Factors.InsertPending(ctx, first); err != nil {
			return err
		}
		return tx.Factors.InsertPending(ctx, second)
	}
	find := func(p secondfactors.Pending, at time.Time) func(context.Context, *store.Tx) error {
		return func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Factors.Pending(ctx, p.Hash, at)
			if diff := cmp.Diff(p, got); err == nil && diff != "" {
				t.Error(diff)
			}
			return err
		}
	}
	mustWrite(t, db, insert)
	mustRead(t, db, find(first, start))
	wantError(t, db, store.ErrNotFound, find(first, first.ExpiresAt))
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if n, err := tx.Factors.DeletePendings(ctx, start.Add(time.Hour), 10); n != 1 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
		return tx.Factors.DeletePending(ctx, second.Hash)
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Factors.DeletePending(ctx, second.Hash) })
	for name, end := range map[string]func(context.Context, *store.Tx) error{
		"factor": func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.Factors.Put(ctx, secondfactors.Factor{UserUID: ada.UID, OrgUID: org.UID, Secret: "S",
				CreatedAt: start}); err != nil {
				return err
			}
			return tx.Factors.Delete(ctx, ada.UID)
		},
		"all": func(ctx context.Context, tx *store.Tx) error { return tx.Factors.DeletePendingOfUser(ctx, ada.UID) },
	} {
		mustWrite(t, db, insert)
		mustWrite(t, db, end)
		for _, p := range []secondfactors.Pending{first, second} {
			t.Log(name)
			wantError(t, db, store.ErrNotFound, find(p, start))
		}
	}
	mustWrite(t, db, insert)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, ada.UID) })
	wantError(t, db, store.ErrNotFound, find(first, start))
}

// secondFactorOfOrg is what an organization requires.
func secondFactorOfOrg(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	for _, required := range []bool{true, false} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Factors.Require(ctx, org.UID, required) })
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Orgs.ByName(ctx, "acme")
			if got.SecondFactor != required {
				t.Errorf("required %t, want %t", got.SecondFactor, required)
			}
			return err
		})
	}
}
