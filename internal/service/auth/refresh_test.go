package auth

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func (w *world) mustRefresh(t *testing.T, token secret.String) Tokens {
	t.Helper()
	tokens, err := w.Refresh(t.Context(), origin, token)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func (w *world) wantRefused(t *testing.T, token secret.String, reason string) {
	t.Helper()
	tokens, err := w.Refresh(t.Context(), origin, token)
	wantFault(t, err, fault.CodeInvalidRefreshToken, reason)
	if tokens != (Tokens{}) {
		t.Error("a refusal with tokens")
	}
}

func (w *world) wantRecord(t *testing.T, outcome audit.Outcome, reason string) {
	t.Helper()
	list := w.newAudits(t)
	if !slices.ContainsFunc(list, func(e audit.Record) bool {
		return e.Action == audit.Refresh && e.Outcome == outcome && e.Reason == reason && e.OrgUID == w.org.UID &&
			e.ActorName == goodEmail && e.Origin == origin
	}) {
		t.Errorf("recorded: %+v, want %s %s", list, outcome, reason)
	}
}

func TestRefreshRotates(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	if strings.Trim(tokens.Refresh.Reveal(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		t.Errorf("not a valid path segment: %s", tokens.Refresh.Reveal())
	}
	before := w.sessionOf(t, tokens)
	for range 3 {
		w.clock.move(time.Hour)
		next := w.mustRefresh(t, tokens.Refresh)
		if next.Refresh == tokens.Refresh || next.Authorization == tokens.Authorization ||
			!next.ExpiresAt.Equal(w.clock.now().Add(15*time.Minute)) {
			t.Fatalf("got %+v", next)
		}
		w.wantRecord(t, audit.Succeeded, "")
		tokens = next
	}
	after := w.sessionOf(t, tokens)
	if after.UID != before.UID || !after.MaxUntil.Equal(before.MaxUntil) ||
		!after.IdleUntil.Equal(w.clock.now().Add(defaultSessionIdle)) || after.Generation != 4 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestLostResponseCanBeRetried(t *testing.T) {
	w := mustWorld(t, nil)
	first := w.mustLogin(t)
	second := w.mustRefresh(t, first.Refresh)
	for _, later := range []time.Duration{0, 15 * time.Second, 15 * time.Second} {
		w.clock.move(later)
		again := w.mustRefresh(t, first.Refresh)
		if again.Refresh != second.Refresh || !again.ExpiresAt.Equal(w.clock.now().Add(15*time.Minute)) {
			t.Errorf("retry after %v: another successor or a shorter token: %v", later, again.ExpiresAt)
		}
		w.wantRecord(t, audit.Succeeded, reasonRetried)
	}
	w.mustRefresh(t, second.Refresh) // the retries consumed nothing
}

func TestReuseEndsTheSession(t *testing.T) {
	for name, consume := range map[string]func(t *testing.T, w *world, first, second Tokens){
		"past the grace period":  func(_ *testing.T, w *world, _, _ Tokens) { w.clock.move(30*time.Second + time.Millisecond) },
		"its successor was used": func(t *testing.T, w *world, _, second Tokens) { w.mustRefresh(t, second.Refresh) },
		"an even older one": func(t *testing.T, w *world, _, second Tokens) {
			w.mustRefresh(t, w.mustRefresh(t, second.Refresh).Refresh)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustWorld(t, nil)
			first := w.mustLogin(t)
			second := w.mustRefresh(t, first.Refresh)
			other := w.mustLogin(t)
			consume(t, w, first, second)
			w.wantRefused(t, first.Refresh, ReasonReused)
			w.wantRecord(t, audit.Refused, ReasonReused)
			if ended := w.sessionOf(t, second); ended.EndReason != ReasonReused || !ended.EndedAt.Equal(w.clock.now()) {
				t.Errorf("the end was not stored: %+v", ended)
			}
			w.wantRefused(t, second.Refresh, ReasonRevoked)
			w.wantRecord(t, audit.Refused, ReasonRevoked)
			wantFault(t, w.authenticate(t, second.Authorization), fault.CodeUnauthorizedAccess, ReasonRevoked)
			w.mustRefresh(t, other.Refresh) // another session of the same user stays live
		})
	}
}

func TestSessionsEnd(t *testing.T) {
	w := mustWorld(t, nil)
	idle := w.mustLogin(t)
	w.clock.move(defaultSessionIdle)
	w.wantRefused(t, idle.Refresh, ReasonIdle)
	w.wantRecord(t, audit.Refused, ReasonIdle)

	tokens := w.mustLogin(t)
	for range 4 {
		w.clock.move(defaultSessionIdle - time.Second)
		tokens = w.mustRefresh(t, tokens.Refresh)
	}
	w.clock.move(2*24*time.Hour + 4*time.Second)
	w.wantRefused(t, tokens.Refresh, ReasonExpired)
	if !w.sessionOf(t, tokens).EndedAt.IsZero() {
		t.Error("time alone ended a session, so its last token would be valid for less than 15 minutes")
	}
	tokens = w.mustLogin(t)
	mustDisable(t, w, w.user)
	w.wantRefused(t, tokens.Refresh, ReasonRevoked)
	wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonRevoked)
}

func TestARestoredBackupEndsNewerSessions(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	session := w.sessionOf(t, tokens)
	ahead := w.keySet().refreshToken(uuid.MustParse(session.UID), 5)
	w.wantRefused(t, ahead, ReasonAhead)
	w.wantRefused(t, tokens.Refresh, ReasonRevoked)
	w.newAudits(t)
	w.wantRefused(t, w.keySet().refreshToken(uuid.New(), 1), ReasonUnknown)
	if e := w.newAudits(t)[0]; e.Reason != ReasonUnknown || e.Outcome != audit.Refused || e.OrgUID != "" {
		t.Errorf("audit record: %+v", e)
	}
}

func TestForgedRefreshTokensAreNotRecorded(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, func(c *Config) { c.RefreshAcceptsAuthorization = false })
	tokens := w.mustLogin(t)
	good := tokens.Refresh.Reveal()
	before := len(w.audits(t, 100))
	forged := map[string]string{"empty": "", "prefix alone": refreshPrefix, "cut": good[:len(good)-1], "longer": good + "A",
		"another prefix": "rt-" + good[3:],
		"upper case":     "RT_" + good[3:], "padding": good + "=", "newline": good[:len(good)-1] + "\n",
		"unused bits changed": changeUnusedBits(good), "API key": "rwk_" + good}
	for i := 3; i < len(good); i++ { // one character at each position
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		forged["position "+string(rune('0'+i/10))+string(rune('0'+i%10))] = good[:i] + string(other) + good[i+1:]
	}
	for name, token := range forged {
		if _, err := w.Refresh(t.Context(), origin, secret.String(token)); err == nil {
			t.Errorf("%s: taken", name)
		} else {
			wantFault(t, err, fault.CodeInvalidRefreshToken, ReasonMalformed)
		}
	}
	w.wantRefused(t, tokens.Authorization, ReasonNotAccepted)
	if after := len(w.audits(t, 100)); after != before {
		t.Errorf("%d records", after-before)
	}
	w.mustRefresh(t, tokens.Refresh)
}

