package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/store"
)

func mustBeSession(t *testing.T, db *store.DB, uid string) store.Session {
	t.Helper()
	var session store.Session
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		session, err = tx.Sessions.Get(ctx, uid)
		return err
	})
	return session
}

func sessions(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	session := mustSession(t, db, user)
	want := session
	want.AdvancedAt, want.UsedAt, want.Email, want.Role, want.OrgName = start, start, "u@example.com", "member", "one"
	if diff := cmp.Diff(want, mustBeSession(t, db, session.UID)); diff != "" {
		t.Error(diff)
	}
	idle, max := session.IdleUntil, session.MaxUntil
	for _, step := range []struct {
		name       string
		generation int64
		at         time.Time
		advances   bool
	}{
		{"a generation that was not issued", 2, start, false},
		{"at its idle end", 1, idle, false},
		{"just before its idle end", 1, idle.Add(-time.Millisecond), true},
		{"a consumed generation", 1, idle, false},
		{"the next one", 2, idle, true},
		{"at its absolute end", 3, max, false},
	} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			next, advanced, err := advance(ctx, tx, session.UID, step.generation, step.at, max.Add(time.Hour))
			if advanced != step.advances {
				t.Errorf("%s: advanced %v", step.name, advanced)
			}
			if stored, err := tx.Sessions.Get(ctx, session.UID); advanced && (err != nil || next != stored) {
				t.Errorf("%s: returned %+v, stored %+v, %v", step.name, next, stored, err)
			}
			return err
		})
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		first, errF := tx.Sessions.End(ctx, session.UID, "logout", max)
		second, errS := tx.Sessions.End(ctx, session.UID, "reused", max)
		used, errU := tx.Sessions.Use(ctx, session.UID, idle, max)
		if !first || second || used {
			t.Errorf("ended %v, again %v, used %v", first, second, used)
		}
		return errors.Join(errF, errS, errU)
	})
	ended := mustBeSession(t, db, session.UID)
	if ended.Generation != 3 || ended.EndReason != "logout" || !ended.EndedAt.Equal(max) || !ended.AdvancedAt.Equal(idle) {
		t.Errorf("got %+v", ended)
	}
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Sessions.Get(ctx, "unknown")
		return err
	})
}

// references finds a session by its reference alone, until it is deleted.
func references(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	session, other := mustSession(t, db, user), mustSession(t, db, user)
	hash := []byte("0123456789abcdef0123456789abcdef")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Sessions.InsertReference(ctx, session.UID, hash)
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Sessions.ByReference(ctx, hash)
		same, errSame := tx.Sessions.Get(ctx, session.UID)
		without, errWithout := tx.Sessions.Get(ctx, other.UID)
		if found != same || !found.Console || found.UID != session.UID || without.Console {
			t.Errorf("by reference %+v, by uid %+v, the other one %+v", found, same, without)
		}
		return errors.Join(err, errSame, errWithout)
	})
	former, hash := hash, []byte("fedcba9876543210fedcba9876543210")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Sessions.ReplaceReference(ctx, session.UID, hash), tx.Sessions.ReplaceReference(ctx, other.UID, former))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Sessions.ByReference(ctx, hash)
		if _, errFormer := tx.Sessions.ByReference(ctx, former); found.UID != session.UID || !errors.Is(errFormer, store.ErrNotFound) {
			t.Errorf("by the new reference %+v, by the former one %v", found, errFormer)
		}
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		deleted, err := tx.Sessions.DeleteBefore(ctx, session.MaxUntil.Add(time.Hour), 10)
		if deleted != 2 {
			t.Errorf("%d sessions were deleted", deleted)
		}
		return err
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Sessions.ByReference(ctx, hash)
		return err
	})
}

// advance reports whether a session advanced.
func advance(ctx context.Context, tx *store.Tx, uid string, generation int64, now, idleUntil time.Time) (store.Session, bool, error) {
	session, err := tx.Sessions.Advance(ctx, uid, generation, now, idleUntil)
	if errors.Is(err, store.ErrNotFound) {
		return session, false, nil
	}
	return session, err == nil, err
}

// disabledAdvance checks that a session does not advance when it was created while its user was being disabled.
func disabledAdvance(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.Disable(ctx, user.OrgUID, user.UID, start)
	})
	session := mustSession(t, db, user)
	try := func(want bool) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			_, advanced, err := advance(ctx, tx, session.UID, 1, start, start.Add(time.Hour))
			if advanced != want {
				t.Errorf("advanced %v", advanced)
			}
			return err
		})
	}
	try(false)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Enable(ctx, user.OrgUID, user.UID) })
	try(true)
}

