package registries

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// nowhere dials nobody: what is checked here is who may.
type nowhere struct{}

func (nowhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("on purpose")
}

// twoServers are two services on one PostgreSQL database.
func twoServers(t *testing.T, perMinute int) (servers []*Service) {
	t.Helper()
	url, key := postgrestest.Start(t, postgrestest.Options{NoSync: true}).NewDatabase(t), seal.NewMasterKey()
	for range 2 {
		db, err := store.Open(t.Context(), store.Options{DatabaseURL: secret.String(url), MasterKey: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		servers = append(servers, New(db, &regcheck.Checker{Dialer: nowhere{}}, Limits{PerMinute: perMinute}))
	}
	return servers
}

// validateAsMember validates on one server and returns the outcome that is on record.
func validateAsMember(t *testing.T, s *Service) (audit.Outcome, error) {
	t.Helper()
	request := Request{AuditUID: uuid.NewString(), Purpose: Validate,
		Definition: regcheck.Definition{Endpoint: "http://192.0.2.1", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}
	who := auth.Principal{UserUID: "user", OrgUID: "org", Role: auth.RoleMember, Method: audit.MethodToken}
	_, err := s.Check(t.Context(), who, audit.Origin{}, request)
	uid := request.AuditUID
	if err != nil {
		var recordErr error
		if uid, recordErr = s.Refuse(t.Context(), who, audit.Origin{}, Validate, err); recordErr != nil {
			t.Error(recordErr)
		}
	}
	var event audit.Event
	if err := s.db.View(t.Context(), func(tx *store.Tx) (err error) {
		event, err = tx.Audits.Get(t.Context(), uid)
		return err
	}); err != nil {
		t.Error(err)
	}
	return event.Outcome, err
}

// TestServersShareAnAllowance has two servers on one database validate in turn for one user.
func TestServersShareAnAllowance(t *testing.T) {
	t.Parallel()
	servers := twoServers(t, 2)
	for _, s := range servers { // so that no allowance comes back while a busy machine takes its time
		s.now = func() time.Time { return recordsStart }
	}
	for i := range 4 {
		outcome, err := validateAsMember(t, servers[i%2])
		limited, _ := errors.AsType[*fault.Error](err)
		switch {
		case i < 2 && (err != nil || outcome != audit.NotValid):
			t.Errorf("validation %d: %s, %v", i, outcome, err)
		case i >= 2 && (limited == nil || limited.Kind != fault.Limited || limited.RetryAfter <= 0 || outcome != audit.Refused):
			t.Errorf("validation %d beyond the allowance: %s, %v", i, outcome, err)
		}
	}
}

// A validation just beyond the shared allowance waits instead of failing.
func TestValidationsWaitForASharedAllowance(t *testing.T) {
	t.Parallel()
	s := twoServers(t, 1200)[0]
	s.now = func() time.Time { return recordsStart }
	if err := s.db.InTx(t.Context(), func(tx *store.Tx) error {
		_, _, err := tx.Allowances.Reserve(t.Context(), "user", 1, 60200*time.Millisecond, 0, s.now()) // as much as 1,204 validations
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if outcome, err := validateAsMember(t, s); err != nil || outcome != audit.NotValid {
		t.Errorf("%s, %v", outcome, err)
	}
}
