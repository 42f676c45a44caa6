package auth

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func TestDecideRefresh(t *testing.T) {
	live := store.Session{Generation: 3, AdvancedAt: start, IdleUntil: start.Add(time.Hour), MaxUntil: start.Add(2 * time.Hour)}
	ended, disabled := live, live
	ended.EndedAt, disabled.DisabledAt = start, start
	vouched := live
	vouched.RecheckAt = start.Add(time.Minute)
	const grace = 30 * time.Second
	for _, row := range []struct {
		name       string
		session    store.Session
		generation int64
		after      time.Duration
		want       refreshDecision
	}{
		{"newest", live, 3, time.Minute, advance},
		{"newest at once", live, 3, 0, advance},
		{"newest just before the idle end", live, 3, time.Hour - 1, advance},
		{"newest at the idle end", live, 3, time.Hour, ReasonIdle},
		{"newest at both ends", live, 3, 2 * time.Hour, ReasonExpired},
		{"consumed just now", live, 2, 0, retry},
		{"consumed a grace period ago", live, 2, grace, retry},
		{"consumed longer ago", live, 2, grace + 1, ReasonReused},
		{"clock stepped back", live, 2, -time.Hour, retry},
		{"two before", live, 1, 0, ReasonReused},
		{"ahead", live, 4, 0, ReasonAhead},
		{"consumed, past the idle end", live, 2, time.Hour, ReasonIdle},
		{"ended", ended, 3, 0, ReasonRevoked},
		{"ended, consumed", ended, 2, 0, ReasonRevoked},
		{"ended and past its ends", ended, 3, 3 * time.Hour, ReasonRevoked},
		{"disabled", disabled, 3, 0, ReasonInactive},
		{"newest, before its provider is asked", vouched, 3, time.Minute - 1, advance},
		{"newest, when its provider is asked", vouched, 3, time.Minute, recheck},
		{"consumed, when its provider is asked", vouched, 2, time.Minute, ReasonReused},
		{"ahead, when its provider is asked", vouched, 4, time.Minute, ReasonAhead},
	} {
		if got := decideRefresh(row.session, row.generation, start.Add(row.after), grace); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestEveryReasonHasAMessage(t *testing.T) {
	for _, reason := range []string{ReasonMalformed, ReasonExpired, ReasonIdle, ReasonRevoked, ReasonInactive, ReasonUnknown, ReasonReused,
		ReasonAhead, ReasonConsumed, ReasonNotAccepted} {
		if refreshRefused(reason).Message == "" {
			t.Errorf("refresh: %s", reason)
		}
	}
	for _, reason := range []string{ReasonMissing, ReasonMalformed, ReasonExpired, ReasonRevoked, ReasonInactive,
		ReasonUnknown, ReasonMismatch} {
		if unauthorized(reason).Message == "" {
			t.Errorf("use: %s", reason)
		}
	}
}

// issued is the model of one refresh token.
type issued struct {
	token      secret.String
	consumedAt time.Time     // time of its first use
	successor  secret.String // returned by its first use
}

// sessionModel is a session as its clients see it, without generations.
type sessionModel struct {
	w        *world
	chain    []*issued // in the order of issue
	jwts     map[secret.String]Tokens
	consumed map[secret.String]time.Time
	newest   []secret.String
	last     time.Time // the last login, advance or exchange: the idle time begins there
	begun    time.Time
	ended    bool
}

// present sends one of the issued refresh tokens.
func (m *sessionModel) present(r *rapid.T) {
	at := rapid.IntRange(0, len(m.chain)-1).Draw(r, "token")
	if rapid.Bool().Draw(r, "one of the last two") {
		at = max(0, len(m.chain)-1-rapid.IntRange(0, 1).Draw(r, "back"))
	}
	one, now := m.chain[at], m.w.clock.now()
	isNewest := at == len(m.chain)-1
	tokens, err := m.w.Refresh(r.Context(), origin, one.token)
	over := m.ended || now.Sub(m.begun) >= m.w.config.SessionMax || now.Sub(m.last) >= m.w.config.SessionIdle
	legitimate := !one.consumedAt.IsZero() && now.Sub(one.consumedAt) <= m.w.config.RefreshGrace && at == len(m.chain)-2
	switch {
	case err == nil && over:
		r.Fatal("accepted after the session had ended")
	case err == nil && isNewest:
		one.consumedAt, one.successor, m.last = now, tokens.Refresh, now
		m.chain = append(m.chain, &issued{token: tokens.Refresh})
		m.add(r, tokens.Authorization)
	case err == nil && !legitimate:
		r.Fatal("a consumed token was accepted without a legitimate retry")
	case err == nil && tokens.Refresh != one.successor:
		r.Fatal("one token has two successors")
	case err == nil:
		m.add(r, tokens.Authorization)
	case !over && (isNewest || legitimate):
		r.Fatalf("refused without a reason: %v", err)
	case !over:
		m.ended = true // reuse
	}
}

// exchange sends one of the issued authorization tokens.
func (m *sessionModel) exchange(r *rapid.T) {
	token := rapid.SampledFrom(m.newest).Draw(r, "authorization token")
	now := m.w.clock.now()
	claims, verifyErr := m.w.verify(token, now)
	tokens, err := m.w.Refresh(r.Context(), origin, token)
	over := m.ended || now.Sub(m.begun) >= m.w.config.SessionMax || now.Sub(m.last) >= m.w.config.SessionIdle
	before, wasConsumed := m.jwts[token]
	_, successorConsumed := m.jwts[before.Authorization]
	legitimate := wasConsumed && !successorConsumed && now.Sub(m.consumed[token]) <= m.w.config.RefreshGrace &&
		now.Before(claims.expiresAt().Add(m.w.config.RefreshGrace))
	switch {
	case err == nil && over:
		r.Fatal("exchanged after the session had ended")
	case err == nil && wasConsumed && (!legitimate || tokens != before):
		r.Fatal("exchanged twice without being a legitimate retry with the same response")
	case err == nil && !wasConsumed:
		if verifyErr != nil || tokens.Refresh != "" {
			r.Fatalf("an invalid token was exchanged, or returned a refresh token: %v", verifyErr)
		}
		m.jwts[token], m.consumed[token], m.last = tokens, now, now
		m.add(r, tokens.Authorization)
	case err != nil && !over && (legitimate || !wasConsumed && verifyErr == nil):
		r.Fatalf("refused without a reason: %v", err)
	}
}

// add stores a new authorization token and checks that it is valid for 15 minutes.
func (m *sessionModel) add(r *rapid.T, token secret.String) {
	m.newest = append(m.newest, token)
	if _, err := m.w.Authenticate(r.Context(), Presented{Authorization: token}); err != nil {
		r.Fatalf("a new token is refused: %v", err)
	}
}

func (m *sessionModel) wait(r *rapid.T) {
	grace, idle := m.w.config.RefreshGrace, m.w.config.SessionIdle
	m.w.clock.move(rapid.SampledFrom([]time.Duration{0, time.Second, grace - time.Second, grace, grace + time.Millisecond, time.Minute,
		15*time.Minute - time.Second, 15 * time.Minute, idle - time.Second, idle}).Draw(r, "wait"))
}

func (m *sessionModel) logOut(r *rapid.T) {
	if !rapid.Bool().Draw(r, "really") || !rapid.Bool().Draw(r, "truly") {
		return // rare, so that sessions grow long
	}
	uid, _, _ := m.w.keySet().parseRefreshToken(m.chain[0].token)
	err := m.w.db.InTx(r.Context(), func(tx *store.Tx) error {
		_, err := tx.Sessions.End(r.Context(), uid.String(), "logout", m.w.clock.now())
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	m.ended = true
}

// useAll checks the invariants after each step: all tokens of an ended session are refused at once, and all tokens of a
// live one are accepted until they expire.
func (m *sessionModel) useAll(r *rapid.T) {
	for _, token := range m.newest[max(0, len(m.newest)-2):] {
		_, expired := m.w.verify(token, m.w.clock.now())
		_, err := m.w.Authenticate(r.Context(), Presented{Authorization: token})
		if (err == nil) != (expired == nil && !m.ended) {
			r.Fatalf("ended %v, expired %v, but using the token gives %v", m.ended, expired, err)
		}
	}
}

func TestSessionInvariants(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, func(c *Config) { c.SessionIdle, c.SessionMax = 4*time.Hour, 24*time.Hour })
	histories := 0
	rapid.Check(t, func(r *rapid.T) {
		if histories++; histories > 30 && !*long { // each takes a second of CPU time under the race detector
			return
		}
		first, err := w.Login(r.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
		if err != nil {
			r.Fatal(err)
		}
		m := &sessionModel{w: w, chain: []*issued{{token: first.Refresh}}, newest: []secret.String{first.Authorization},
			jwts: map[secret.String]Tokens{}, consumed: map[secret.String]time.Time{}, begun: w.clock.now(), last: w.clock.now()}
		r.Repeat(map[string]func(*rapid.T){"present": m.present, "exchange": m.exchange, "wait": m.wait, "logOut": m.logOut, "": m.useAll})
	})
}

func FuzzRefreshToken(f *testing.F) {
	keys := &keySet{mac: make([]byte, macKeyBytes), macs: [][]byte{[]byte("another key of the service, whole")}}
	f.Add(keys.refreshToken([16]byte{1}, 1).Reveal())
	f.Add("rt_" + strings.Repeat("A", 75))
	f.Fuzz(func(t *testing.T, token string) {
		if _, _, genuine := keys.parseRefreshToken(secret.String(token)); genuine {
			t.Errorf("%q is authentic to a service that did not issue it", token)
		}
	})
}
