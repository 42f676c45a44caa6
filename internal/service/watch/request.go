package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// A requested check of a stored registry always runs on a server, since its result becomes the registry's health status and depends on
// the server's egress settings.

const (
	// defaultWait is the default wait of awaitCheck. It is longer than most checks, and shorter than a response may take.
	defaultWait = 60 * time.Second

	beginTimeout = 15 * time.Second // servers look for due checks every second
	pollInterval = 200 * time.Millisecond
)

// CheckRequest identifies a requested check.
type CheckRequest struct {
	orgUID, uid string
	number      int64
	delay       time.Duration // before the registry is due
}

// RequestCheck makes a registry due for a check by a server.
//
// Faults: Forbidden; NotFound.
func (s *Service) RequestCheck(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) (
	request CheckRequest, err error,
) {
	contact := registries.ContactRequest{Permission: access.ValidateRegistries, Action: audit.RegistryCheck, UID: uid}
	err = s.registries.RequestContact(ctx, p, origin, contact, func(tx *store.Tx, c registries.Contact) (err error) {
		request = CheckRequest{orgUID: c.OrgUID, uid: c.UID, delay: c.At.Sub(c.Now)}
		request.number, err = tx.Watch.RequestCheck(ctx, c.OrgUID, c.UID, c.At, c.Now, leaseTime)
		return err
	})
	return request, err
}

// CheckNow requests a check by a server and waits for its report if reserve has a slot for the wait. Without a report, pending is the
// reason, and the registry stays due.
//
// Faults: as RequestCheck and awaitCheck, except Unavailable.
func (s *Service) CheckNow(ctx context.Context, p auth.Principal, origin audit.Origin, uid string,
	reserve func(auth.Principal) (release func(), reserved bool)) (report *regcheck.Report, pending string, err error) {
	request, err := s.RequestCheck(ctx, p, origin, uid)
	if err != nil {
		return nil, "", err
	}
	release, reserved := reserve(p)
	defer release()
	if !reserved {
		return nil, "The registry is due for a check. Too many requests wait for reports now.", nil
	}
	report, err = s.awaitCheck(ctx, request, defaultWait)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unavailable {
		return nil, f.Message, nil
	}
	return report, "", err
}

// awaitCheck waits until the check has ended, at most within, and returns its report. The check continues after the wait.
//
// Faults: Unavailable if it does not end in time; NotFound if the registry was deleted; Conflict with
// registries.CodeSecretUnreadable; Invalid if the stored definition is not valid.
func (s *Service) awaitCheck(ctx context.Context, request CheckRequest, within time.Duration) (*regcheck.Report, error) {
	if request.delay > within {
		return nil, notDone(fmt.Sprintf("The check begins in %s, after those of other registries that you changed or had checked.",
			request.delay.Round(time.Second)))
	}
	for began := time.Now(); ; {
		state, err := s.requestState(ctx, request)
		if err != nil {
			return nil, err
		}
		if state.Completed >= request.number {
			return reportOf(state)
		}
		running := state.LeaseOwner != "" && state.NextAt.After(s.now())
		switch waited := time.Since(began); {
		case !running && waited > min(within, request.delay+beginTimeout):
			return nil, notDone("No server has begun the check: no server uses this store, all are busy, or their --watch-interval is 0s.")
		case waited > within:
			return nil, notDone("A server has not finished the check yet.")
		}
		if err := loop.Sleep(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

func (s *Service) requestState(ctx context.Context, request CheckRequest) (store.CheckRequest, error) {
	state, err := store.Read(ctx, s.db, func(tx *store.Tx) (store.CheckRequest, error) {
		return tx.Watch.CheckRequest(ctx, request.orgUID, request.uid)
	})
	return state, fault.Wrap("read the result of a check", registries.NotFound(err))
}

func notDone(message string) error { return fault.Busy(message, time.Second) }

// reportOf returns the report of a requested check, or the reason why the definition could not be checked.
func reportOf(state store.CheckRequest) (*regcheck.Report, error) {
	switch {
	case state.Report == nil && state.State.Code == registries.CodeSecretUnreadable:
		return nil, registries.SecretUnreadable(nil)
	case state.Report == nil:
		return nil, fault.InvalidField(state.State.Field, "is not valid in the stored definition; replace the registry")
	}
	report := &regcheck.Report{}
	if err := json.Unmarshal(state.Report, report); err != nil {
		return nil, fmt.Errorf("read the report of a check: %w", err)
	}
	return report, nil
}
