package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// providers stores one provider for each organization, and deletes it with it.
func providers(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "acme"), mustOrg(t, db, "other")
	of := func(org store.Org, issuer string) identities.Provider {
		return identities.Provider{OrgUID: org.UID, Issuer: issuer, Secret: "s", ChangedAt: start, Settings: identities.Settings{
			ClientID: "c", Scopes: []string{"openid"}, Claims: map[string]string{identities.ClaimEmail: "mail"}}}
	}
	first, second := of(org, "https://two"), of(other, "https://two")
	second.Secret = ""
	put := func(p identities.Provider) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Identities.PutProvider(ctx, p) })
	}
	put(of(org, "https://one"))
	put(first)
	put(second)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		one, err := tx.Identities.Provider(ctx, org.UID)
		if diff := cmp.Diff(first, one); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Identities.DeleteProvider(ctx, org.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Identities.DeleteProvider(ctx, org.UID)
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Delete(ctx, other.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Identities.Provider(ctx, other.UID)
		return err
	})
}

// userIdentities stores who users are, and one of several callers asks the provider for all sessions.
func userIdentities(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	ada := mustUser(t, db, org, "ada")
	identity := identities.Identity{UID: uuid.NewString(), OrgUID: org.UID, UserUID: ada.UID, Issuer: "https://one", Subject: "7",
		CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Identities.Insert(ctx, identity) })
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		same := identity
		same.UID = uuid.NewString()
		return tx.Identities.Insert(ctx, same)
	})
	due, later := start.Add(time.Hour), start.Add(2*time.Hour)
	var sessions []store.Session
	for _, sid := range []string{"a", "b"} {
		session := store.Session{UID: uuid.NewString(), OrgUID: org.UID, UserUID: ada.UID, Generation: 1, CreatedAt: start,
			IdleUntil: later, MaxUntil: later, RecheckAt: due}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Sessions.Insert(ctx, session); err != nil {
				return err
			}
			return tx.Identities.Bind(ctx, identities.Session{SessionUID: session.UID, IdentityUID: identity.UID, SID: sid, IDToken: "t"})
		})
		sessions = append(sessions, session)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Identities.Verified(ctx, identity.UID, "r", due)
	})
	advance := func(at time.Time) error {
		return db.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Sessions.Advance(t.Context(), sessions[0].UID, 1, at, later)
			return err
		})
	}
	if err := advance(due); err == nil {
		t.Error("a session advanced before the provider was asked")
	}
	claims := 0
	for range 2 {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			claimed, err := tx.Identities.Claim(ctx, identity.UID, due, due.Add(time.Minute))
			if claimed {
				claims++
			}
			return err
		})
	}
	if err := advance(due); err != nil || claims != 1 {
		t.Errorf("claimed %d times, %v", claims, err)
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		for of, want := range map[[3]string]int{{"https://one", "7", ""}: 2, {"https://one", "", "a"}: 1, {"https://one", "7", "b"}: 1,
			{"https://one", "8", "a"}: 0, {"https://two", "7", ""}: 0} {
			if list, err := tx.Identities.SessionsAt(ctx, org.UID, of[0], of[1], of[2], start); len(list) != want || err != nil {
				t.Errorf("sessions at %q: %v %v", of, list, err)
			}
		}
		return nil
	})
	for i, want := range []bool{true, false, true} { // the last one when the first has expired
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			first, err := tx.Identities.UseOnce(ctx, org.UID, []byte("hash"), start.Add(time.Duration(i/2)*time.Hour), due)
			if first != want {
				t.Errorf("use %d of a logout token: %t", i, first)
			}
			return err
		})
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Identities.BySubject(ctx, org.UID, "https://one", "7")
		identity.Refresh, identity.RecheckAt = "r", due.Add(time.Minute)
		if diff := cmp.Diff(identity, found); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		of, errO := tx.Identities.OfSession(ctx, sessions[1].UID)
		all, errA := tx.Identities.OfUser(ctx, org.UID, ada.UID)
		if of.UID != identity.UID || len(all) != 1 || errO != nil || errA != nil {
			t.Errorf("%+v, %+v, %v, %v", of, all, errO, errA)
		}
		session, err := tx.Sessions.Get(ctx, sessions[1].UID)
		if err != nil || !session.RecheckAt.Equal(identity.RecheckAt) {
			t.Errorf("%+v, %v", session, err)
		}
		bound, err := tx.Identities.Session(ctx, sessions[1].UID)
		if bound.IDToken != "t" || bound.SID != "b" || err != nil {
			t.Errorf("%+v, %v", bound, err)
		}
		return nil
	})
	wantLive := func(at time.Time, want int) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			live, err := tx.Identities.Live(ctx, identity.UID, at)
			if len(live) != want {
				t.Errorf("%d sessions live, want %d", len(live), want)
			}
			return err
		})
	}
	wantLive(start, 2)
	wantLive(later, 0)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Sessions.End(ctx, sessions[0].UID, "x", start)
		return err
	})
	wantLive(start, 1)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Identities.DeleteOfUser(ctx, org.UID, ada.UID)
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Identities.OfSession(ctx, sessions[1].UID)
		return err
	})
}

