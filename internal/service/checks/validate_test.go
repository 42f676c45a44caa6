package checks

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// failingDialer always fails.
type failingDialer struct{}

func (failingDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("on purpose")
}

func newService(db *store.DB, perMinute int) *Service {
	now := func() time.Time { return registriestest.Start }
	return New(db, registries.New(db, registries.Limits{ContactsPerMinute: perMinute}, now), &regcheck.Checker{Dialer: failingDialer{}},
		Limits{PerMinute: perMinute}, now)
}

// twoServers returns two services with fixed clocks on one PostgreSQL database.
func twoServers(t *testing.T, perMinute int) (servers []*Service) {
	t.Helper()
	databaseURL, key := postgres.Server(t).NewDatabase(t), seal.NewMasterKey()
	for range 2 {
		db, err := store.Open(t.Context(),
			store.Options{DatabaseURL: secret.String(databaseURL), MasterKey: key, Timeout: storetest.LongTimeout})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		servers = append(servers, newService(db, perMinute))
	}
	return servers
}

func request() Request {
	return Request{Action: audit.RegistryValidate, Definition: registries.SentDefinition{
		Definition: regcheck.Definition{Endpoint: "http://192.0.2.1", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}}
}

func (s *Service) recorded(t *testing.T, uid string) (record audit.Record) {
	t.Helper()
	if err := s.db.View(t.Context(), func(tx *store.Tx) (err error) {
		record, err = tx.Audits.Get(t.Context(), uid)
		return err
	}); err != nil {
		t.Error(err)
	}
	return record
}

// validateAsMember validates on one server and returns the outcome in the audit record.
func validateAsMember(t *testing.T, s *Service) (audit.Outcome, error) {
	t.Helper()
	p := auth.Principal{UserUID: "user", OrgUID: "org", Role: auth.RoleMember, Method: audit.MethodToken}
	_, uid, err := s.Validate(t.Context(), p, audit.Origin{}, request())
	return s.recorded(t, uid).Outcome, err
}

// Every outcome of a validation is audited under the uid that Validate returns: the caller's if the validation began.
func TestValidateRecordsEveryOutcome(t *testing.T) {
	f := registriestest.New(t, nil)
	s := newService(f.DB, 100)
	withoutRole := f.Member
	withoutRole.Role = ""
	for name, row := range map[string]struct {
		p       auth.Principal
		change  func(*Request)
		outcome audit.Outcome
		reason  string
		fields  int
	}{
		"not valid": {f.Member, func(*Request) {}, audit.NotValid, string(regcheck.CodeAddressForbidden), 0},
		"a wrong type": {f.Member, func(r *Request) { r.Undecoded = []fault.Field{{Field: "scope"}} }, audit.Refused,
			fault.CodeInvalidRequest, 1},
		"two problems": {f.Member, func(r *Request) { r.Undecoded, r.Definition.Endpoint = []fault.Field{{Field: "scope"}}, "" },
			audit.Refused, fault.CodeInvalidRequest, 2},
		"an unknown registry": {f.Member, func(r *Request) { r.Definition.RegistryUID = "x" }, audit.Refused, fault.CodeInvalidRequest, 1},
		"not permitted":       {withoutRole, func(*Request) {}, audit.Refused, fault.CodeOperationForbidden, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, origin := request(), audit.Origin{AuditUID: uuid.NewString()}
			row.change(&r)
			report, uid, err := s.Validate(t.Context(), row.p, origin, r)
			if began := row.outcome != audit.Refused; began != (err == nil) || began != (report != nil) ||
				began != (uid == origin.AuditUID) {
				t.Errorf("report %v, record %s of %s, %v", report, uid, origin.AuditUID, err)
			}
			if problems, _ := errors.AsType[*fault.Error](err); row.fields > 0 && (problems == nil || len(problems.Fields) != row.fields) {
				t.Errorf("%v, want %d fields", err, row.fields)
			}
			if record := s.recorded(t, uid); record.Outcome != row.outcome || record.Reason != row.reason {
				t.Errorf("audited as %s %s", record.Outcome, record.Reason)
			}
		})
	}
}

func TestPanicOfTheEngineIsRecorded(t *testing.T) {
	f := registriestest.New(t, nil)
	s, origin := newService(f.DB, 100), audit.Origin{AuditUID: uuid.NewString()}
	s.checker.Proxy = func(*url.URL) (*url.URL, error) { panic("panic of the test") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _, _ = s.Validate(t.Context(), f.Member, origin, request())
	}()
	if record := s.recorded(t, origin.AuditUID); record.Outcome != audit.Failed {
		t.Errorf("audited as %s %s", record.Outcome, record.Reason)
	}
	if running, _ := s.Load(); running != 0 {
		t.Errorf("%d slots are held", running)
	}
}

// TestServersShareALimit has two servers on one database validate in turn for one user.
func TestServersShareALimit(t *testing.T) {
	t.Parallel()
	servers := twoServers(t, 2)
	for i := range 4 {
		outcome, err := validateAsMember(t, servers[i%2])
		limited, _ := errors.AsType[*fault.Error](err)
		switch {
		case i < 2 && (err != nil || outcome != audit.NotValid):
			t.Errorf("validation %d: %s, %v", i, outcome, err)
		case i >= 2 && (limited == nil || limited.Kind != fault.Limited || limited.RetryAfter <= 0 || outcome != audit.Refused):
			t.Errorf("validation %d beyond the limit: %s, %v", i, outcome, err)
		}
	}
}

// A validation just beyond the shared limit waits instead of failing.
func TestValidationsWaitForASharedLimit(t *testing.T) {
	t.Parallel()
	s := twoServers(t, 1200)[0]
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

// Validations have a separate limit, which storing definitions does not use up.
func TestStoredDefinitionsDoNotCountAsValidations(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		s := newService(f.DB, 4)
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			input := registries.RegistryInput{Name: name, Definition: registriestest.Definition()}
			if _, err := s.registries.Create(t.Context(), f.Admin, audit.Origin{}, input); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			_, _, err := s.Validate(t.Context(), f.Admin, audit.Origin{}, request())
			if limited := fault.KindOf(err) == fault.Limited; limited != (i == 4) {
				t.Errorf("validation %d: %v", i, err)
			}
		}
	})
}
