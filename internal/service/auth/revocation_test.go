package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// mustSecond opens the store like another process, with its own cache and connections.
func (w *world) mustSecond(t *testing.T) *service {
	t.Helper()
	db, err := store.Open(t.Context(), storeIn(w.dir, w.clock.now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	second, err := newService(t.Context(), db, Config{Now: w.clock.now, hashCost: cheap, RefreshAcceptsAuthorization: true,
		PollTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	second.recordTime = time.Minute
	return second
}

// polling runs the poller of a service until the test ends.
func polling(t *testing.T, s *service) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.PollChanges(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// TestCachedCredentialsNeedNoStore closes the store and uses credentials that were verified before: using them needs no query.
func TestCachedCredentialsNeedNoStore(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	refreshed := w.mustRefresh(t, tokens.Refresh)
	exchanged := w.mustRefresh(t, refreshed.Authorization)
	principal := w.mustPrincipal(t, tokens)
	_, key, err := w.APIKeys.Create(t.Context(), principal, origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	w.setLastPoll(-time.Hour) // the time limit of the cache has tests of its own
	for range 2 {             // the first use of a key, and of an exchanged token, reads the store
		for _, presented := range []Presented{{Authorization: tokens.Authorization}, {Authorization: refreshed.Authorization},
			{Authorization: exchanged.Authorization}, {APIKey: key}} {
			if _, err := w.Authenticate(t.Context(), presented); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.db.Close()
	}
	w.clock.move(16 * time.Minute)
	wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonExpired)
}

func (w *world) mustPrincipal(t *testing.T, tokens Tokens) Principal {
	t.Helper()
	p, err := w.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryEndTakesEffectWithinASecond ends a session in every way: at once in the same process, and within a second in
// another one.
func TestEveryEndTakesEffectWithinASecond(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	admin := Principal{OrgUID: w.org.UID, OrgName: w.org.Name, UserUID: "admin", Email: "root@example.com", Role: RoleAdmin}
	second := w.mustSecond(t)
	polling(t, second)
	for name, row := range map[string]struct {
		reason string
		end    func(p Principal, tokens Tokens) error
	}{
		"logout": {ReasonRevoked, func(p Principal, _ Tokens) error { return w.Logout(t.Context(), p, origin) }},
		"end own session": {ReasonRevoked,
			func(p Principal, _ Tokens) error { return w.Sessions.End(t.Context(), p, origin, p.SessionUID) }},
		"revoke token": {ReasonRevoked, func(p Principal, s Tokens) error {
			return w.RevokeTokens(t.Context(), p, origin, []secret.String{s.Authorization})
		}},
		"revoke refresh": {ReasonRevoked, func(_ Principal, s Tokens) error {
			return w.RevokeTokens(t.Context(), admin, origin, []secret.String{s.Refresh, s.Authorization})
		}},
		"disable": {ReasonRevoked, func(p Principal, _ Tokens) error {
			mustDisable(t, w, w.user)
			// Its sessions stay ended.
			return w.db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Users.Enable(t.Context(), p.OrgUID, p.UserUID) })
		}},
		"set password": {ReasonRevoked, func(Principal, Tokens) error {
			w.mustSetPassword(t, w.user, goodPassword)
			return nil
		}},
		"change password in another session": {ReasonRevoked, func(p Principal, _ Tokens) error {
			p.SessionUID = "another"
			if err := w.ChangePassword(t.Context(), p, origin, goodPassword, goodPassword+" too"); err != nil {
				return err
			}
			return w.ChangePassword(t.Context(), p, origin, goodPassword+" too", goodPassword)
		}},
		"reuse": {ReasonRevoked, func(_ Principal, s Tokens) error {
			_, _ = w.Refresh(t.Context(), origin, w.mustRefresh(t, s.Refresh).Refresh)
			if _, err := w.Refresh(t.Context(), origin, s.Refresh); err == nil {
				return fmt.Errorf("reuse was accepted")
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := w.mustLogin(t)
			p := w.mustPrincipal(t, tokens)
			presented := Presented{Authorization: tokens.Authorization}
			mustUse(t, second, presented)
			if err := row.end(p, tokens); err != nil {
				t.Fatal(err)
			}
			ended := time.Now()
			wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, row.reason)
			mustRefuseWithinASecond(t, second, presented, ended)
			fresh := w.mustSecond(t) // like after a restart
			_, err := fresh.Authenticate(t.Context(), presented)
			wantFault(t, err, fault.CodeUnauthorizedAccess, row.reason)
		})
	}
}

// TestUseOfCredentialsPolls runs no poller in the background.
func TestUseOfCredentialsPolls(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	tokens := w.mustLogin(t)
	for _, replica := range []*service{second, w.service} {
		if _, err := replica.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Logout(t.Context(), w.mustPrincipal(t, tokens), origin); err != nil {
		t.Fatal(err)
	}
	second.setLastPoll(staleAfter - 1)
	_, err := second.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
}

// TestMissedChangesClearTheCache deletes changes before a process has read them.
func TestMissedChangesClearTheCache(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	tokens := w.mustLogin(t)
	if _, err := second.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization}); err != nil {
		t.Fatal(err)
	}
	if err := w.Logout(t.Context(), w.mustPrincipal(t, tokens), origin); err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(tx *store.Tx) error {
		if _, err := tx.Changes.DeleteBefore(t.Context(), time.Now().Add(time.Hour), 10); err != nil {
			return err
		}
		return tx.Changes.Note(t.Context(), "something else")
	})
	if err := second.Service.changes.poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := second.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
}

// TestAStandbyThatDidNotHaveTheNewestChange ends a session on a primary whose standby receives nothing: the other
// server polls the change, and it is lost with the primary. Its number is then reused by the revocation of a key.
func TestAStandbyThatDidNotHaveTheNewestChange(t *testing.T) {
	pair := postgrestest.StartPair(t, postgrestest.Options{NoSync: true})
	dir := t.TempDir()
	// No server of this pair is ever silent, so a slow one is waited for.
	if err := postgrestest.WriteURL(dir, pair.NewDatabase(t)+postgrestest.SlowConnect); err != nil {
		t.Fatal(err)
	}
	w := mustWorldIn(t, dir, nil)
	second := w.mustSecond(t)
	polling(t, w.service)
	polling(t, second)
	me, other := w.principal(t), w.principal(t)
	created, key := w.mustKey(t, me, NewAPIKey{Name: "CI", ExpiresAt: start.Add(1000 * time.Hour)})
	use := func() error {
		_, err := second.Authenticate(t.Context(), Presented{APIKey: key})
		return err
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	if err := pair.Primary().StopSending(); err != nil {
		t.Fatal(err)
	}
	if err := w.Logout(t.Context(), other, origin); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a change that no standby has was acknowledged: %v", err)
	}
	if err := errors.Join(pair.Primary().KillHard(), pair.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	err := w.deactivateKey(t, me, created.UID)
	for fault.KindOf(err) == fault.Unavailable {
		time.Sleep(100 * time.Millisecond)
		err = w.deactivateKey(t, me, created.UID)
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	err = use()
	for ; fault.KindOf(err) == fault.Unavailable; err = use() {
		time.Sleep(100 * time.Millisecond)
	}
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonInactive)
}

// TestAccountsAndKeysRace runs readers and an end concurrently: once the end is committed, no reader succeeds.
func TestAccountsAndKeysRace(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	for range 10 {
		tokens := w.mustLogin(t)
		p := w.mustPrincipal(t, tokens)
		var wait sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			wait.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = w.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
						w.cache.clear() // so that every call reads the store
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		if err := w.Logout(t.Context(), p, origin); err != nil {
			t.Error(err)
		}
		wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonRevoked)
		close(stop)
		wait.Wait()
		wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonRevoked)
	}
}
