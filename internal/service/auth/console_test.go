package auth

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func (w *world) mustLoginConsole(t *testing.T) secret.String {
	t.Helper()
	reference, _, err := w.LoginConsole(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

func (w *world) mustConsole(t *testing.T, reference secret.String) Principal {
	t.Helper()
	p, err := w.AuthenticateConsole(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConsoleSession(t *testing.T) {
	w := mustWorld(t, nil)
	first, second := w.mustLoginConsole(t), w.mustLoginConsole(t)
	p := w.mustConsole(t, first)
	if p.UserUID != w.user.UID || p.OrgUID != w.org.UID || p.Role != RoleMember || p.Method != audit.MethodConsole || first == second {
		t.Errorf("the caller is %+v", p)
	}
	tokens := w.mustLogin(t)
	list, err := w.Sessions.List(t.Context(), p)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, session := range list {
		api := session.UID == w.sessionOf(t, tokens).UID
		if session.Console == api || session.Current != (session.UID == p.SessionUID) || session.Address != origin.Address {
			t.Errorf("listed as %+v", session)
		}
	}
	for _, presented := range []Presented{{Authorization: first}, {APIKey: first}} {
		_, err := w.Authenticate(t.Context(), presented)
		wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonMalformed)
	}
	unknown, _ := randomkey.New(referencePrefix)
	for reference, reason := range map[secret.String]string{"": ReasonMalformed, tokens.Authorization: ReasonMalformed,
		tokens.Refresh: ReasonMalformed,
		first + "a":    ReasonMalformed, unknown: ReasonUnknown} {
		_, err := w.AuthenticateConsole(t.Context(), reference)
		wantFault(t, err, fault.CodeUnauthorizedAccess, reason)
	}
}

func TestConsoleLoginIsRefused(t *testing.T) {
	w := mustWorld(t, nil)
	for range defaultFreeFailures {
		_, _, err := w.LoginConsole(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: "nine purple ducks on fire"})
		wantFault(t, err, fault.CodeAuthenticationFailed, "")
	}
	_, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: "nine purple ducks on fire"})
	wantFault(t, err, fault.CodeTooManyRequests, "")
	_, _, err = w.LoginConsole(t.Context(), origin, Credentials{Email: goodEmail})
	wantFields(t, err, "org", "password")
}

// TestConsoleSessionEnds ends a session in every way: no process accepts its reference afterwards.
func TestConsoleSessionEnds(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	for name, end := range map[string]func(Principal) error{
		"logout": func(p Principal) error { return w.Logout(t.Context(), p, origin) },
		"ended":  func(p Principal) error { return w.Sessions.End(t.Context(), p, origin, p.SessionUID) },
		"password": func(Principal) error {
			w.mustSetPassword(t, w.user, goodPassword)
			return nil
		},
		"changed by another session": func(p Principal) error {
			p.SessionUID = "another"
			if err := w.ChangePassword(t.Context(), p, origin, goodPassword, goodPassword+" too"); err != nil {
				return err
			}
			return w.ChangePassword(t.Context(), p, origin, goodPassword+" too", goodPassword)
		},
	} {
		reference := w.mustLoginConsole(t)
		p := w.mustConsole(t, reference)
		if _, err := second.AuthenticateConsole(t.Context(), reference); err != nil {
			t.Fatal(err)
		}
		if err := end(p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		second.setLastPoll(2 * staleAfter)
		for _, replica := range []*service{w.service, second} {
			_, err := replica.AuthenticateConsole(t.Context(), reference)
			wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
		}
	}
	reference := w.mustLoginConsole(t)
	w.mustConsole(t, reference)
	mustDisable(t, w, w.user)
	_, err := w.AuthenticateConsole(t.Context(), reference)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
}

// TestPasswordChangeRenewsTheReference changes the password in a browser, and sends the change again as after a lost response: the session
// stays, and only the newest reference to it counts, in every process.
func TestPasswordChangeRenewsTheReference(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	former, other := w.mustLoginConsole(t), w.mustLoginConsole(t)
	p := w.mustConsole(t, former)
	if _, err := second.AuthenticateConsole(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.ChangePasswordConsole(t.Context(), p, origin, "another password", goodPassword+" too")
	if err == nil || w.mustConsole(t, former) != p {
		t.Errorf("with a wrong password: %v", err)
	}
	for range 2 {
		reference, end, err := w.ChangePasswordConsole(t.Context(), p, origin, goodPassword, goodPassword+" too")
		if err != nil || !end.Equal(w.session(t, p.SessionUID).MaxUntil) {
			t.Fatalf("until %v, %v", end, err)
		}
		second.setLastPoll(2 * staleAfter)
		for _, replica := range []*service{w.service, second} {
			if got, err := replica.AuthenticateConsole(t.Context(), reference); err != nil || got != p {
				t.Errorf("the new reference: %+v, %v", got, err)
			}
			_, err = replica.AuthenticateConsole(t.Context(), former)
			wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonUnknown)
			_, err = replica.AuthenticateConsole(t.Context(), other)
			wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
		}
		former = reference
	}
}

// TestConsoleSessionLifetimes uses one session every hour and another never: only the first one outlives its idle time,
// until its absolute end.
func TestConsoleSessionLifetimes(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.SessionIdle, c.SessionMax = 2*time.Hour, 24*time.Hour })
	used, unused := w.mustLoginConsole(t), w.mustLoginConsole(t)
	uid := w.mustConsole(t, used).SessionUID
	for range 23 {
		w.clock.move(time.Hour)
		w.mustConsole(t, used)
	}
	if got := w.session(t, uid); !got.UsedAt.Equal(start.Add(23*time.Hour)) || got.Generation != 1 {
		t.Errorf("used at %v, generation %d", got.UsedAt, got.Generation)
	}
	_, err := w.AuthenticateConsole(t.Context(), unused)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonIdle)
	w.clock.move(time.Hour)
	_, err = w.AuthenticateConsole(t.Context(), used)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonExpired)
}

