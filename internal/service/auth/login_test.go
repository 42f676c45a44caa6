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
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func TestLogin(t *testing.T) {
	w := mustWorld(t, nil)
	tokens, err := w.Login(t.Context(), origin, Credentials{Email: " ada@EXAMPLE.com ", Org: "analytical  engines", Password: goodPassword})
	wantFault(t, err, fault.CodeAuthenticationFailed, "") // two spaces differ from one
	tokens, err = w.Login(t.Context(), origin, Credentials{Email: " ada@EXAMPLE.com ", Org: "ANALYTICAL ENGINES", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	if !tokens.ExpiresAt.Equal(start.Add(15*time.Minute)) || tokens.Refresh == "" {
		t.Errorf("got %+v", tokens)
	}
	principal, err := w.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
	want := Principal{UserUID: w.user.UID, OrgUID: w.org.UID, OrgName: goodOrg, Email: goodEmail, Role: RoleMember,
		SessionUID: w.sessionOf(t, tokens).UID, Method: audit.MethodToken}
	if principal != want || err != nil {
		t.Errorf("got %+v, %v", principal, err)
	}
	record := w.audits(t, 1)[0]
	if record.Action != audit.Login || record.Outcome != audit.Succeeded || record.OrgUID != w.org.UID || record.ActorUID != w.user.UID ||
		record.Origin != origin || record.Method != audit.MethodPassword || record.Object != want.SessionUID {
		t.Errorf("audit record: %+v", record)
	}
}

func TestRefusedLoginsLookAlikeExceptInTheRecord(t *testing.T) {
	w := mustWorld(t, nil)
	disabled := w.mustUser(t, w.org, "disabled@example.com", RoleMember)
	mustDisable(t, w, disabled)
	w.mustUserWithoutPassword(t, "new@example.com")
	var responses []string
	for _, row := range []struct{ email, org, password, reason string }{
		{goodEmail, "unknown", goodPassword, refusedUnknownOrg},
		{"unknown@example.com", goodOrg, goodPassword, refusedUnknownUser},
		{goodEmail, goodOrg, goodPassword + "!", refusedPassword},
		{"disabled@example.com", goodOrg, goodPassword, refusedDisabled},
		{"disabled@example.com", goodOrg, "wrong", refusedPassword},
		{"new@example.com", goodOrg, goodPassword, refusedPassword},
		{"new@example.com", goodOrg, "-", refusedPassword},
	} {
		w.newAudits(t)
		_, err := w.Login(t.Context(), origin, Credentials{Email: row.email, Org: row.org, Password: secret.String(row.password)})
		wantFault(t, err, fault.CodeAuthenticationFailed, "")
		responses = append(responses, err.Error())
		record := w.newAudits(t)[0]
		known := row.reason == refusedPassword || row.reason == refusedDisabled // else it may be a password in the wrong field
		if record.Outcome != audit.Refused || record.Reason != row.reason || (record.ActorName == row.email) != known ||
			!known && record.ActorName != "" ||
			(record.OrgUID == "") != (row.org != goodOrg) {
			t.Errorf("%+v: audit record %+v", row, record)
		}
	}
	if slices.Sort(responses); responses[0] != responses[len(responses)-1] {
		t.Errorf("responses differ: %v", responses)
	}
}

func mustDisable(t *testing.T, w *world, user store.User) {
	t.Helper()
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Disable(t.Context(), user.OrgUID, user.UID, start) })
}

func TestLoginReportsAllProblemsForAnyAccount(t *testing.T) {
	w := mustWorld(t, nil)
	for _, row := range []struct {
		credentials Credentials
		fields      []string
	}{
		{Credentials{}, []string{"emailId", "org", "password"}},
		{Credentials{Email: " ", Org: goodOrg, Password: "x"}, []string{"emailId"}},
		{Credentials{Email: goodEmail, Org: goodOrg, Password: "x\n"}, []string{"password"}},
		{Credentials{Email: "unknown", Org: goodOrg, Password: "x\x00"}, []string{"password"}},
		{Credentials{Email: goodEmail, Org: strings.Repeat("x", 5000), Password: secret.String(strings.Repeat("x", 1025))},
			[]string{"org", "password"}},
		{Credentials{Email: "unknown", Org: "unknown", Password: "\xff"}, []string{"password"}},
	} {
		_, err := w.Login(t.Context(), origin, row.credentials)
		wantFault(t, err, fault.CodeInvalidRequest, "")
		f, _ := errors.AsType[*fault.Error](err)
		var fields []string
		for _, field := range f.Fields {
			fields = append(fields, field.Field)
		}
		if !slices.Equal(fields, row.fields) {
			t.Errorf("%+v: %v", row.credentials, f.Fields)
		}
	}
}

// TestLoginReturnsProblemsOfDecodingWithItsOwn: a field that could not be decoded is not also reported as missing.
func TestLoginReturnsProblemsOfDecodingWithItsOwn(t *testing.T) {
	w := mustWorld(t, nil)
	undecoded := fault.Field{Field: "org", Problem: "must be a string"}
	_, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Undecoded: []fault.Field{undecoded}})
	f, _ := errors.AsType[*fault.Error](err)
	if want := []fault.Field{undecoded, {Field: "password", Problem: "is required"}}; f == nil || !slices.Equal(f.Fields, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestLoginReadsTheThrottleOnce: the throttle state read with the account decides, unless the attempt waited in the
// queue for hashing.
func TestLoginReadsTheThrottleOnce(t *testing.T) {
	w := mustWorld(t, nil)
	a := w.newAttempt(origin, nil)
	if err := a.lookUp(t.Context(), Credentials{Email: goodEmail, Org: goodOrg}); err != nil {
		t.Fatal(err)
	}
	for range defaultFreeFailures {
		wantWrong(t, w.tryFrom(t, origin.Address, goodEmail, "wrong"))
	}
	if err := a.reserve(t.Context()); err != nil {
		t.Errorf("without waiting: %v", err)
	}
	a.reserved = false
	free := mustOccupy(t, w.passwords.bulk)
	waiting := make(chan error)
	go func() { _, _, err := a.verify(t.Context(), goodPassword); waiting <- err }()
	for _, n := w.passwords.bulk.Load(); n == 0; _, n = w.passwords.bulk.Load() {
		time.Sleep(time.Millisecond)
	}
	free()
	wantWait(t, <-waiting)
}

func TestLoginWithoutOrganization(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.DefaultOrg = goodOrg })
	if _, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Password: goodPassword}); err != nil {
		t.Error(err)
	}
}

func TestLoginUpgradesTheHash(t *testing.T) {
	w := mustWorld(t, nil)
	stronger := passwordhash.Cost{MemoryKiB: 128, Time: 2, Parallelism: 1}
	w.passwords.hasher.Cost = stronger
	for range 2 {
		w.mustLogin(t)
	}
	var user store.User
	_ = w.db.View(t.Context(), func(tx *store.Tx) (err error) {
		user, err = tx.Users.Get(t.Context(), w.org.UID, w.user.UID)
		return err
	})
	if !strings.Contains(user.PasswordHash, stronger.String()) || !user.LastLoginAt.Equal(start) {
		t.Errorf("got %+v", user)
	}
}

// TestEveryRefusalCostsOneHash counts the work that determines the response time: each kind of refusal passes the
// bulkhead once, and a full bulkhead refuses before anything is hashed or recorded.
func TestEveryRefusalCostsOneHash(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.LoginWorkers, c.LoginQueue, c.LoginWait = 1, 1, time.Millisecond })
	w.mustUserWithoutPassword(t, "new@example.com")
	mustOccupy(t, w.passwords.bulk)
	before := len(w.audits(t, 100))
	for _, c := range []Credentials{
		{Email: "new@example.com", Org: goodOrg, Password: "x"},
		{Email: goodEmail, Org: "unknown", Password: "x"}, {Email: "unknown", Org: goodOrg, Password: "x"},
		{Email: goodEmail, Org: goodOrg, Password: "x"}, {Email: goodEmail, Org: goodOrg, Password: goodPassword},
	} {
		_, err := w.Login(t.Context(), origin, c)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
			t.Errorf("%s at %s did not need a slot: %v", c.Email, c.Org, err)
		}
	}
	if after := len(w.audits(t, 100)); after != before {
		t.Errorf("%d records of logins that were not attempted", after-before)
	}
	if w.passwords.hasher.Dummy.Cost != w.passwords.hasher.Cost {
		t.Error("an unknown user has another hash cost than a known one")
	}
}