func TestAuthorizationTokenIsExchangedOnce(t *testing.T) {
	w := mustWorld(t, nil)
	first := w.mustLogin(t)
	w.clock.move(10*time.Minute + 300*time.Millisecond)
	second := w.mustRefresh(t, first.Authorization)
	w.wantRecord(t, audit.Succeeded, "")
	if list := w.audits(t, 10); !slices.ContainsFunc(list,
		func(e audit.Record) bool { return e.Action == audit.Refresh && e.Method == audit.MethodToken }) {
		t.Errorf("audit records: %+v", list)
	}
	if second.Refresh != "" || second.Authorization == first.Authorization ||
		second.ExpiresAt.Before(w.clock.now().Add(15*time.Minute-time.Second)) {
		t.Errorf("got %+v", second)
	}
	if session := w.sessionOf(t, second); session.Generation != 1 || !session.IdleUntil.Equal(w.clock.now().Add(defaultSessionIdle)) {
		t.Errorf("session %+v", session)
	}
	w.clock.move(30 * time.Second)
	if again := w.mustRefresh(t, first.Authorization); again != second {
		t.Errorf("the legitimate retry got another response")
	}
	w.wantRecord(t, audit.Succeeded, reasonRetried)
	w.clock.move(time.Millisecond)
	w.wantRefused(t, first.Authorization, ReasonConsumed)
	w.wantRecord(t, audit.Refused, ReasonConsumed)
	if err := w.authenticate(t, second.Authorization); err != nil {
		t.Errorf("the refusal ended the session: %v", err)
	}
	w.mustRefresh(t, first.Refresh) // the generation did not change
}

