package auth

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

func TestDecideRefresh(t *testing.T) {
	live := store.Session{Generation: 3, AdvancedAt: start, IdleUntil: start.Add(time.Hour), MaxUntil: start.Add(2 * time.Hour)}
	ended, disabled := live, live
	ended.EndedAt, disabled.DisabledAt = start, start
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
		{"spent just now", live, 2, 0, retry},
		{"spent a grace ago", live, 2, grace, retry},
		{"spent longer ago", live, 2, grace + 1, ReasonReused},
		{"clock stepped back", live, 2, -time.Hour, retry},
		{"two before", live, 1, 0, ReasonReused},
		{"ahead", live, 4, 0, ReasonAhead},
		{"spent, past the idle end", live, 2, time.Hour, ReasonIdle},
		{"ended", ended, 3, 0, ReasonRevoked},
		{"ended, spent", ended, 2, 0, ReasonRevoked},
		{"ended and past its ends", ended, 3, 3 * time.Hour, ReasonRevoked},
		{"disabled", disabled, 3, 0, ReasonInactive},
	} {
		if got := decideRefresh(row.session, row.generation, start.Add(row.after), grace); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestEveryReasonHasItsSentence(t *testing.T) {
	for _, reason := range []string{ReasonMalformed, ReasonExpired, ReasonIdle, ReasonRevoked, ReasonInactive, ReasonUnknown, ReasonReused, ReasonAhead, ReasonSpent, ReasonNotAccepted} {
		if refreshRefused(reason).Message == "" {
			t.Errorf("refresh: %s", reason)
		}
	}
	for _, reason := range []string{ReasonMissing, ReasonMalformed, ReasonExpired, ReasonRevoked, ReasonInactive, ReasonUnknown, ReasonMismatch} {
		if unauthorized(reason).Message == "" {
			t.Errorf("use: %s", reason)
		}
	}
}

// issued is what the model knows of one refresh token.
type issued struct {
	token     secret.String
	spentAt   time.Time     // of its first success
	successor secret.String // which that gave
}

// sessionModel holds a session to what must be true of it, as its clients see it. It knows nothing of
// generations.
type sessionModel struct {
	w      *world
	chain  []*issued // in the order of being given out
	jwts   map[secret.String]Tokens
	spent  map[secret.String]time.Time
	newest []secret.String
	last   time.Time // the last sign-in or advance or exchange: the idle end counts from it
	begun  time.Time
	ended  bool
}

// present sends one of the refresh tokens ever given out.
func (m *sessionModel) present(r *rapid.T) {
	at := rapid.IntRange(0, len(m.chain)-1).Draw(r, "token")
	if rapid.Bool().Draw(r, "one of the last two") {
		at = max(0, len(m.chain)-1-rapid.IntRange(0, 1).Draw(r, "back"))
	}
	one, now := m.chain[at], m.w.clock.now()
	isNewest := at == len(m.chain)-1
	tokens, err := m.w.Refresh(r.Context(), origin, one.token)
	over := m.ended || now.Sub(m.begun) >= m.w.config.SessionMax || now.Sub(m.last) >= m.w.config.SessionIdle
	honest := !one.spentAt.IsZero() && now.Sub(one.spentAt) <= m.w.config.RefreshGrace && at == len(m.chain)-2
	switch {
	case err == nil && over:
		r.Fatal("taken after the session was over")
	case err == nil && isNewest:
		one.spentAt, one.successor, m.last = now, tokens.Refresh, now
		m.chain = append(m.chain, &issued{token: tokens.Refresh})
		m.keep(r, tokens.Authorization)
	case err == nil && !honest:
		r.Fatal("a spent token was taken, though it was no honest retry")
	case err == nil && tokens.Refresh != one.successor:
		r.Fatal("one token has two successors")
	case err == nil:
		m.keep(r, tokens.Authorization)
	case !over && (isNewest || honest):
		r.Fatalf("turned away without a reason: %v", err)
	case !over:
		m.ended = true // reuse
	}
}

// exchange sends one of the authorization tokens ever given out.
func (m *sessionModel) exchange(r *rapid.T) {
	token := rapid.SampledFrom(m.newest).Draw(r, "authorization token")
	now := m.w.clock.now()
	claims, verifyErr := m.w.verify(token, now)
	tokens, err := m.w.Refresh(r.Context(), origin, token)
	over := m.ended || now.Sub(m.begun) >= m.w.config.SessionMax || now.Sub(m.last) >= m.w.config.SessionIdle
	before, wasSpent := m.jwts[token]
	_, successorSpent := m.jwts[before.Authorization]
	honest := wasSpent && !successorSpent && now.Sub(m.spent[token]) <= m.w.config.RefreshGrace &&
		now.Before(claims.expiresAt().Add(m.w.config.RefreshGrace))
	switch {
	case err == nil && over:
		r.Fatal("exchanged after the session was over")
	case err == nil && wasSpent && (!honest || tokens != before):
		r.Fatal("exchanged twice, and not as an honest retry with the same answer")
	case err == nil && !wasSpent:
		if verifyErr != nil || tokens.Refresh != "" {
			r.Fatalf("a dead token was exchanged, or gave a refresh token: %v", verifyErr)
		}
		m.jwts[token], m.spent[token], m.last = tokens, now, now
		m.keep(r, tokens.Authorization)
	case err != nil && !over && (honest || !wasSpent && verifyErr == nil):
		r.Fatalf("turned away without a reason: %v", err)
	}
}

// keep remembers a new authorization token and demands that it works, its whole 15 minutes ahead.
func (m *sessionModel) keep(r *rapid.T, token secret.String) {
	m.newest = append(m.newest, token)
	if _, err := m.w.Authenticate(r.Context(), Presented{Authorization: token}); err != nil {
		r.Fatalf("a fresh token does not work: %v", err)
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

// useAll checks what holds after each step: an ended session's tokens are all refused at once, and in a
// live one all work until their end.
func (m *sessionModel) useAll(r *rapid.T) {
	for _, token := range m.newest[max(0, len(m.newest)-2):] {
		_, expired := m.w.verify(token, m.w.clock.now())
		_, err := m.w.Authenticate(r.Context(), Presented{Authorization: token})
		if (err == nil) != (expired == nil && !m.ended) {
			r.Fatalf("ended %v, expired %v, but using the token gives %v", m.ended, expired, err)
		}
	}
}

func TestSessionsKeepTheirRules(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, func(c *Config) { c.SessionIdle, c.SessionMax = 4*time.Hour, 24*time.Hour })
	histories := 0
	rapid.Check(t, func(r *rapid.T) {
		if histories++; histories > 30 && !*long { // each takes a second of processor time under the race detector
			return
		}
		first, err := w.Login(r.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
		if err != nil {
			r.Fatal(err)
		}
		m := &sessionModel{w: w, chain: []*issued{{token: first.Refresh}}, newest: []secret.String{first.Authorization},
			jwts: map[secret.String]Tokens{}, spent: map[secret.String]time.Time{}, begun: w.clock.now(), last: w.clock.now()}
		r.Repeat(map[string]func(*rapid.T){"present": m.present, "exchange": m.exchange, "wait": m.wait, "logOut": m.logOut, "": m.useAll})
	})
}

func FuzzRefreshToken(f *testing.F) {
	keys := &keySet{mac: make([]byte, macKeyBytes), macs: [][]byte{[]byte("another key of the service, whole")}}
	f.Add(keys.refreshToken([16]byte{1}, 1).Reveal())
	f.Add("rt_" + strings.Repeat("A", 75))
	f.Fuzz(func(t *testing.T, token string) {
		if _, _, genuine := keys.parseRefreshToken(secret.String(token)); genuine {
			t.Errorf("%q is genuine to a service that did not make it", token)
		}
	})
}
