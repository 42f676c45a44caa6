package secondfactor

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Why a code is refused. Only the audit record has it.
const (
	refusedWrong = "wrongCode"
	refusedUsed  = "usedCode"
)

// Targets of the record of a login: by what it was completed.
const (
	byApp      = "code"
	byRecovery = "recoveryCode"
	byAdding   = "codeOfNewFactor"
)

// proof is a code that was right, and is not used yet.
type proof struct {
	step     int64  // of a code of the app
	recovery []byte // hash of a recovery code
}

var errUsed = errors.New("the code was used by another request")

// use uses the code up. It returns errUsed if another request did.
func (p proof) use(ctx context.Context, tx *store.Tx, userUID string) (err error) {
	used := false
	if p.recovery != nil {
		used, err = tx.Factors.UseCode(ctx, userUID, p.recovery)
	} else {
		used, err = tx.Factors.Accept(ctx, userUID, p.step)
	}
	if err == nil && !used {
		err = errUsed
	}
	return err
}

// prove checks a code of the caller for an action. A wrong one is counted like a wrong password, and recorded. active is whether the
// factor must be confirmed, or must not.
func (s *Service) prove(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action, code secret.String,
	active bool) (found proof, err error) {
	if problems := codeProblems(code); len(problems) > 0 {
		return proof{}, fault.InvalidFields(problems...)
	}
	refusal := ""
	err = s.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := lock(ctx, tx, p.OrgUID, p.UserUID)
		if err != nil {
			return err
		}
		attempt := s.logins.CodeAttempt(origin, user)
		if err := attempt.Admit(ctx, tx); err != nil {
			return err
		}
		factor, err := tx.Factors.Get(ctx, user.UID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := wantState(factor, active); err != nil {
			return err
		}
		if found, refusal, err = s.check(ctx, tx, factor, plain(code)); err != nil || refusal == "" {
			return err
		}
		record := s.record(p, origin, action)
		record.Outcome, record.Reason = audit.Refused, refusal
		return attempt.Wrong(ctx, tx, record)
	})
	if err == nil && refusal != "" {
		err = wrongField()
	}
	return found, fault.Wrap("check a code", auth.UserNotFound(err))
}

func wrongField() error {
	return fault.InvalidField("code", "is wrong, or was used before: enter the next one")
}

func codeProblems(code secret.String) (problems []fault.Field) {
	if plain(code) == "" {
		problems = fault.FieldProblem("code", "is required")
	}
	return problems
}

func wantState(f secondfactors.Factor, active bool) error {
	switch confirmed := !f.ConfirmedAt.IsZero(); {
	case f.UserUID == "":
		return conflict(CodeNotActive, "You have no second factor. Begin one first.")
	case active && !confirmed:
		return conflict(CodeNotActive, "Your second factor is not confirmed.")
	case !active && confirmed:
		return conflict(CodeActive, "Your second factor is confirmed already.")
	}
	return nil
}

// check returns the proof that a code is, or why it is none.
func (s *Service) check(ctx context.Context, tx *store.Tx, f secondfactors.Factor, code string) (found proof, refusal string, err error) {
	if isRecovery(code) && !f.ConfirmedAt.IsZero() {
		there, err := tx.Factors.HasCode(ctx, f.UserUID, hashOf(code))
		if err == nil && !there {
			refusal = refusedWrong
		}
		return proof{recovery: hashOf(code)}, refusal, err
	}
	step, right, err := stepOf(f.Secret, code, s.now())
	switch {
	case err != nil:
	case !right:
		refusal = refusedWrong
	case step <= f.LastStep:
		refusal = refusedUsed
	}
	return proof{step: step}, refusal, err
}

// Done is a login that was completed. Codes are the recovery codes of a second factor that was added by it.
type Done struct {
	Tokens    auth.Tokens
	Reference secret.String // of a browser, in place of tokens
	Ends      time.Time     // of the session of a browser
	Codes     []secret.String
}

// Complete completes a login with a code: of the user's second factor, or of the one that EnrollPending began.
//
// Faults: Unauthenticated with CodeUnauthorizedAccess if the token is not that of a login that waits, and with CodeAuthenticationFailed for
// a wrong code; Invalid with field code; Conflict with CodeNotActive before EnrollPending; Limited.
func (s *Service) Complete(ctx context.Context, origin audit.Origin, token, code secret.String) (done Done, err error) {
	v, err := s.vouched(ctx, origin, token, code, &done)
	if err == nil {
		done.Tokens, err = s.logins.LoginVouched(ctx, origin, v)
	}
	return done, asRefusal(err)
}

// CompleteConsole is Complete for a browser.
func (s *Service) CompleteConsole(ctx context.Context, origin audit.Origin, token, code secret.String) (done Done, err error) {
	v, err := s.vouched(ctx, origin, token, code, &done)
	if err == nil {
		done.Reference, done.Ends, err = s.logins.LoginVouchedConsole(ctx, origin, v)
	}
	return done, asRefusal(err)
}

// asRefusal returns the fault of a login that ended, or whose code was used, between the check of the code and the login.
func asRefusal(err error) error {
	switch {
	case errors.Is(err, errUsed):
		return wrongCode()
	case errors.Is(err, auth.ErrNoLogin) || errors.Is(err, store.ErrNotFound):
		return notWaiting()
	}
	return fault.Wrap("complete a login", err)
}