func TestExchangeEdges(t *testing.T) {
	w := mustWorld(t, nil)
	first := w.mustLogin(t)
	w.clock.move(15*time.Minute - time.Second)
	second := w.mustRefresh(t, first.Authorization)
	unused := w.mustLogin(t)
	w.clock.move(20 * time.Second) // first has expired, and its response was lost
	if again := w.mustRefresh(t, first.Authorization); again != second {
		t.Error("the legitimate retry got another response after the token's end")
	}
	w.mustRefresh(t, second.Authorization) // the response arrived after all
	w.wantRefused(t, first.Authorization, ReasonConsumed)

	w.clock.move(14*time.Minute + 45*time.Second)
	w.wantRefused(t, unused.Authorization, ReasonExpired) // within the grace period after its end, but never used

	ended := w.mustLogin(t)
	w.mustWrite(t, func(tx *store.Tx) error {
		_, err := tx.Sessions.End(t.Context(), w.sessionOf(t, ended).UID, "logout", w.clock.now())
		return err
	})
	w.wantRefused(t, ended.Authorization, ReasonRevoked)
}

// TestManyPresentOneToken has 100 clients present one refresh token at once, and one authorization token.
func TestManyPresentOneToken(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	for name, token := range map[string]secret.String{"refresh": tokens.Refresh, "authorization": tokens.Authorization} {
		responses := make([]Tokens, 100)
		var wait sync.WaitGroup
		for i := range responses {
			wait.Go(func() {
				var err error
				if responses[i], err = w.Refresh(t.Context(), origin, token); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wait.Wait()
		for _, response := range responses {
			if response.Refresh != responses[0].Refresh {
				t.Errorf("%s: two successors", name)
			}
			if name == "authorization" && response != responses[0] {
				t.Error("different responses to one authorization token")
			}
		}
	}
	if generation := w.sessionOf(t, tokens).Generation; generation != 2 {
		t.Errorf("generation %d", generation)
	}
	w.clock.move(time.Minute)
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			if _, err := w.Refresh(t.Context(), origin, tokens.Refresh); err == nil {
				t.Error("accepted outside the grace period")
			}
		})
	}
	wait.Wait()
}

func TestSweepDeletesOnlyWhatEndedLongAgo(t *testing.T) {
	w := mustWorld(t, nil)
	old := w.mustLogin(t)
	w.mustRefresh(t, old.Authorization)
	uid := w.sessionOf(t, old).UID
	w.clock.move(defaultSessionMax + 23*time.Hour)
	live := w.mustLogin(t)
	for _, want := range []error{nil, store.ErrNotFound} {
		if err := w.sweeper().Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := w.db.View(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Sessions.Get(t.Context(), uid)
			return err
		})
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		w.clock.move(2 * time.Hour)
	}
	w.mustRefresh(t, live.Refresh)
}

// An organization ends its sessions after a time without a refresh: those that exist, and later ones.
func TestIdleSessionsOfAnOrganization(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.SetSessionIdle(t.Context(), w.org.UID, 30*time.Minute) })
	for range 3 {
		w.clock.move(29 * time.Minute)
		tokens = w.mustRefresh(t, tokens.Refresh)
	}
	w.clock.move(30 * time.Minute)
	w.wantRefused(t, tokens.Refresh, ReasonIdle)
	tokens = w.mustLogin(t)
	w.clock.move(29 * time.Minute)
	tokens = w.mustRefresh(t, tokens.Refresh)
	w.clock.move(31 * time.Minute)
	w.wantRefused(t, tokens.Refresh, ReasonIdle)
	tokens = w.mustLogin(t)
	w.clock.move(30 * time.Minute)
	w.wantRefused(t, tokens.Refresh, ReasonIdle)
	tokens, err := w.LoginVouched(t.Context(), origin, Vouched{OrgUID: w.org.UID, Method: audit.MethodOIDC,
		User: func(*store.Tx) (store.User, error) { return w.user, nil }})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.move(30 * time.Minute)
	w.wantRefused(t, tokens.Refresh, ReasonIdle)
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.SetSessionIdle(t.Context(), w.org.UID, 1000*time.Hour) })
	tokens = w.mustLogin(t)
	w.clock.move(defaultSessionIdle - time.Minute)
	tokens = w.mustRefresh(t, tokens.Refresh)
	w.clock.move(defaultSessionIdle)
	w.wantRefused(t, tokens.Refresh, ReasonIdle)
}