// TestConsoleSessionWithoutAStore uses a session a moment after its last use, and after a while.
func TestConsoleSessionWithoutAStore(t *testing.T) {
	w := mustWorld(t, nil)
	reference := w.mustLoginConsole(t)
	w.mustConsole(t, reference)
	w.setLastPoll(-time.Hour) // the time limit of the cache has tests of its own
	_ = w.db.Close()
	w.mustConsole(t, reference) // no query
	w.clock.move(useRecordedEvery)
	if _, err := w.AuthenticateConsole(t.Context(), reference); err == nil {
		t.Error("a session that was not looked up is accepted")
	}
}

// TestTheUseOfAConsoleSessionIsStored at most every five minutes, or every quarter of a short idle time; a store that cannot be written
// refuses no session.
func TestTheUseOfAConsoleSessionIsStored(t *testing.T) {
	for _, tt := range []struct{ idle, every, server time.Duration }{{2 * time.Hour, useRecordedEvery, 2 * time.Hour},
		{8 * time.Minute, 2 * time.Minute, 8 * time.Minute}, {16 * time.Minute, 4 * time.Minute, 2 * time.Hour}} {
		w := mustWorld(t, func(c *Config) { c.SessionIdle = tt.server })
		if tt.idle < tt.server { // the organization's
			w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.SetSessionIdle(t.Context(), w.org.UID, tt.idle) })
		}
		reference := w.mustLoginConsole(t)
		for _, step := range []struct{ wait, used time.Duration }{{tt.every - time.Second, 0}, {time.Second, tt.every}} {
			w.clock.move(step.wait)
			got := w.session(t, w.mustConsole(t, reference).SessionUID)
			if !got.UsedAt.Equal(start.Add(step.used)) || !got.IdleUntil.Equal(start.Add(step.used+tt.idle)) {
				t.Errorf("idle for %v: used at %v, idle at %v", tt.idle, got.UsedAt, got.IdleUntil)
			}
		}
	}
}

// TestAConsoleSessionWhoseUseIsNotStored is accepted, but not longer than the store says.
func TestAConsoleSessionWhoseUseIsNotStored(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.SessionIdle = 2 * time.Hour })
	w.recordTime = recordUseTimeout
	reference := w.mustLoginConsole(t)
	uid := w.mustConsole(t, reference).SessionUID
	w.clock.move(2*time.Hour - time.Second)
	undone := errors.New("undone")
	if err := w.db.InTx(t.Context(), func(tx *store.Tx) error { // nothing else can be written until it ends
		if _, err := tx.Sessions.Use(t.Context(), uid, start, start.Add(2*time.Hour)); err != nil {
			return err
		}
		w.mustConsole(t, reference)
		return undone
	}); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	w.clock.move(time.Second)
	_, err := w.AuthenticateConsole(t.Context(), reference)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonIdle)
}

// TestAConsoleSessionIsRechecked asks the identity provider from the time on that the session has, unless the session has ended.
func TestAConsoleSessionIsRechecked(t *testing.T) {
	w := mustWorld(t, nil)
	reference, _, err := w.LoginVouchedConsole(t.Context(), origin, Vouched{OrgUID: w.org.UID, Method: audit.MethodOIDC,
		RecheckAt: start.Add(time.Hour), User: func(*store.Tx) (store.User, error) { return w.user, nil }})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	w.AskProvider(func(context.Context, string) error { asked++; return nil })
	for _, step := range []struct {
		wait  time.Duration
		asked int
	}{{0, 0}, {time.Hour - time.Second, 0}, {time.Second, 1}} {
		w.clock.move(step.wait)
		if w.mustConsole(t, reference); asked != step.asked {
			t.Errorf("%v later: asked %d times, want %d", step.wait, asked, step.asked)
		}
	}
	w.AskProvider(func(context.Context, string) error { return errors.New("the provider does not respond") })
	if _, err := w.AuthenticateConsole(t.Context(), reference); err == nil || fault.KindOf(err) == fault.Unauthenticated {
		t.Errorf("without the provider: %v", err)
	}
	w.AskProvider(func(ctx context.Context, session string) error {
		return w.db.InTx(ctx, func(tx *store.Tx) error {
			_, err := tx.Sessions.End(ctx, session, "test", w.clock.now())
			return err
		})
	})
	for range 2 { // the second time it has ended
		_, err = w.AuthenticateConsole(t.Context(), reference)
		wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
		w.AskProvider(func(context.Context, string) error { return errors.New("asked about a session that has ended") })
	}
}