func wrongCode() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeAuthenticationFailed, Reason: refusedWrong,
		Message: "The code is wrong, or was used before. Enter the next one."}
}

func notWaiting() error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeUnauthorizedAccess, Reason: auth.ReasonExpired,
		Message: "This login does not wait for a code any more. Log in again with your password."}
}

// pendingLogin is a login that waits, as it is found by its token.
type pendingLogin struct {
	secondfactors.Pending
	principal auth.Principal
}

// find returns the login of a token. Another password since then, or a user who was disabled, ends it.
func (s *Service) find(ctx context.Context, token secret.String) (found pendingLogin, err error) {
	hash, ok := auth.PendingHash(token)
	if !ok {
		return found, notWaiting()
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		if found.Pending, err = tx.Factors.Pending(ctx, hash, s.now()); err != nil {
			return err
		}
		user, err := tx.Users.Get(ctx, found.OrgUID, found.UserUID)
		if err == nil {
			err = found.check(user)
		}
		if err != nil {
			return err
		}
		org, err := tx.Orgs.Get(ctx, found.OrgUID)
		found.principal = auth.Principal{UserUID: user.UID, OrgUID: org.UID, OrgName: org.Name, Email: user.Email,
			Method: audit.MethodPassword}
		return err
	})
	return found, asRefusal(err)
}

func (l pendingLogin) check(user store.User) error {
	if !user.DisabledAt.IsZero() || !bytes.Equal(l.Password, auth.HashOfHash(user.PasswordHash)) {
		return auth.ErrNoLogin
	}
	return nil
}

// Waiting reports whether a login waits for a code, and whether a second factor must be added for it.
func (s *Service) Waiting(ctx context.Context, token secret.String) (add bool, err error) {
	found, err := s.find(ctx, token)
	if err != nil {
		return false, err
	}
	return s.mustAdd(ctx, found)
}

func (s *Service) mustAdd(ctx context.Context, login pendingLogin) (bool, error) {
	status, err := s.Status(ctx, login.principal)
	return !status.Active, err
}

// EnrollPending is Enroll for a login that waits because the organization requires a second factor and the user has none.
//
// Faults: Unauthenticated with CodeUnauthorizedAccess; Conflict with CodeActive.
func (s *Service) EnrollPending(ctx context.Context, origin audit.Origin, token secret.String) (Enrollment, error) {
	found, err := s.find(ctx, token)
	if err != nil {
		return Enrollment{}, err
	}
	return s.enroll(ctx, found.principal, origin)
}

// vouched checks the code of a login, and returns what stores its session. The session and the use of the code are one transaction.
func (s *Service) vouched(ctx context.Context, origin audit.Origin, token, code secret.String, done *Done) (auth.Vouched, error) {
	login, err := s.find(ctx, token)
	if err != nil {
		return auth.Vouched{}, err
	}
	add, err := s.mustAdd(ctx, login)
	if err != nil {
		return auth.Vouched{}, err
	}
	proof, err := s.prove(ctx, login.principal, origin, audit.Login, code, !add)
	switch kind := fault.KindOf(err); {
	case kind == fault.Invalid && plain(code) != "":
		return auth.Vouched{}, wrongCode()
	case kind == fault.NotFound: // deleted since
		return auth.Vouched{}, notWaiting()
	case err != nil:
		return auth.Vouched{}, err
	}
	v := auth.Vouched{OrgUID: login.OrgUID, Method: audit.MethodPassword, Target: byApp}
	switch {
	case add:
		v.Target = byAdding
	case proof.recovery != nil:
		v.Target = byRecovery
	}
	v.User = func(tx *store.Tx) (user store.User, err error) {
		if user, err = lock(ctx, tx, login.OrgUID, login.UserUID); err == nil {
			err = login.check(user)
		}
		if err == nil {
			err = tx.Factors.DeletePending(ctx, login.Hash)
		}
		if err == nil && add {
			done.Codes, err = s.addFactor(ctx, tx, origin, login.principal, proof)
		} else if err == nil {
			err = proof.use(ctx, tx, user.UID)
		}
		if err != nil {
			return user, err
		}
		return s.finish(ctx, tx, origin, user, login)
	}
	return v, nil
}

// addFactor confirms the factor of a code and records that. It returns the recovery codes.
func (s *Service) addFactor(ctx context.Context, tx *store.Tx, origin audit.Origin, p auth.Principal, proof proof) (
	[]secret.String, error) {
	codes, err := s.confirm(ctx, tx, p.UserUID, proof)
	if err == nil {
		err = tx.Audits.Append(ctx, s.record(p, origin, audit.FactorConfirm))
	}
	return codes, err
}

// finish does what a login with a password does once it succeeds: it sets the new password, and counts the success.
func (s *Service) finish(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, login pendingLogin) (store.User, error) {
	if login.NextHash != "" {
		if err := auth.Renew(ctx, tx, origin, user, login.NextHash, s.now()); err != nil {
			return user, err
		}
		user.PasswordHash = login.NextHash
	}
	return user, s.logins.CodeAttempt(origin, user).Right(ctx, tx)
}