func TestNoTokenWithoutItsRecord(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Login(t.Context(), origin,
		Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword}); fault.KindOf(err) != fault.Unavailable || got != (Tokens{}) {
		t.Errorf("login: %v", err)
	}
	for _, token := range []secret.String{tokens.Refresh, tokens.Authorization} {
		if got, err := w.Refresh(t.Context(), origin, token); fault.KindOf(err) != fault.Unavailable || got != (Tokens{}) {
			t.Errorf("refresh: %v", err)
		}
	}
	w.setLastPoll(2 * staleAfter) // the cache is valid for a second
	if err := w.authenticate(t, tokens.Authorization); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("authenticate: %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, config := range []Config{
		{TokenLifetime: 16 * time.Minute}, {TokenLifetime: time.Millisecond}, {RefreshGrace: -1}, {SessionIdle: time.Second},
		{SessionMax: time.Hour}, {LoginWorkers: -1}, {LoginQueue: -1}, {LoginWait: -1}, {RefreshGrace: 15*time.Minute + 1},
		{LoginFreeFailures: -1}, {LoginFreeFailures: 101}, {LoginMaxWait: time.Millisecond}, {LoginMaxWait: 25 * time.Hour},
	} {
		if config.withDefaults().validate() == nil {
			t.Errorf("%+v is taken", config)
		}
	}
	for _, config := range []Config{
		{TokenLifetime: 15 * time.Minute}, {TokenLifetime: time.Second}, {RefreshGrace: 15 * time.Minute},
		{SessionIdle: time.Minute, SessionMax: time.Minute}, {LoginWorkers: 1, LoginQueue: 1, LoginWait: 1},
		{LoginFreeFailures: 1}, {LoginFreeFailures: 100}, {LoginMaxWait: time.Second}, {LoginMaxWait: 24 * time.Hour},
	} {
		if err := config.withDefaults().validate(); err != nil {
			t.Errorf("%+v: %v", config, err)
		}
	}
	config := Config{}.withDefaults()
	err := config.validate()
	if err != nil || config.TokenLifetime != 15*time.Minute || config.RefreshGrace != 30*time.Second || config.LoginQueue != 64 {
		t.Errorf("%+v, %v", config, err)
	}
}

// TestExpiredPasswords: an expired password logs in only to be replaced, which ends other sessions.
func TestExpiredPasswords(t *testing.T) {
	w := mustWorld(t, nil)
	w.mustWrite(t, func(tx *store.Tx) error {
		return tx.Orgs.SetPasswordPolicy(t.Context(), w.org.UID, `{"expiryDays": 1}`)
	})
	right := Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword}
	before := w.mustLogin(t)
	w.clock.move(23 * time.Hour)
	w.mustLogin(t)
	w.clock.move(time.Hour)
	_, err := w.Login(t.Context(), origin, right)
	wantFault(t, err, fault.CodeAuthenticationFailed, ReasonPasswordExpired)
	right.NewPassword = goodPassword
	_, err = w.Login(t.Context(), origin, right)
	wantFields(t, err, "newPassword")
	right.NewPassword = "eleven purple ducks on ice"
	if _, err = w.Login(t.Context(), origin, right); err != nil {
		t.Fatal(err)
	}
	if ended := w.sessionOf(t, before); ended.EndedAt.IsZero() {
		t.Error("a session from before goes on")
	}
	w.wantAudit(t, audit.PasswordChange, audit.Succeeded, w.user.UID, w.org.UID)
	_, err = w.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	wantWrong(t, err)
	right.Password, right.NewPassword = right.NewPassword, ""
	if _, err = w.Login(t.Context(), origin, right); err != nil {
		t.Errorf("with the new password: %v", err)
	}
}

// A right password with a new one against the policy is recorded and counts as right. A disabled user gets no other response for it.
func TestRefusedNewPasswordIsRecorded(t *testing.T) {
	w := mustWorld(t, nil)
	w.mustWrite(t, func(tx *store.Tx) error {
		return tx.Orgs.SetPasswordPolicy(t.Context(), w.org.UID, `{"digits": 3}`)
	})
	for range 5 {
		wantWrong(t, w.tryFrom(t, origin.Address, goodEmail, "wrong"))
	}
	w.clock.move(2 * time.Second)
	right := Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword, NewPassword: "eleven purple ducks on ice"}
	_, err := w.Login(t.Context(), origin, right)
	wantFields(t, err, "newPassword")
	refused := func(reason string) {
		t.Helper()
		if list := w.newAudits(t); !slices.ContainsFunc(list, func(e audit.Record) bool {
			return e.Action == audit.Login && e.Outcome == audit.Refused && e.Reason == reason && e.ActorUID == w.user.UID && e.Object == ""
		}) {
			t.Errorf("recorded: %+v, want %s", list, reason)
		}
	}
	refused("newPassword")
	w.mustLogin(t) // without a wait
	mustDisable(t, w, w.user)
	_, err = w.Login(t.Context(), origin, right)
	wantWrong(t, err)
	refused("disabled")
}

func TestKeysAreGeneratedOnceAndStored(t *testing.T) {
	dir := t.TempDir()
	mustCreateStore(t, dir)
	db, err := store.Open(t.Context(), storeIn(dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	services := make([]*service, 6)
	var wait sync.WaitGroup
	for i := range services {
		wait.Go(func() {
			service, err := newService(t.Context(), db, Config{hashCost: cheap})
			if err != nil {
				t.Error(err)
			}
			services[i] = service
		})
	}
	wait.Wait()
	session := store.Session{UID: uuid.NewString(), UserUID: "user", OrgUID: "org", Generation: 1}
	first, err := services[0].issue(session, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range services {
		_, tokenErr := other.verify(first.Authorization, time.Now())
		_, _, genuine := other.keySet().parseRefreshToken(first.Refresh)
		if string(other.Keys.JWKS()) != string(services[0].Keys.JWKS()) || tokenErr != nil || !genuine {
			t.Errorf("another process has other keys: %v, genuine %v", tokenErr, genuine)
		}
	}
	if jwks := string(services[0].Keys.JWKS()); !strings.Contains(jwks, `"kty":"OKP"`) || strings.Contains(jwks, `"d":`) ||
		!strings.Contains(jwks, services[0].keySet().signing.kid) {
		t.Errorf("published: %s", jwks)
	}
}

// TestOvertakenAfterAWait has another login replace the hash while the owner's login is verified. The owner's attempt
// is the one allowed after a wait, and is not refused because it was already counted.
func TestOvertakenAfterAWait(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.LoginWorkers = 4 })
	for range defaultFreeFailures {
		_ = w.tryFrom(t, "192.0.2.1", goodEmail, "a wrong password here")
	}
	w.clock.move(time.Minute)
	w.passwords.hasher.Cost = passwordhash.Cost{MemoryKiB: 128, Time: 2, Parallelism: 1}
	nested := false
	w.passwords.hasher.Compute = func(in hashing.Input) ([]byte, error) {
		if !nested {
			nested = true
			if err := w.tryFrom(t, "198.51.100.7", goodEmail, goodPassword); err != nil {
				t.Errorf("the other login: %v", err)
			}
		}
		return hashing.Compute(in)
	}
	if err := w.tryFrom(t, "192.0.2.1", goodEmail, goodPassword); err != nil {
		t.Errorf("the right password after the wait: %v", err)
	}
	if !nested {
		t.Error("no other login overtook it")
	}
}

// TestRefreshesDoNotFillTheCache refreshes a session whose tokens are not used.
func TestRefreshesDoNotFillTheCache(t *testing.T) {
	w := mustWorld(t, nil)
	tokens, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: goodPassword})
	for range 20 {
		if err != nil {
			t.Fatal(err)
		}
		tokens, err = w.Refresh(t.Context(), origin, tokens.Refresh)
	}
	if n := len(w.cache.entries); n != 0 {
		t.Errorf("%d unused tokens are cached", n)
	}
}

// TestFailedHashing makes hashing fail. No login is accepted, refused or recorded, and the next one succeeds.
func TestFailedHashing(t *testing.T) {
	w := mustWorld(t, nil)
	before := len(w.audits(t, 100))
	for name, password := range map[string]secret.String{"right": goodPassword, "wrong": "x"} {
		w.passwords.hasher.Compute = func(hashing.Input) ([]byte, error) { return nil, errors.New("the process was killed") }
		tokens, err := w.Login(t.Context(), origin, Credentials{Email: goodEmail, Org: goodOrg, Password: password})
		if !isBusy(err) || tokens != (Tokens{}) {
			t.Errorf("%s password: %v", name, err)
		}
	}
	if hash, err := w.passwords.Hash(t.Context(), w.org.UID, goodPassword); !isBusy(err) || hash != "" {
		t.Errorf("hash: %q, %v", hash, err)
	}
	if after := len(w.audits(t, 100)); after != before {
		t.Errorf("%d records of logins whose password was not hashed", after-before)
	}
	w.passwords.hasher.Compute = hashing.Compute
	w.mustLogin(t)
}
