package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// passwordTry is one attempt at a password, as throttling sees it.
type passwordTry struct {
	s               *Service
	account, source []byte
	allSources      []byte
}

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
	return passwordTry{s: s, account: account, source: []byte(sourceOf(origin.Address)), allSources: []byte("*")}
}

// sourceOf is the address that tries are counted for: of IPv6 the /64, which is what one customer has.
func sourceOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// standing reads what decides about the try.
func (t passwordTry) standing(ctx context.Context, now time.Time) (pair, shared store.Throttle, err error) {
	err = t.s.db.View(ctx, func(tx *store.Tx) (err error) {
		pair, shared, err = tx.Throttles(ctx, t.account, t.source, t.allSources, now)
		return err
	})
	return pair, shared, asDone("look up failed sign-ins", err)
}

// check returns nil when the try may be made, else a fault of kind Limited. It writes nothing, so trying in
// vain makes no wait longer.
func (t passwordTry) check(ctx context.Context) error {
	now := t.s.now()
	pair, shared, err := t.standing(ctx, now)
	if err != nil {
		return err
	}
	return limited(t.s.throttle.wait(pair, shared, now))
}

// take is check, and takes the try when it comes after a wait: of many at once one goes on. It is called when
// a password is about to be hashed, so that a try that is turned away for want of a worker is not lost.
func (t passwordTry) take(ctx context.Context) error {
	now := t.s.now()
	pair, shared, err := t.standing(ctx, now)
	if err != nil {
		return err
	}
	if err := limited(t.s.throttle.wait(pair, shared, now)); err != nil {
		return err
	}
	pairWait, sharedWait := t.s.throttle.afterPair(pair.Failures), t.s.throttle.afterShared(shared.Failures)
	if ownAllowance(pair) {
		sharedWait = 0
	}
	if pairWait == 0 && sharedWait == 0 {
		return nil
	}
	return t.s.db.InTx(ctx, func(tx *store.Tx) error {
		err := t.takeFrom(ctx, tx, t.source, pair, pairWait, now)
		if err == nil {
			err = t.takeFrom(ctx, tx, t.allSources, shared, sharedWait, now)
		}
		return err
	})
}

func (t passwordTry) takeFrom(ctx context.Context, tx *store.Tx, source []byte, read store.Throttle, wait time.Duration, now time.Time) error {
	if wait == 0 {
		return nil
	}
	taken, err := tx.TakeTry(ctx, t.account, source, read, now.Add(wait))
	if err == nil && !taken {
		return limited(wait)
	}
	return err
}

// failed counts a failure, in the transaction of its record, and tells whether it is the one that is raised
// the alarm at.
func (t passwordTry) failed(ctx context.Context, tx *store.Tx, now time.Time) (alert bool, err error) {
	pair, err := tx.CountFailure(ctx, t.account, t.source, now)
	if err != nil {
		return false, err
	}
	wait := t.s.throttle.afterPair(pair.Failures)
	if err := tx.DelayTries(ctx, t.account, t.source, blockedUntil(wait, now), forgetPairAt(pair, wait, now)); err != nil {
		return false, err
	}
	if ownAllowance(pair) {
		return false, nil
	}
	shared, err := tx.CountFailure(ctx, t.account, t.allSources, now)
	if err != nil {
		return false, err
	}
	wait = t.s.throttle.afterShared(shared.Failures)
	err = tx.DelayTries(ctx, t.account, t.allSources, blockedUntil(wait, now), forgetSharedAt(shared.Failures, now))
	return shared.Failures == alertAfter, err
}

// succeeded forgets the failures that the try was judged by. A source with its own allowance leaves the shared
// count as it is: those who try elsewhere gain nothing from the owner's signing in.
func (t passwordTry) succeeded(ctx context.Context, tx *store.Tx, now time.Time) error {
	pair, err := tx.Throttle(ctx, t.account, t.source, now)
	if err != nil {
		return err
	}
	if ownAllowance(pair) && pair.Failures == 0 && now.Sub(pair.SucceededAt) < successNoteEvery {
		return nil
	}
	if err := tx.NoteSuccess(ctx, t.account, t.source, now, now.Add(forgetSuccess)); err != nil || ownAllowance(pair) {
		return err
	}
	return tx.ForgetFailures(ctx, t.account, t.allSources)
}

// limited is the fault of a try that has to wait, nil when it has not.
func limited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many sign-ins failed here. Wait, then try again; trying before does not make the wait longer."}
}

// alert records that an account is being guessed at.
func (s *Service) alert(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, now time.Time) error {
	return tx.AppendAudit(ctx, audit.Event{UID: audit.NewUID(), At: now, OrgUID: user.OrgUID, ActorUID: user.UID, ActorName: user.Email,
		Means: MeansPassword, Action: audit.LoginAlert, Object: user.UID, Outcome: audit.Refused, Reason: reasonGuessing, Origin: origin})
}

const reasonGuessing = "tooManyFailures"

// logAlert tells the operator, after the record is durable.
func (s *Service) logAlert(user store.User) {
	if s.config.Log != nil {
		s.config.Log.Warn("an account is being guessed at: its sign-ins from sources without an earlier success are slow now",
			"user", user.UID, "org", user.OrgUID, "failures", alertAfter)
	}
}
