package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

var errOnPurpose = errors.New("on purpose")

func newOrg(name string) store.Org {
	return store.Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: start}
}

func transactions(t *testing.T, db *store.DB) {
	wantError(t, db, errOnPurpose, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Orgs.Insert(ctx, newOrg("gone")); err != nil {
			return err
		}
		if _, err := tx.Orgs.ByName(ctx, "gone"); err != nil {
			t.Errorf("a transaction does not see its own change: %v", err)
		}
		return errOnPurpose
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Orgs.ByName(ctx, "gone")
		return err
	})
	err := db.View(t.Context(), func(tx *store.Tx) error { return tx.Orgs.Insert(t.Context(), newOrg("written while reading")) })
	if err == nil {
		t.Error("a view can write")
	}
	err = db.InTx(t.Context(), func(*store.Tx) error { panic("on purpose") })
	if err == nil {
		t.Error("a panic was reported as success")
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Insert(ctx, newOrg("after a panic")) })
}

// groupCommit writes from many goroutines at once, so that transactions share commits. Every third fails after its
// change.
func groupCommit(t *testing.T, db *store.DB) {
	const writers = 120
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			err := db.InTx(t.Context(), func(tx *store.Tx) error {
				if err := tx.Orgs.Insert(t.Context(), newOrg(fmt.Sprintf("org-%03d", i))); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return errOnPurpose
				case 2:
					return tx.Orgs.Insert(t.Context(), newOrg(fmt.Sprintf("org-%03d", i-2))) // taken, or free if this came first
				}
				return nil
			})
			if i%3 == 1 && !errors.Is(err, errOnPurpose) {
				t.Errorf("writer %d got %v", i, err)
			}
		})
	}
	wait.Wait()
	var orgs []store.Org
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		orgs, err = tx.Orgs.List(ctx)
		return err
	})
	there := map[string]bool{}
	for _, org := range orgs {
		there[org.Name] = true
	}
	for i := range writers {
		name, partner := fmt.Sprintf("org-%03d", i), fmt.Sprintf("org-%03d", i-2)
		switch {
		case i%3 == 1 && there[name]:
			t.Errorf("%s is stored although its transaction failed", name)
		case i%3 == 2 && !there[partner]:
			t.Errorf("%s is missing although one of two wrote it", partner)
		}
	}
}

func canceledCallers(t *testing.T, db *store.DB) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := db.InTx(gone, func(*store.Tx) error {
		t.Error("ran for a caller whose context had ended")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// A context that ends while the transaction runs changes nothing: the caller gets the outcome.
	leaving, leave := context.WithCancel(t.Context())
	err = db.InTx(leaving, func(tx *store.Tx) error {
		leave()
		return tx.Orgs.Insert(leaving, newOrg("stored"))
	})
	if err == nil {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Orgs.ByName(ctx, "stored")
			return err
		})
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := db.InTx(t.Context(), func(*store.Tx) error { return nil }); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a closed store returns %v", err)
	}
	err = db.View(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Orgs.List(t.Context())
		return err
	})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a closed store returns %v to a reader", err)
	}
}
