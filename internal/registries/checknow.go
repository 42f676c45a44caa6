package registries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// A check of a stored registry that somebody asks for is done by a server, whoever asks and wherever: its egress settings
// decide what the result is, and its result is recorded as the registry's health.

const (
	// CheckWithin is how long AwaitCheck should wait by default: longer than most checks take, and less than a response may.
	CheckWithin = 60 * time.Second

	beginWithin = 15 * time.Second // servers look for due checks every second
	pollEvery   = 200 * time.Millisecond
)

// CheckRequest identifies a check that was asked for.
type CheckRequest struct {
	orgUID, uid string
	number      int64
	delay       time.Duration // until the registry is due
}

// RequestCheck makes a registry due for a check by a server. orgUID is its organization, which a user's has to be.
//
// Faults: Forbidden; NotFound.
func (s *Service) RequestCheck(ctx context.Context, p auth.Principal, origin audit.Origin, orgUID, uid string) (CheckRequest, error) {
	if err := s.allowed(ctx, p, origin, auth.ValidateRegistries, audit.RegistryCheck, uid); err != nil {
		return CheckRequest{}, err
	}
	if !isUID(uid) || p.UserUID != "" && p.OrgUID != orgUID {
		return CheckRequest{}, noSuchRegistry()
	}
	request := CheckRequest{orgUID: orgUID, uid: uid}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		at, err := s.scheduleFirstCheck(ctx, tx, p, now)
		if err != nil {
			return err
		}
		request.delay = at.Sub(now)
		if request.number, err = tx.Watch.RequestCheck(ctx, orgUID, uid, at); err != nil {
			return notFound(err)
		}
		return tx.Audits.Append(ctx, s.done(p, origin, audit.RegistryCheck, orgUID, uid))
	})
	return request, asDone("ask for a check", err)
}

// AwaitCheck waits until the check is done, at most within, and returns its report. The check goes on when the wait ends.
//
// Faults: Unavailable when it is not done in time; NotFound when the registry was deleted; Conflict with
// CodeSecretUnreadable; Invalid when the stored definition cannot be used.
func (s *Service) AwaitCheck(ctx context.Context, request CheckRequest, within time.Duration) (*regcheck.Report, error) {
	mayWait, leave := s.gate.delay()
	defer leave()
	if mayWait == 0 || request.delay > within {
		return nil, notDone("The check waits for its turn.")
	}
	for began := time.Now(); ; {
		var state store.CheckRequest
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			state, err = tx.Watch.CheckRequest(ctx, request.orgUID, request.uid)
			return notFound(err)
		})
		if err != nil {
			return nil, fmt.Errorf("look for the result of a check: %w", err)
		}
		if state.Answered >= request.number {
			return answerOf(state)
		}
		runs := state.LeaseOwner != "" && state.NextAt.After(s.now())
		switch waited := time.Since(began); {
		case !runs && waited > min(within, request.delay+beginWithin):
			return nil, notDone("No server has begun the check: none is running on this store, all are busy, or their --watch-interval is 0s.")
		case waited > within:
			return nil, notDone("A server has not finished the check yet.")
		}
		if err := sleep(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

func notDone(message string) error { return fault.Busy(message, time.Second) }

// answerOf returns the report of the check that answered, or why the definition could not be tried.
func answerOf(state store.CheckRequest) (*regcheck.Report, error) {
	switch {
	case state.Answer == nil && state.State.Code == CodeSecretUnreadable:
		return nil, unreadable(nil)
	case state.Answer == nil:
		return nil, fault.InvalidFields(fault.Field{Field: state.State.Field, Problem: "cannot be used; replace the registry"})
	}
	report := &regcheck.Report{}
	if err := json.Unmarshal(state.Answer, report); err != nil {
		return nil, fmt.Errorf("read the report of a check: %w", err)
	}
	return report, nil
}
