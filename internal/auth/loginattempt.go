package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fairqueue"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// loginAttempt is one attempt at a password, as counted by the throttle.
type loginAttempt struct {
	s               *Service
	account, source []byte
	state           store.Throttles // as last read
	reference       []byte          // as in Credentials
}

var every = []byte(store.Every)

const throttlePurpose = "regwarden throttled name v1\x00"

// newAttempt identifies the account of an attempt: a user by its uid, an unknown name by its MAC, since people type
// passwords into the email field. The name is canonical, so that all its spellings share one count.
func (s *Service) newAttempt(origin audit.Origin, c Credentials, user store.User) *loginAttempt {
	mac := hmac.New(sha256.New, s.keySet().mac)
	for _, part := range []string{throttlePurpose, Canonical(c.Org), "\x00", Canonical(c.Email)} {
		mac.Write([]byte(part))
	}
	account := mac.Sum(nil)
	if user.UID != "" {
		account = []byte(user.UID)
	}
	return &loginAttempt{s: s, account: account, source: []byte(origin.Source()), reference: c.reference}
}

// storeReference stores the reference to the session of a successful login, if it has one.
func (a *loginAttempt) storeReference(ctx context.Context, tx *store.Tx, sessionUID string) error {
	if a.reference == nil {
		return nil
	}
	return tx.Sessions.InsertReference(ctx, sessionUID, a.reference)
}

// replaceReference replaces that of the session whose password was changed, if there is another one.
func (a *loginAttempt) replaceReference(ctx context.Context, tx *store.Tx, sessionUID string) error {
	if a.reference == nil {
		return nil
	}
	return tx.Sessions.ReplaceReference(ctx, sessionUID, a.reference)
}

// hashCaller returns the position of the attempt in the queue for hashing.
func (a *loginAttempt) hashCaller() fairqueue.Caller {
	c := fairqueue.Caller{Share: unknownLogins, Source: string(a.source), Account: string(a.account)}
	if ownAllowance(a.state.Pair) {
		c.Share = knownLogins
	}
	return c
}

// read reads the throttle state of the attempt.
func (a *loginAttempt) read(ctx context.Context, tx *store.Tx) (err error) {
	a.state, err = tx.Throttling.Both(ctx, a.account, a.source, a.s.waitNow())
	return fault.Wrap("look up failed logins", err)
}

// check returns nil if the attempt may be made, else a fault of kind Limited. It writes nothing, so a refused attempt
// does not prolong the wait.
func (a *loginAttempt) check() error {
	return limited(a.s.throttle.wait(a.state, a.s.waitNow()))
}

