package auth

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// setLastPoll sets the age of the last successful poll.
func (s *service) setLastPoll(ago time.Duration) {
	s.Service.changes.lastPoll.Store(int64(s.Service.changes.elapsed() - ago))
}

// TestRecognize makes the store unavailable: credentials verified before are accepted for a while, by Recognize only.
func TestRecognize(t *testing.T) {
	w := mustWorld(t, nil)
	tokens, ended := w.mustLogin(t), w.mustLogin(t)
	unused, err := w.mustSecond(t).Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := w.APIKeys.Create(t.Context(), w.mustPrincipal(t, tokens), origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	good := []Presented{{Authorization: tokens.Authorization}, {Authorization: "Bearer " + tokens.Authorization}, {APIKey: key}}
	for _, presented := range append(good, Presented{Authorization: ended.Authorization}) {
		if _, err := w.Recognize(t.Context(), presented); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Logout(t.Context(), w.mustPrincipal(t, ended), origin); err != nil {
		t.Fatal(err)
	}
	_ = w.db.Close()
	w.setLastPoll(2 * staleAfter)
	for _, presented := range good {
		if _, err := w.Authenticate(t.Context(), presented); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("without a store: %v", err)
		}
		if p, err := w.Recognize(t.Context(), presented); err != nil || p.UserUID != w.user.UID {
			t.Errorf("recognized: %v, %v", p, err)
		}
	}
	for what, presented := range map[string]Presented{
		"never used here":         {Authorization: unused.Authorization},
		"ended here":              {Authorization: ended.Authorization},
		"two at once":             {Authorization: tokens.Authorization, APIKey: key},
		"a token as an API key":   {APIKey: tokens.Authorization},
		"an API key as the token": {Authorization: key},
	} {
		if _, err := w.Recognize(t.Context(), presented); err == nil {
			t.Errorf("%s: recognized", what)
		}
	}
	w.setLastPoll(recognizeFor + time.Second)
	if _, err := w.Recognize(t.Context(), good[0]); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("long after the last poll: %v", err)
	}
	w.setLastPoll(2 * staleAfter)
	w.clock.move(16 * time.Minute)
	if _, err := w.Recognize(t.Context(), good[0]); err == nil {
		t.Error("an expired token is recognized")
	}
}

// TestCredentialKindsAreNotInterchangeable presents a valid API key, used before, in place of a token, and vice versa.
func TestCredentialKindsAreNotInterchangeable(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	_, key, err := w.APIKeys.Create(t.Context(), w.mustPrincipal(t, tokens), origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(t.Context(), Presented{APIKey: key}); err != nil {
		t.Fatal(err)
	}
	for presented, message := range map[Presented]string{
		{Authorization: key}:                       messageSendAsAPIKey,
		{Authorization: "Bearer " + key}:           messageSendAsAPIKey,
		{Authorization: key, APIKey: key}:          messageSendAsAPIKey,
		{APIKey: tokens.Authorization}:             messageSendAsToken,
		{APIKey: "Bearer " + tokens.Authorization}: messageSendAsToken,
		{APIKey: "eyes"}:                           unauthorizedMessages[ReasonMalformed],
		{Authorization: "Bearer x"}:                unauthorizedMessages[ReasonMalformed],
	} {
		_, err := w.Authenticate(t.Context(), presented)
		wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonMalformed)
		if f, _ := errors.AsType[*fault.Error](err); f.Message != message {
			t.Errorf("got %q, want %q", f.Message, message)
		}
	}
}

// TestConcurrentCallersShareAPoll has many callers wait for a poll that fails: all of them get its error.
func TestConcurrentCallersShareAPoll(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	w.mustPrincipal(t, tokens)
	w.setLastPoll(2 * staleAfter)
	hanging, mine := w.Service.changes.join()
	if !mine {
		t.Fatal("a poll is already in flight")
	}
	const callers = 50
	var waiting sync.WaitGroup
	for range callers {
		waiting.Go(func() {
			if err := w.authenticate(t, tokens.Authorization); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("got %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // all of them wait now; a later one starts another poll, which fails too
	_ = w.db.Close()
	hanging.err = fault.Busy("The store does not respond.", time.Second)
	w.Service.changes.mu.Lock()
	w.Service.changes.inFlight = nil
	w.Service.changes.mu.Unlock()
	close(hanging.done)
	waiting.Wait()
}

// TestUnknownKeysWithoutAStore rotates the keys in another process, and makes the store unavailable before the next
// poll: a server that does not know the new keys does not refuse their tokens.
func TestUnknownKeysWithoutAStore(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	if err := second.Keys.Rotate(t.Context(), Operator(), origin); err != nil {
		t.Fatal(err)
	}
	tokens, err := second.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	p := Principal{OrgUID: w.org.UID, UserUID: w.user.UID, Role: RoleAdmin}
	_ = w.db.Close()
	w.setLastPoll(0)
	for what, err := range map[string]error{
		"a token":                       w.authenticate(t, tokens.Authorization),
		"a refresh token":               errorOf(w.Refresh(t.Context(), origin, tokens.Refresh)),
		"a token at the refresh path":   errorOf(w.Refresh(t.Context(), origin, tokens.Authorization)),
		"a token to be revoked":         w.RevokeTokens(t.Context(), p, origin, []secret.String{tokens.Authorization}),
		"a refresh token to be revoked": w.RevokeTokens(t.Context(), p, origin, []secret.String{tokens.Refresh}),
	} {
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }
