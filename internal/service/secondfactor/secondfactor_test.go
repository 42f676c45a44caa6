package secondfactor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/hashing/hashingtest"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

var server *postgrestest.Server // nil while the tests use SQLite

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Twice{Tests: m, Begin: func(s *postgrestest.Server) { server = s }})
}

const (
	orgName       = "Analytical Engines"
	email         = "ada@example.com"
	password      = secret.String("nine purple ducks on ice")
	otherPassword = secret.String("eight green geese in fog")
)

var (
	start  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	origin = audit.Origin{RequestID: "ref-1", Address: "192.0.2.1"}
	admin  = auth.Operator()
)

const noCode = "00000x" // is the code of no key, for many guesses

// world is a service with one organization and one user, and a clock that stands still until it is moved.
type world struct {
	*Service
	*directory.Directory
	auth *auth.Service
	db   *store.DB
	dir  string
	seen map[string]int64 // repeats of records, by uid
	org  directory.Org
	user auth.Principal

	mu sync.Mutex
	at time.Time
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func mustWorld(t *testing.T) *world {
	t.Helper()
	w := &world{at: start, seen: map[string]int64{}}
	options := store.Options{Timeout: storetest.LongTimeout, DataDir: t.TempDir()}
	w.dir = options.DataDir
	options.DatabaseURL = secret.String(storetest.Create(t, options.DataDir, server))
	var err error
	if w.db, err = store.Open(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	if w.auth, err = auth.New(t.Context(), w.db, auth.Config{Now: w.now, LoginWait: time.Minute, PollTime: time.Minute,
		ComputeHash: hashingtest.Compute}); err != nil {
		t.Fatal(err)
	}
	w.Service, w.Directory = New(w.db, w.auth.Logins, w.now), directory.New(w.db, w.auth.Passwords, w.now)
	if w.org, err = w.CreateOrg(t.Context(), admin, origin, orgName); err != nil {
		t.Fatal(err)
	}
	user, err := w.CreateUser(t.Context(), admin, origin, directory.NewUser{Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	w.user = auth.Principal{UserUID: user.UID, OrgUID: w.org.UID, OrgName: orgName, Email: email, Role: auth.RoleMember,
		Method: audit.MethodToken}
	return w
}

// code returns that of the app at the time of the world, moved by so many time steps.
func (w *world) code(t *testing.T, of Enrollment, steps int) secret.String {
	t.Helper()
	code, err := totp.GenerateCode(of.Secret.Reveal(), w.now().Add(time.Duration(steps)*period*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return secret.String(code)
}

// wrongCode returns six digits that are the code of none of the time steps around now.
func (w *world) wrongCode(t *testing.T, of Enrollment) secret.String {
	t.Helper()
	right := []secret.String{w.code(t, of, -1), w.code(t, of, 0), w.code(t, of, 1)}
	for _, code := range []secret.String{"000000", "000001", "000002"} {
		if !slices.Contains(right, code) {
			return code
		}
	}
	return "000003"
}

// mustEnroll gives the user a second factor, and moves the clock until another code is accepted. The codes of its time steps differ.
func (w *world) mustEnroll(t *testing.T) (Enrollment, []secret.String) {
	t.Helper()
	var e Enrollment
	var err error
	for codes := map[secret.String]bool{}; len(codes) < 8; {
		if e, err = w.Enroll(t.Context(), w.user, origin, password); err != nil {
			t.Fatal(err)
		}
		clear(codes) // in 28 of a million cases two are equal
		for step := range 8 {
			codes[w.code(t, e, step)] = true
		}
	}
	codes, err := w.Confirm(t.Context(), w.user, origin, w.code(t, e, 0))
	if err != nil || len(codes) != recoveryCodes {
		t.Fatalf("%d recovery codes, %v", len(codes), err)
	}
	w.move(2 * period * time.Second)
	return e, codes
}

// begin logs in with a password, and returns the token of the login that waits.
func (w *world) begin(t *testing.T, c auth.Credentials) *auth.CodeRequired {
	t.Helper()
	c.Email, c.Org = email, orgName
	if c.Password == "" {
		c.Password = password
	}
	tokens, err := w.auth.Logins.Login(t.Context(), origin, c)
	pending := auth.AsCodeRequired(err)
	if pending == nil || tokens.Authorization != "" || tokens.Refresh != "" {
		t.Fatalf("a login with a password alone: %v", err)
	}
	return pending
}

func (w *world) complete(t *testing.T, pending *auth.CodeRequired, code secret.String) (Done, error) {
	t.Helper()
	done, err := w.Complete(t.Context(), origin, pending.Token, code)
	if (err == nil) != (done.Tokens.Authorization != "") {
		t.Errorf("%v with a token %t", err, done.Tokens.Authorization != "")
	}
	return done, err
}

func wantCode(t *testing.T, err error, code, reason string) {
	t.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != code || reason != "" && f.Reason != reason {
		t.Errorf("got %v, want %s %s", err, code, reason)
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 1 || f.Fields[0].Field != field {
		t.Errorf("got %v, want a problem of %s", err, field)
	}
}

// newRecords returns the actions, outcomes and reasons of the records since the last call, sorted.
func (w *world) newRecords(t *testing.T) (list []string) {
	t.Helper()
	found, err := store.Read(t.Context(), w.db, func(tx *store.Tx) ([]audit.Record, error) {
		return tx.Audits.List(t.Context(), audits.Filter{}, 1000)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		if n, seen := w.seen[r.UID]; !seen || n != r.Repeats {
			list = append(list, strings.TrimSpace(string(r.Action)+" "+string(r.Outcome)+" "+r.Reason+r.Target))
		}
		w.seen[r.UID] = r.Repeats
	}
	slices.Sort(list)
	return list
}

func (w *world) wantRecords(t *testing.T, want ...string) {
	t.Helper()
	if got := w.newRecords(t); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

// A login needs a code once the factor is confirmed, and only then.
func TestLoginWithCode(t *testing.T) {
	w := mustWorld(t)
	if _, err := w.Enroll(t.Context(), w.user, origin, password); err != nil {
		t.Fatal(err)
	}
	if _, err := w.auth.Logins.Login(t.Context(), origin, auth.Credentials{Email: email, Org: orgName, Password: password}); err != nil {
		t.Errorf("with a factor that is not confirmed: %v", err)
	}
	e, _ := w.mustEnroll(t)
	w.newRecords(t)
	pending := w.begin(t, auth.Credentials{})
	if pending.Add {
		t.Error("the user should add a factor")
	}
	done, err := w.complete(t, pending, w.code(t, e, 0))
	if err != nil || done.Codes != nil {
		t.Fatalf("%d recovery codes, %v", len(done.Codes), err)
	}
	p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: done.Tokens.Authorization})
	if err != nil || p.UserUID != w.user.UserUID {
		t.Errorf("logged in as %s, %v", p.Email, err)
	}
	w.wantRecords(t, "auth.login refused codeRequired", "auth.login succeeded code")
	_, err = w.complete(t, pending, w.code(t, e, 1))
	wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonExpired)
}

// The token of a login that waits is no credential, wherever it is sent.
func TestPendingTokenIsNoCredential(t *testing.T) {
	w := mustWorld(t)
	w.mustEnroll(t)
	token := w.begin(t, auth.Credentials{}).Token
	for name, presented := range map[string]auth.Presented{"token": {Authorization: token}, "bearer": {Authorization: "Bearer " + token},
		"key": {APIKey: token}} {
		_, err := w.auth.Authenticator.Authenticate(t.Context(), presented)
		wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonMalformed)
		if !strings.Contains(err.Error(), "/v1/auth/mfa/verify") {
			t.Errorf("%s: the message does not say what it is for: %v", name, err)
		}
	}
	_, err := w.auth.Authenticator.AuthenticateConsole(t.Context(), token)
	wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonMalformed)
	_, err = w.auth.Sessions.Refresh(t.Context(), origin, token)
	wantCode(t, err, fault.CodeInvalidRefreshToken, auth.ReasonMalformed)
	// And a token of a session completes no login.
	for _, other := range []secret.String{"", "rwp_", "rt_x", token[:len(token)-1], token + "a", "rwk_" + token[4:]} {
		_, err := w.Complete(t.Context(), origin, other, "123456")
		wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonExpired)
		_, err = w.EnrollPending(t.Context(), origin, other)
		wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonExpired)
	}
}

// A code is of use once, and so are earlier ones, for every operation.
func TestCodesAreNotReplayed(t *testing.T) {
	w := mustWorld(t)
	e, _ := w.mustEnroll(t)
	next := w.code(t, e, 1) // accepted early: the clock of the app is ahead
	if _, err := w.complete(t, w.begin(t, auth.Credentials{}), next); err != nil {
		t.Fatal(err)
	}
	pending := w.begin(t, auth.Credentials{})
	for _, code := range []secret.String{next, w.code(t, e, 0), w.code(t, e, -1)} {
		w.newRecords(t)
		_, err := w.complete(t, pending, code)
		wantCode(t, err, fault.CodeAuthenticationFailed, "")
		wantField(t, w.Remove(t.Context(), w.user, origin, password, code), "code")
		w.wantRecords(t, "auth.login refused usedCode", "mfa.remove refused usedCode")
		w.mustForgive(t)
	}
	w.move(period * time.Second)
	if _, err := w.complete(t, pending, w.code(t, e, 1)); err != nil {
		t.Errorf("the next code: %v", err)
	}
}

// mustForgive deletes the failures of the user.
func (w *world) mustForgive(t *testing.T) {
	t.Helper()
	if err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Throttling.ForgiveAccount(t.Context(), []byte(w.user.UserUID))
	}); err != nil {
		t.Fatal(err)
	}
}

// Of several replicas that get the same code at once, one logs in; and one pending login logs in once.
func TestOneOfManyLogsIn(t *testing.T) {
	w := mustWorld(t)
	e, codes := w.mustEnroll(t)
	replica, err := auth.New(t.Context(), w.db, auth.Config{Now: w.now, PollTime: time.Minute, ComputeHash: hashingtest.Compute})
	if err != nil {
		t.Fatal(err)
	}
	replicas := []*Service{w.Service, New(w.db, replica.Logins, w.now)}
	shared := w.begin(t, auth.Credentials{})
	for name, attempt := range map[string]func(i int) (secret.String, secret.String){
		"code":          func(int) (secret.String, secret.String) { return w.begin(t, auth.Credentials{}).Token, w.code(t, e, 0) },
		"recovery code": func(int) (secret.String, secret.String) { return w.begin(t, auth.Credentials{}).Token, codes[0] },
		"login":         func(i int) (secret.String, secret.String) { return shared.Token, codes[i+1] },
	} {
		w.mustForgive(t)
		var done atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			token, code := attempt(i)
			all.Go(func() {
				if _, err := replicas[i%2].Complete(context.WithoutCancel(t.Context()), origin, token, code); err == nil {
					done.Add(1)
				} else if kind := fault.KindOf(err); kind != fault.Unauthenticated && kind != fault.Limited {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		if all.Wait(); done.Load() != 1 {
			t.Errorf("one %s logged in %d times", name, done.Load())
		}
	}
}

// Wrong codes wait like wrong passwords, also if the password is right between them.
func TestWrongCodesAreThrottled(t *testing.T) {
	w := mustWorld(t)
	e, codes := w.mustEnroll(t)
	pending, guesses := w.begin(t, auth.Credentials{}), 0
	for range 20 {
		w.move(2 * time.Second)
		// Nothing that the password allows resets the count.
		if w.auth.Logins.ChangePassword(t.Context(), w.user, origin, password, password+"!") == nil {
			if err := w.auth.Logins.ChangePassword(t.Context(), w.user, origin, password+"!", password); err != nil {
				t.Fatal(err)
			}
			_ = w.auth.Logins.CheckPassword(t.Context(), w.user, origin, audit.FactorRemove, password)
			pending = w.begin(t, auth.Credentials{})
		}
		var err error
		if _, err = w.complete(t, pending, noCode); fault.KindOf(err) != fault.Limited {
			wantCode(t, err, fault.CodeAuthenticationFailed, "")
			guesses++
		}
	}
	if guesses < 5 || guesses > 9 { // five are free; then after 2, 4, 8, 16 seconds
		t.Errorf("%d guesses in a minute", guesses)
	}
	_, err := w.complete(t, pending, w.code(t, e, 0))
	wantCode(t, err, fault.CodeTooManyRequests, "")
	_, err = w.complete(t, pending, codes[0])
	wantCode(t, err, fault.CodeTooManyRequests, "")
	wantCode(t, w.Remove(t.Context(), w.user, origin, password, w.code(t, e, 0)), fault.CodeTooManyRequests, "")
	w.move(2 * time.Minute)
	if _, err := w.complete(t, w.begin(t, auth.Credentials{}), w.code(t, e, 0)); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	if _, err := w.complete(t, w.begin(t, auth.Credentials{}), w.code(t, e, 1)); err != nil {
		t.Errorf("the success did not reset the count: %v", err)
	}
}

// Concurrent guesses are counted one after another: no more are made than are free.
func TestConcurrentGuesses(t *testing.T) {
	w := mustWorld(t)
	w.mustEnroll(t)
	pending := w.begin(t, auth.Credentials{})
	var guesses atomic.Int64
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			_, err := w.Complete(context.WithoutCancel(t.Context()), origin, pending.Token, noCode)
			if fault.KindOf(err) == fault.Unauthenticated {
				guesses.Add(1)
			}
		})
	}
	if all.Wait(); guesses.Load() != 5 {
		t.Errorf("%d guesses were made at once, 5 are free", guesses.Load())
	}
}

// A recovery code replaces a code once, in any spelling. New ones replace all.
func TestRecoveryCodesLogIn(t *testing.T) {
	w := mustWorld(t)
	e, codes := w.mustEnroll(t)
	w.newRecords(t)
	typed := secret.String(" " + strings.ToUpper(strings.ReplaceAll(codes[0].Reveal(), "-", " ")) + "\n")
	if _, err := w.complete(t, w.begin(t, auth.Credentials{}), typed); err != nil {
		t.Fatal(err)
	}
	w.wantRecords(t, "auth.login refused codeRequired", "auth.login succeeded recoveryCode")
	_, err := w.complete(t, w.begin(t, auth.Credentials{}), codes[0])
	wantCode(t, err, fault.CodeAuthenticationFailed, "")
	if s, err := w.Status(t.Context(), w.user); !s.Active || s.Codes != recoveryCodes-1 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	renewed, err := w.RenewCodes(t.Context(), w.user, origin, password, w.code(t, e, 0))
	if err != nil || len(renewed) != recoveryCodes {
		t.Fatal(err)
	}
	_, err = w.complete(t, w.begin(t, auth.Credentials{}), codes[1])
	wantCode(t, err, fault.CodeAuthenticationFailed, "")
	if err := w.Remove(t.Context(), w.user, origin, password, renewed[1]); err != nil {
		t.Errorf("removed by a recovery code: %v", err)
	}
	if _, err := w.auth.Logins.Login(t.Context(), origin, auth.Credentials{Email: email, Org: orgName, Password: password}); err != nil {
		t.Errorf("after the removal: %v", err)
	}
}

// What has changed since the password was right ends a login that waits.
func TestPendingLoginEnds(t *testing.T) {
	for name, end := range map[string]func(*world) error{
		"time":             func(w *world) error { w.move(5 * time.Minute); return nil },
		"another password": func(w *world) error { return w.SetPassword(t.Context(), admin, origin, email, otherPassword) },
		"the own change": func(w *world) error {
			return w.auth.Logins.ChangePassword(t.Context(), w.user, origin, password, otherPassword)
		},
		"disabled": func(w *world) error { return w.DisableUser(t.Context(), admin, origin, email) },
		"deleted":  func(w *world) error { return w.DeleteUser(t.Context(), admin, origin, email) },
		"reset": func(w *world) error {
			return directory.Factors{Directory: w.Directory}.Reset(t.Context(), admin, origin, email)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustWorld(t)
			e, codes := w.mustEnroll(t)
			pending := w.begin(t, auth.Credentials{})
			if err := end(w); err != nil {
				t.Fatal(err)
			}
			for _, code := range []secret.String{w.code(t, e, 0), codes[0]} {
				_, err := w.complete(t, pending, code)
				wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonExpired)
			}
		})
	}
}

// A new password of a login counts only once the code is right: the password alone changes nothing.
func TestNewPasswordNeedsTheCode(t *testing.T) {
	w := mustWorld(t)
	e, _ := w.mustEnroll(t)
	first, err := w.complete(t, w.begin(t, auth.Credentials{}), w.code(t, e, 0))
	if err != nil {
		t.Fatal(err)
	}
	pending := w.begin(t, auth.Credentials{NewPassword: otherPassword})
	w.begin(t, auth.Credentials{}) // still the password
	done, err := w.complete(t, pending, w.code(t, e, 1))
	if err != nil {
		t.Fatal(err)
	}
	w.begin(t, auth.Credentials{Password: otherPassword})
	_, err = w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: first.Tokens.Authorization})
	wantCode(t, err, fault.CodeUnauthorizedAccess, auth.ReasonRevoked)
	if _, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: done.Tokens.Authorization}); err != nil {
		t.Errorf("the session of the login: %v", err)
	}
}

// Where an organization requires a second factor, a user without one adds it before the first session.
func TestRequiredSecondFactor(t *testing.T) {
	w := mustWorld(t)
	owner := w.user
	wantCode(t, w.Require(t.Context(), owner, origin, true), fault.CodeOperationForbidden, "")
	owner.Role = auth.RoleAdmin
	if err := w.Require(t.Context(), owner, origin, true); err != nil {
		t.Fatal(err)
	}
	w.newRecords(t)
	pending := w.begin(t, auth.Credentials{})
	if !pending.Add {
		t.Error("the user should add a factor")
	}
	_, err := w.complete(t, pending, "123456")
	wantCode(t, err, CodeNotActive, "")
	e, err := w.EnrollPending(t.Context(), origin, pending.Token)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.complete(t, pending, w.wrongCode(t, e))
	wantCode(t, err, fault.CodeAuthenticationFailed, "")
	done, err := w.complete(t, pending, w.code(t, e, 0))
	if err != nil || len(done.Codes) != recoveryCodes {
		t.Fatalf("%d recovery codes, %v", len(done.Codes), err)
	}
	w.wantRecords(t, "auth.login refused codeRequired", "auth.login refused wrongCode", "auth.login succeeded codeOfNewFactor",
		"mfa.confirm succeeded", "mfa.enroll succeeded")
	// With the factor, a login cannot replace it.
	_, err = w.EnrollPending(t.Context(), origin, w.begin(t, auth.Credentials{}).Token)
	wantCode(t, err, CodeActive, "")
}

// The browser of a login gets its session from the code, too.
func TestConsoleLogin(t *testing.T) {
	w := mustWorld(t)
	e, _ := w.mustEnroll(t)
	reference, _, err := w.auth.Logins.LoginConsole(t.Context(), origin, auth.Credentials{Email: email, Org: orgName, Password: password})
	pending := auth.AsCodeRequired(err)
	if pending == nil || reference != "" {
		t.Fatalf("with a password alone: %v", err)
	}
	if add, err := w.Waiting(t.Context(), pending.Token); add || err != nil {
		t.Errorf("add %t, %v", add, err)
	}
	done, err := w.CompleteConsole(t.Context(), origin, pending.Token, w.code(t, e, 0))
	if err != nil || done.Ends.Before(start) {
		t.Fatal(err)
	}
	if p, err := w.auth.Authenticator.AuthenticateConsole(t.Context(), done.Reference); err != nil || p.UserUID != w.user.UserUID {
		t.Errorf("logged in as %s, %v", p.Email, err)
	}
}

// Changes need the password, and those of a confirmed factor a code too. Refused ones are recorded.
func TestChangesAreProved(t *testing.T) {
	w := mustWorld(t)
	w.newRecords(t)
	_, err := w.Enroll(t.Context(), w.user, origin, "wrong")
	wantField(t, err, "currentPassword")
	w.wantRecords(t, "mfa.enroll refused wrongPassword")
	_, err = w.Confirm(t.Context(), w.user, origin, "123456")
	wantCode(t, err, CodeNotActive, "")
	e, codes := w.mustEnroll(t)
	_, err = w.Enroll(t.Context(), w.user, origin, password)
	wantCode(t, err, CodeActive, "")
	_, err = w.Confirm(t.Context(), w.user, origin, w.code(t, e, 0))
	wantCode(t, err, CodeActive, "")
	wantField(t, w.Remove(t.Context(), w.user, origin, "wrong", w.code(t, e, 0)), "currentPassword")
	wantField(t, w.Remove(t.Context(), w.user, origin, password, w.wrongCode(t, e)), "code")
	wantField(t, w.Remove(t.Context(), w.user, origin, password, " - "), "code")
	_, err = w.RenewCodes(t.Context(), w.user, origin, password, w.wrongCode(t, e))
	wantField(t, err, "code")
	if err := w.Remove(t.Context(), w.user, origin, password, codes[0]); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.Remove(t.Context(), w.user, origin, password, codes[1]), CodeNotActive, "")
	single, err := w.CreateUser(t.Context(), admin, origin, directory.NewUser{Email: "sso@example.com",
		WithoutPassword: true})
	if err != nil {
		t.Fatal(err)
	}
	p := w.user
	p.UserUID = single.UID
	_, err = w.Enroll(t.Context(), p, origin, password)
	wantCode(t, err, CodeNoLocal, "")
}

// An administrator resets the factor of another user, not the own one.
func TestReset(t *testing.T) {
	w := mustWorld(t)
	wantCode(t, directory.Factors{Directory: w.Directory}.Reset(t.Context(), admin, origin, email), fault.CodeResourceNotFound, "")
	e, _ := w.mustEnroll(t)
	done, err := w.complete(t, w.begin(t, auth.Credentials{}), w.code(t, e, 0))
	if err != nil {
		t.Fatal(err)
	}
	own := w.user
	own.Role = auth.RoleAdmin
	wantCode(t, directory.Factors{Directory: w.Directory}.Reset(t.Context(), own, origin, email), fault.CodeOperationForbidden, "")
	w.newRecords(t)
	if err := (directory.Factors{Directory: w.Directory}).Reset(t.Context(), admin, origin, email); err != nil {
		t.Fatal(err)
	}
	w.wantRecords(t, "mfa.reset succeeded")
	if _, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: done.Tokens.Authorization}); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
	if _, err := w.auth.Logins.Login(t.Context(), origin, auth.Credentials{Email: email, Org: orgName, Password: password}); err != nil {
		t.Errorf("a login after the reset: %v", err)
	}
}

// The store can be read without the secret, the codes and the tokens; a rotation of the master key keeps the factor.
func TestSecretsAreEncryptedAndKeysRotate(t *testing.T) {
	w := mustWorld(t)
	e, codes := w.mustEnroll(t)
	pending := w.begin(t, auth.Credentials{})
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- of this test
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range append(codes, e.Secret, pending.Token) {
			if strings.Contains(string(text), hidden.Reveal()) || strings.Contains(string(text), plain(hidden)) {
				t.Errorf("%s has a secret", file)
			}
		}
	}
	if _, err := w.auth.Keys.RotateMaster(t.Context(), admin, origin, seal.MasterKey{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(t, pending, w.code(t, e, 0)); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	found, err := store.Read(t.Context(), w.db, func(tx *store.Tx) ([]audit.Record, error) {
		return tx.Audits.List(t.Context(), audits.Filter{}, 100)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		for _, hidden := range append(codes, e.Secret, pending.Token) {
			if text := r.Object + r.Target + r.Reason + string(r.Report); strings.Contains(text, hidden.Reveal()) {
				t.Errorf("a record of %s has a secret", r.Action)
			}
		}
	}
}
