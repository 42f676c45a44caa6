package auth

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// TestConcurrentKeyChangeAndRevocation renames and extends a key while it is revoked: both changes are stored.
func TestConcurrentKeyChangeAndRevocation(t *testing.T) {
	w := mustWorld(t, nil)
	me := asPrincipal(w.org, w.user)
	created, key, err := w.APIKeys.Create(t.Context(), me, origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	name, later := "renamed", start.Add(48*time.Hour)
	change := func(c APIKeyChange) func() error {
		return func() error { _, err := w.APIKeys.Update(t.Context(), me, origin, created.UID, c); return err }
	}
	postgrestest.Concurrently(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM api_keys FOR UPDATE",
		func() error { return w.deactivateKey(t, me, created.UID) },
		change(APIKeyChange{Name: &name}), change(APIKeyChange{ExpiresAt: &later}))
	got, err := w.APIKeys.Get(t.Context(), me, created.UID)
	if err != nil || got.Active || got.Name != name || !got.ExpiresAt.Equal(later) {
		t.Errorf("a change is lost: %+v, %v", got, err)
	}
	if _, err := w.Authenticate(t.Context(), Presented{APIKey: key}); err == nil {
		t.Error("a revoked key is accepted")
	}
}

// TestConcurrentCreationOfTheLastAPIKey creates the last allowed key twice at once: one call succeeds.
func TestConcurrentCreationOfTheLastAPIKey(t *testing.T) {
	w := mustWorld(t, nil)
	me := asPrincipal(w.org, w.user)
	add := func(name string) error {
		_, _, err := w.APIKeys.Create(t.Context(), me, origin, NewAPIKey{Name: name, ExpiresAt: start.Add(time.Hour)})
		return err
	}
	for i := range maxAPIKeys - 1 {
		if err := add(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	var created atomic.Int64
	attempt := func(name string) func() error {
		return func() error {
			err := add(name)
			if err == nil {
				created.Add(1)
				return nil
			}
			wantFields(t, err, "name")
			return nil
		}
	}
	postgrestest.Concurrently(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM users FOR UPDATE", attempt("one"), attempt("other"))
	if created.Load() != 1 {
		t.Errorf("%d of two were created", created.Load())
	}
}

// TestAPasswordIsSetWhileOthersGuess: setting a password and counting a guess lock the counts of the account in the same order.
func TestAPasswordIsSetWhileOthersGuess(t *testing.T) {
	dir := t.TempDir()
	mustCreateStore(t, dir)
	if url := postgrestest.ReadURL(dir); url != "" { // by its index, as a large table is read
		if err := postgrestest.WriteURL(dir, url+"&enable_seqscan=off&enable_bitmapscan=off"); err != nil {
			t.Fatal(err)
		}
	}
	w := mustWorldIn(t, dir, nil)
	guess := func() error {
		if err := w.tryFrom(t, "192.0.2.1", goodEmail, "wrong"); fault.KindOf(err) != fault.Unauthenticated {
			return fmt.Errorf("a guess: %w", err)
		}
		return nil
	}
	set := func() error { w.mustSetPassword(t, w.user, otherPassword); return nil }
	if err := guess(); err != nil { // so that there are rows to lock
		t.Fatal(err)
	}
	postgrestest.Concurrently(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM login_throttles WHERE source = '*' FOR UPDATE", set, guess)
	if err := w.tryFrom(t, "192.0.2.1", goodEmail, otherPassword); err != nil {
		t.Error(err)
	}
}

// TestAPasswordChangeIsRepeated repeats a change whose response was lost: it succeeds and is not counted as a failure.
// Later, or with another new password, each password counts as one failed attempt, like a login.
func TestAPasswordChangeIsRepeated(t *testing.T) {
	w := mustWorld(t, nil)
	w.clock.move(time.Hour)
	p := w.mustPrincipal(t, w.mustLogin(t))
	change := func(current, next secret.String) error {
		return w.ChangePassword(t.Context(), p, origin, current, next)
	}
	for range 8 { // more than the free failures
		if err := change(goodPassword, otherPassword); err != nil {
			t.Fatal(err)
		}
	}
	if e := w.audits(t, 1)[0]; e.Outcome != audit.Succeeded || e.Reason != acceptedRepeat {
		t.Errorf("audit record: %+v", e)
	}
	if n := w.failures(t); n != 0 {
		t.Errorf("%d failures are counted", n)
	}
	wantFields(t, change(goodPassword, "a third one, just as long"), "currentPassword")
	if n := w.failures(t); n != 2 {
		t.Errorf("%d failures for two guesses", n)
	}
	w.clock.move(repeatedWithin)
	wantFields(t, change(goodPassword, otherPassword), "currentPassword")
	if n := w.failures(t); n != 3 {
		t.Errorf("%d failures after a late retry", n)
	}
}

// TestGuessesByPasswordChangesWait uses up the free failures by password changes, each of which tries two passwords.
func TestGuessesByPasswordChangesWait(t *testing.T) {
	w := mustWorld(t, nil) // the user was created now, so its password is new
	p := w.mustPrincipal(t, w.mustLogin(t))
	guesses := int64(0)
	for range 100 {
		err := w.ChangePassword(t.Context(), p, origin, "a wrong one", "a third one, just as long")
		if fault.KindOf(err) == fault.Limited {
			break
		}
		wantFields(t, err, "currentPassword")
		guesses += 2
	}
	if free := w.throttle.Free; guesses < free || guesses > free+1 || w.failures(t) != guesses {
		t.Errorf("%d guesses, %d counted, %d are free", guesses, w.failures(t), free)
	}
	// After the wait one attempt is allowed, as for a login, and not one for each password.
	w.clock.move(20 * time.Second)
	wantFields(t, w.ChangePassword(t.Context(), p, origin, "a wrong one", otherPassword), "currentPassword")
	if n := w.failures(t); n != guesses+1 {
		t.Errorf("%d failures after %d and one", n, guesses)
	}
}

// TestAPasswordChangeSentTwiceAtOnce sends the same change twice concurrently: both succeed.
func TestAPasswordChangeSentTwiceAtOnce(t *testing.T) {
	w := mustWorld(t, nil)
	p := w.mustPrincipal(t, w.mustLogin(t))
	change := func() error { return w.ChangePassword(t.Context(), p, origin, goodPassword, otherPassword) }
	postgrestest.Concurrently(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM users FOR UPDATE", change, change)
	if n := w.failures(t); n != 0 {
		t.Errorf("%d failures are counted", n)
	}
}

// failures returns the counted failures of the user from the origin of the tests.
func (w *world) failures(t *testing.T) int64 {
	t.Helper()
	a := w.newAttempt(origin, nil).counts
	a.Account = []byte(w.user.UID)
	if err := w.db.View(t.Context(), func(tx *store.Tx) error { return a.Read(t.Context(), tx, w.waitNow()) }); err != nil {
		t.Fatal(err)
	}
	return a.State.Pair.Failures
}

// TestConcurrentLoginsThatUpgradeTheHash both succeed: the second one finds the hash stored by the first one.
func TestConcurrentLoginsThatUpgradeTheHash(t *testing.T) {
	w := mustWorld(t, nil)
	w.passwords.hasher.Cost = passwordhash.Cost{MemoryKiB: 128, Time: 2, Parallelism: 1}
	login := func() error { return w.tryFrom(t, origin.Address, goodEmail, goodPassword) }
	postgrestest.Concurrently(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM users FOR UPDATE", login, login)
	if n := w.failures(t); n != 0 {
		t.Errorf("%d failures are counted", n)
	}
}

// TestALogoutDuringAnExchange commits the end of a session after the exchange has read it: nothing is issued.
func TestALogoutDuringAnExchange(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	p, exchange := w.mustPrincipal(t, tokens), make(chan error, 1)
	w.mustWrite(t, func(tx *store.Tx) error {
		_, err := tx.Sessions.End(t.Context(), p.SessionUID, endedByLogout, start)
		go func() { exchange <- errorOf(w.Refresh(t.Context(), origin, tokens.Authorization)) }()
		time.Sleep(200 * time.Millisecond) // it waits for this transaction; a later one finds the session ended
		return err
	})
	wantFault(t, <-exchange, fault.CodeInvalidRefreshToken, ReasonRevoked)
}
