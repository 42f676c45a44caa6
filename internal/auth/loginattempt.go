package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// passwordTry is one attempt at a password, as throttling sees it.
type passwordTry struct {
	s               *Service
	account, source []byte
	state           store.Throttles // as read before the try waits for a slot
}

var every = []byte(store.Every)

const throttlePurpose = "regwarden throttled name v1\x00"

// newTry names what is tried. A user is named by its uid. A name that does not exist is named by its MAC, since
// people type passwords into the e-mail field; it is canonical, so that spellings share one count.
func (s *Service) newTry(origin audit.Origin, c Credentials, user store.User) passwordTry {
	mac := hmac.New(sha256.New, s.keySet().mac)
	for _, part := range []string{throttlePurpose, Canonical(c.Org), "\x00", Canonical(c.Email)} {
		mac.Write([]byte(part))
	}
	account := mac.Sum(nil)
	if user.UID != "" {
		account = []byte(user.UID)
	}
	return passwordTry{s: s, account: account, source: []byte(origin.Source())}
}

// caller is the try as the queue for hashing sees it.
func (t passwordTry) caller() hashCaller {
	c := hashCaller{share: unknownLogins, source: string(t.source), account: string(t.account)}
	if ownAllowance(t.state.Pair) {
		c.share = knownLogins
	}
	return c
}

// read returns what decides about the try at this moment.
func (t passwordTry) read(ctx context.Context, now time.Time) (state store.Throttles, err error) {
	err = t.s.db.View(ctx, func(tx *store.Tx) (err error) {
		state, err = tx.Throttling.Both(ctx, t.account, t.source, now)
		return err
	})
	return state, fault.Wrap("look up failed logins", err)
}

// check returns nil when the try may be made, else a fault of kind Limited. It writes nothing, so a refused try makes
// no wait longer.
func (t passwordTry) check() error {
	return limited(t.s.throttle.wait(t.state, t.s.now()))
}

// take is check, and takes the try when it comes after a wait: of many at once one goes on. It is called when
// a password is about to be hashed, so that a try that is turned away for want of a worker is not lost.
func (t passwordTry) take(ctx context.Context) error {
	now := t.s.now()
	state, err := t.read(ctx, now)
	if err != nil {
		return err
	}
	if err := limited(t.s.throttle.wait(state, now)); err != nil {
		return err
	}
	rules := t.s.throttle
	rows := []throttleRow{{t.account, t.source, state.Pair, rules.afterPair(state.Pair.Failures)}}
	if !ownAllowance(state.Pair) {
		rows = append(rows, throttleRow{t.account, every, state.Account, rules.afterShared(state.Account.Failures)},
			throttleRow{every, t.source, state.Source, rules.afterSource(state.Source.Failures)})
	}
	rows = slices.DeleteFunc(rows, func(r throttleRow) bool { return r.wait == 0 })
	if len(rows) == 0 {
		return nil
	}
	return t.s.db.InTx(ctx, func(tx *store.Tx) error {
		for _, row := range rows {
			if err := row.take(ctx, tx, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// throttleRow is a row that a try depends on, and the wait after it.
type throttleRow struct {
	account, source []byte
	read            store.Throttle
	wait            time.Duration
}

func (r throttleRow) take(ctx context.Context, tx *store.Tx, now time.Time) error {
	taken, err := tx.Throttling.TakeTry(ctx, r.account, r.source, r.read, now.Add(r.wait))
	if err == nil && !taken {
		return limited(r.wait)
	}
	return err
}

// failed counts a failure, in the transaction of its record, and tells whether it is the one that is raised
// the alarm at.
func (t passwordTry) failed(ctx context.Context, tx *store.Tx, now time.Time) (alert bool, err error) {
	pair, err := tx.Throttling.CountFailure(ctx, t.account, t.source, now)
	if err != nil {
		return false, err
	}
	wait := t.s.throttle.afterPair(pair.Failures)
	if err := tx.Throttling.Delay(ctx, t.account, t.source, blockedUntil(wait, now), forgetPairAt(pair, wait, now)); err != nil {
		return false, err
	}
	if ownAllowance(pair) {
		return false, nil
	}
	shared, err := tx.Throttling.CountFailure(ctx, t.account, every, now)
	if err != nil {
		return false, err
	}
	wait = t.s.throttle.afterShared(shared.Failures)
	if err := tx.Throttling.Delay(ctx, t.account, every, blockedUntil(wait, now), forgetSharedAt(shared.Failures, now)); err != nil {
		return false, err
	}
	return shared.Failures == alertAfter, t.failedAnywhere(ctx, tx, now)
}

// failedAnywhere counts a failure of the source, whatever the account. All transactions lock this row after those of the
// account, so that none waits for another that waits for it.
func (t passwordTry) failedAnywhere(ctx context.Context, tx *store.Tx, now time.Time) error {
	source, err := tx.Throttling.CountFailure(ctx, every, t.source, now)
	if err != nil {
		return err
	}
	wait := t.s.throttle.afterSource(source.Failures)
	return tx.Throttling.Delay(ctx, every, t.source, blockedUntil(wait, now), forgetSourceAt(source, now))
}

// succeeded forgets the failures of the account that the try was judged by. A source with its own allowance leaves the
// shared count as it is: attackers elsewhere gain nothing from the owner's login. The count of the source stays in any
// case: an attacker with an account gains nothing from logging in to it.
func (t passwordTry) succeeded(ctx context.Context, tx *store.Tx, now time.Time) error {
	pair, err := tx.Throttling.Get(ctx, t.account, t.source, now)
	if err != nil {
		return err
	}
	if ownAllowance(pair) && pair.Failures == 0 && now.Sub(pair.SucceededAt) < successNoteEvery {
		return nil
	}
	if err := tx.Throttling.NoteSuccess(ctx, t.account, t.source, now, now.Add(forgetSuccess)); err != nil || ownAllowance(pair) {
		return err
	}
	return tx.Throttling.Forget(ctx, t.account, every)
}

// limited is the fault of a try that has to wait, nil when it has not.
func limited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many failed logins. Retry after the time in Retry-After; trying earlier does not make the wait longer."}
}

// alert records that an account is being guessed at.
func (s *Service) alert(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, now time.Time) error {
	return tx.Audits.Append(ctx, audit.Event{UID: audit.NewUID(), At: now, OrgUID: user.OrgUID, ActorUID: user.UID, ActorName: user.Email,
		Method: audit.MethodPassword, Action: audit.LoginAlert, Object: user.UID, Outcome: audit.Refused, Reason: reasonGuessing, Origin: origin})
}

const reasonGuessing = "tooManyFailures"

// logAlert tells the operator, after the record is durable.
func (s *Service) logAlert(user store.User) {
	if s.config.Log != nil {
		s.config.Log.Warn("an account is being guessed at: its sign-ins from sources without an earlier success are slow now",
			"user", user.UID, "org", user.OrgUID, "failures", alertAfter)
	}
}