// browserTexts are decrypted for their purpose and organization alone.
func browserTexts(t *testing.T, db *store.DB) {
	mustRead(t, db, func(_ context.Context, tx *store.Tx) error {
		text, err := tx.Identities.Encrypt([]string{"a"}, "login", "one")
		if err != nil {
			return err
		}
		for _, row := range []struct {
			purpose, org string
			want         bool
		}{{"login", "one", true}, {"login", "two", false}, {"other", "one", false}} {
			var read []string
			err := tx.Identities.Decrypt(text, &read, row.purpose, row.org)
			if (err == nil) != row.want || len(read) == 1 != row.want {
				t.Errorf("%s of %s: %v, %v", row.purpose, row.org, read, err)
			}
		}
		return nil
	})
}

// deviceLogins confirms one login, denies another, and forgets both with the session and after their end.
func deviceLogins(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "acme"), "ada")
	session := mustSession(t, db, user)
	end := start.Add(time.Minute)
	insert := func(code string) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.Identities.InsertDevice(ctx, identities.Device{Hash: []byte(code), UserCode: code, Address: "a", CreatedAt: start,
				ExpiresAt: end})
		})
	}
	confirm := func(code string, allow bool, at time.Time) error {
		return db.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.Identities.ConfirmDevice(t.Context(), code, session.UID, allow, at)
		})
	}
	insert("one")
	insert("two")
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		return tx.Identities.InsertDevice(ctx, identities.Device{Hash: []byte("x"), UserCode: "one", CreatedAt: start, ExpiresAt: end})
	})
	for _, row := range []struct {
		code  string
		allow bool
		at    time.Time
		want  bool
	}{{"three", true, start, false}, {"one", true, end, false}, {"one", true, start, true}, {"one", true, start, false},
		{"one", false, start, false}, {"two", false, start, true}, {"two", true, start, false}} {
		if err := confirm(row.code, row.allow, row.at); (err == nil) != row.want {
			t.Errorf("confirm %s, %v, after %v: %v", row.code, row.allow, row.at.Sub(start), err)
		}
	}
	poll := func(code string, at time.Time) (d identities.Device, err error) {
		err = db.InTx(t.Context(), func(tx *store.Tx) (err error) {
			if d, err = tx.Identities.Device(t.Context(), []byte(code)); err != nil {
				return err
			}
			return tx.Identities.PollDevice(t.Context(), []byte(code), at)
		})
		return d, err
	}
	first, err := poll("one", start)
	want := identities.Device{Hash: []byte("one"), UserCode: "one", Address: "a", CreatedAt: start, ExpiresAt: end, SessionUID: session.UID}
	if diff := cmp.Diff(want, first); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	second, err := poll("two", start)
	again, errA := poll("two", end)
	if !second.Denied || !second.PolledAt.IsZero() || !again.PolledAt.Equal(start) || err != nil || errA != nil {
		t.Errorf("%+v, %+v, %v, %v", second, again, err, errA)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, user.OrgUID, user.UID) })
	if _, err := poll("one", start); err == nil {
		t.Error("a login that was confirmed by a deleted session is known")
	}
	for _, after := range []time.Duration{0, time.Minute} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.Identities.DeleteDevices(ctx, end.Add(after), 10)
			if (n == 1) != (after > 0) {
				t.Errorf("%d deleted after %v", n, after)
			}
			return err
		})
	}
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Identities.DeleteDevice(ctx, []byte("two"))
	})
}