// contention presents each generation concurrently.
func contention(t *testing.T, db *store.DB) {
	const clients, rounds = 50, 8
	session := mustSession(t, db, mustUser(t, db, mustOrg(t, db, "one"), "u@example.com"))
	for round := range rounds {
		var winners atomic.Int64
		var wait sync.WaitGroup
		for range clients {
			wait.Go(func() {
				advanced := false
				err := db.InTx(t.Context(), func(tx *store.Tx) (err error) {
					_, advanced, err = advance(t.Context(), tx, session.UID, int64(round+1), start, start.Add(time.Hour))
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if advanced {
					winners.Add(1)
				}
			})
		}
		wait.Wait()
		if winners.Load() != 1 {
			t.Fatalf("round %d: %d of %d consumed one generation", round, winners.Load(), clients)
		}
	}
	if got := mustBeSession(t, db, session.UID).Generation; got != rounds+1 {
		t.Errorf("generation %d after %d rounds", got, rounds)
	}
}

// endContention ends sessions while others advance them: no advance may come after the end.
func endContention(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	for round := range 10 {
		session := mustSession(t, db, user)
		var advances, ends atomic.Int64
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				done := false
				err := db.InTx(t.Context(), func(tx *store.Tx) (err error) {
					if i%5 == 4 {
						done, err = tx.Sessions.End(t.Context(), session.UID, fmt.Sprint(i), start)
						return err
					}
					now, err := tx.Sessions.Get(t.Context(), session.UID)
					if err != nil {
						return err
					}
					_, done, err = advance(t.Context(), tx, session.UID, now.Generation, start, start.Add(time.Hour))
					if done && !now.EndedAt.IsZero() {
						t.Error("advanced after its end")
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if done && i%5 == 4 {
					ends.Add(1)
				} else if done {
					advances.Add(1)
				}
			})
		}
		wait.Wait()
		last := mustBeSession(t, db, session.UID)
		if ends.Load() != 1 || last.EndedAt.IsZero() || last.Generation != advances.Load()+1 {
			t.Errorf("round %d: %d ends, %d advances, then %+v", round, ends.Load(), advances.Load(), last)
		}
	}
}

func consumedJTIs(t *testing.T, db *store.DB) {
	const clients = 40
	session := mustSession(t, db, mustUser(t, db, mustOrg(t, db, "one"), "u@example.com"))
	exchanges := make([]store.ConsumedJTI, clients)
	var firsts atomic.Int64
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			err := db.InTx(t.Context(), func(tx *store.Tx) error {
				first, err := tx.Sessions.ConsumeJTI(t.Context(), store.ConsumedJTI{JTI: "jti", SessionUID: session.UID, ConsumedAt: start,
					NextJTI: fmt.Sprint("next-", i), NextKID: "kid", ExpiresAt: start.Add(time.Minute)})
				if err != nil {
					return err
				}
				if first {
					firsts.Add(1)
				}
				exchanges[i], err = tx.Sessions.ConsumedJTI(t.Context(), "jti")
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, exchange := range exchanges {
		if diff := cmp.Diff(exchanges[0], exchange); diff != "" || firsts.Load() != 1 || !exchange.ConsumedAt.Equal(start) {
			t.Errorf("%d were first: %s", firsts.Load(), diff)
		}
	}
}

func deletions(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	for range 5 {
		session := mustSession(t, db, user)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Sessions.ConsumeJTI(ctx, store.ConsumedJTI{JTI: "of " + session.UID, SessionUID: session.UID, ConsumedAt: start,
				ExpiresAt: start.Add(time.Minute)})
			return err
		})
	}
	for _, step := range []struct {
		after          time.Duration
		jtis, sessions int64
	}{
		{time.Minute, 0, 0}, {time.Hour, 2, 0}, {time.Hour, 2, 0}, {24 * time.Hour, 1, 0}, {25 * time.Hour, 0, 2}, {25 * time.Hour, 0, 2},
		{25 * time.Hour, 0, 1},
	} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			jtis, errJ := tx.Sessions.DeleteConsumedJTIs(ctx, start.Add(step.after), 2)
			sessions, errS := tx.Sessions.DeleteBefore(ctx, start.Add(step.after), 2)
			if jtis != step.jtis || sessions != step.sessions {
				t.Errorf("after %v: deleted %d exchanges, %d sessions", step.after, jtis, sessions)
			}
			return errors.Join(errJ, errS)
		})
	}
}

// idleOfOrgs ends sessions of an organization earlier than the server would, when it is set and from then on.
func idleOfOrgs(t *testing.T, db *store.DB) {
	org, rival := mustOrg(t, db, "acme"), mustOrg(t, db, "rival")
	session := mustSession(t, db, mustUser(t, db, org, "a@acme.example"))
	theirs := mustSession(t, db, mustUser(t, db, rival, "a@rival.example"))
	const idle = 20 * time.Minute
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.SetSessionIdle(ctx, org.UID, idle) })
	wantIdle := func(name string, of store.Session, until time.Time) {
		t.Helper()
		if got := mustBeSession(t, db, of.UID).IdleUntil; !got.Equal(until) {
			t.Errorf("%s: idle until %s, want %s", name, got, until)
		}
	}
	wantIdle("capped", session, start.Add(idle))
	wantIdle("of another organization", theirs, theirs.IdleUntil)
	at := start.Add(10 * time.Minute)
	for _, one := range []store.Session{session, theirs} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Sessions.Advance(ctx, one.UID, 1, at, at.Add(time.Hour))
			return err
		})
	}
	wantIdle("advanced", session, at.Add(idle))
	wantIdle("advanced, of another organization", theirs, at.Add(time.Hour))
	at = at.Add(time.Minute)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Sessions.Use(ctx, session.UID, at, at.Add(time.Hour))
		return err
	})
	wantIdle("used", session, at.Add(idle))
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Sessions.Use(ctx, session.UID, at, at.Add(time.Minute))
		return err
	})
	wantIdle("used, with a server that ends earlier", session, at.Add(time.Minute))
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if stored, err := tx.Orgs.Get(ctx, org.UID); stored.SessionIdle != idle || err != nil {
			t.Errorf("%+v, %v", stored, err)
		}
		return nil
	})
}