// reserve makes sure that only one of several concurrent attempts continues after a wait. It is called in the hash
// slot, so that an attempt without a slot is not counted. If the attempt waited for the slot, its state is read again.
func (a *loginAttempt) reserve(ctx context.Context, waited bool) error {
	if waited {
		if err := a.s.db.View(ctx, func(tx *store.Tx) error { return a.read(ctx, tx) }); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return err
		}
	}
	rows := a.rows()
	if len(rows) == 0 {
		return nil
	}
	return a.s.db.InTx(ctx, func(tx *store.Tx) error {
		now := a.s.waitNow()
		for _, row := range rows {
			if err := row.reserve(ctx, tx, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// throttleRow is a row that limits an attempt, and the wait that it causes.
type throttleRow struct {
	account, source []byte
	read            store.Throttle
	wait            time.Duration
}

// rows returns the rows that cause a wait.
func (a *loginAttempt) rows() []throttleRow {
	rules, state := a.s.throttle, a.state
	rows := []throttleRow{{a.account, a.source, state.Pair, rules.afterPair(state.Pair.Failures)}}
	if !ownAllowance(state.Pair) {
		rows = append(rows, throttleRow{a.account, every, state.Account, rules.afterShared(state.Account.Failures)},
			throttleRow{every, a.source, state.Source, rules.afterSource(state.Source.Failures)})
	}
	return slices.DeleteFunc(rows, func(r throttleRow) bool { return r.wait == 0 })
}

func (r throttleRow) reserve(ctx context.Context, tx *store.Tx, now time.Time) error {
	reserved, err := tx.Throttling.ReserveAttempt(ctx, r.account, r.source, r.read, now.Add(r.wait))
	if err == nil && !reserved {
		return limited(r.wait)
	}
	return err
}

// recordFailure counts a failure in the transaction of its audit record, and reports whether it reaches the alert
// threshold.
func (a *loginAttempt) recordFailure(ctx context.Context, tx *store.Tx) (alert bool, err error) {
	now := a.s.waitNow()
	pair, err := tx.Throttling.CountFailure(ctx, a.account, a.source, now)
	if err != nil {
		return false, err
	}
	wait := a.s.throttle.afterPair(pair.Failures)
	if err := tx.Throttling.Delay(ctx, a.account, a.source, blockedUntil(wait, now), forgetPairAt(pair, wait, now)); err != nil {
		return false, err
	}
	if ownAllowance(pair) {
		return false, nil
	}
	shared, err := tx.Throttling.CountFailure(ctx, a.account, every, now)
	if err != nil {
		return false, err
	}
	wait = a.s.throttle.afterShared(shared.Failures)
	if err := tx.Throttling.Delay(ctx, a.account, every, blockedUntil(wait, now), forgetSharedAt(shared.Failures, now)); err != nil {
		return false, err
	}
	return shared.Failures == alertAfter, a.recordSourceFailure(ctx, tx, now)
}

// recordSourceFailure counts a failure of the source with any account. All transactions lock this row after the rows of
// the account, so that they cannot deadlock.
func (a *loginAttempt) recordSourceFailure(ctx context.Context, tx *store.Tx, now time.Time) error {
	source, err := tx.Throttling.CountFailure(ctx, every, a.source, now)
	if err != nil {
		return err
	}
	wait := a.s.throttle.afterSource(source.Failures)
	return tx.Throttling.Delay(ctx, every, a.source, blockedUntil(wait, now), forgetSourceAt(source, now))
}

// recordSuccess deletes the failures of the account that limited the attempt. A login from a source with its own
// allowance does not reset the shared count, so attackers at other sources do not benefit from the owner's login. The
// count of the source is never reset: an attacker with an account does not benefit from logging in to it.
func (a *loginAttempt) recordSuccess(ctx context.Context, tx *store.Tx) error {
	now := a.s.waitNow()
	pair, err := tx.Throttling.Get(ctx, a.account, a.source, now)
	if err != nil {
		return err
	}
	if ownAllowance(pair) && pair.Failures == 0 && now.Sub(pair.SucceededAt) < successNoteEvery {
		return nil
	}
	if err := tx.Throttling.NoteSuccess(ctx, a.account, a.source, now, now.Add(forgetSuccess)); err != nil || ownAllowance(pair) {
		return err
	}
	return tx.Throttling.Delete(ctx, a.account, every)
}

// limited returns the fault of an attempt that has to wait, nil if it does not.
func limited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many failed logins. Retry after the time in Retry-After. Earlier attempts do not extend the wait."}
}

// recordAlert writes the audit record that logins of an account are throttled for all sources.
func (s *Service) recordAlert(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, now time.Time) error {
	return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: user.OrgUID, ActorUID: user.UID, ActorName: user.Email,
		Method: audit.MethodPassword, Action: audit.LoginAlert, Object: user.UID, Outcome: audit.Refused, Reason: reasonGuessing, Origin: origin})
}

const reasonGuessing = "tooManyFailures"

// logAlert logs the recorded alert.
func (s *Service) logAlert(user store.User) {
	if s.config.Log != nil {
		s.config.Log.Warn("login throttled", "user", user.UID, "org", user.OrgUID, "failures", alertAfter)
	}
}
