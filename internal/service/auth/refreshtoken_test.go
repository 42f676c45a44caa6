package auth

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// TestSpellingsOfARefreshToken: one text is the token, and no session has a generation below 1.
func TestSpellingsOfARefreshToken(t *testing.T) {
	keys := &keySet{mac: []byte("key"), macs: [][]byte{[]byte("other"), []byte("key")}}
	session := uuid.New()
	token := keys.refreshToken(session, 1)
	if uid, generation, genuine := keys.parseRefreshToken(token); uid != session || generation != 1 || !genuine {
		t.Errorf("%s, %d, %t", uid, generation, genuine)
	}
	last := len(token) - 1
	for _, other := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		changed := token[:last] + secret.String(other)
		if _, _, genuine := keys.parseRefreshToken(changed); genuine != (changed == token) {
			t.Errorf("with the last character %c: %t", other, genuine)
		}
	}
	for _, changed := range []secret.String{"", "rt_", token[3:], "rt" + token[2:] + "A", token[:last], "xx_" + token[3:], token + "\n",
		keys.refreshToken(session, 0), keys.refreshToken(session, -1)} {
		if _, _, genuine := keys.parseRefreshToken(changed); genuine {
			t.Errorf("%q is genuine", changed.Reveal())
		}
	}
	for changed, want := range map[secret.String]bool{token: true, token[3:]: false, "xxx" + token[3:]: false, "rt_": false,
		token + "A": false} {
		if got := wellFormed(changed); got != want {
			t.Errorf("%q: well formed %t", changed.Reveal(), got)
		}
	}
}

// TestRefreshTokensThatNeedNoQuery: the store is not asked for keys about a token that is genuine, or cannot be one.
func TestRefreshTokensThatNeedNoQuery(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Refresh
	_ = w.db.Close()
	for presented, want := range map[secret.String]bool{token: true, "rt_": false, token + "A": false} {
		if _, _, genuine, err := w.parseRefresh(t.Context(), presented); genuine != want || err != nil {
			t.Errorf("%q: %t, %v", presented.Reveal(), genuine, err)
		}
	}
	unknown := "rt_A" + token[4:]
	if unknown == token {
		unknown = "rt_B" + token[4:]
	}
	if _, _, _, err := w.parseRefresh(t.Context(), unknown); err == nil {
		t.Error("an unknown key is refused without reading the keys")
	}
}

// TestRefreshAsksTheProvider asks it once when it is due, and refuses while it has not moved the time.
func TestRefreshAsksTheProvider(t *testing.T) {
	w := mustWorld(t, nil)
	tokens, err := w.LoginVouched(t.Context(), origin, Vouched{OrgUID: w.org.UID, Method: audit.MethodOIDC,
		RecheckAt: start.Add(time.Minute),
		User:      func(*store.Tx) (store.User, error) { return w.user, nil }})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	w.AskProvider(func(context.Context, string) error { asked++; return nil })
	if tokens, err = w.Refresh(t.Context(), origin, tokens.Refresh); err != nil || asked != 0 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	w.clock.move(time.Minute)
	for _, presented := range []secret.String{tokens.Refresh, tokens.Authorization} {
		asked = 0
		if _, err := w.Refresh(t.Context(), origin, presented); err == nil || fault.KindOf(err) == fault.Unauthenticated || asked != 1 {
			t.Errorf("the provider has not moved the time, asked %d times: %v", asked, err)
		}
	}
}
