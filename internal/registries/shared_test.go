package registries

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/storetest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// nowhere dials nobody: what is checked here is who may.
type nowhere struct{}

func (nowhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("on purpose")
}

// TestServersShareAnAllowance has two servers on one database validate in turn for one user.
func TestServersShareAnAllowance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := storetest.Create(t, dir, postgres.Server(t))
	var servers []*Service
	for range 2 {
		db, err := store.Open(t.Context(), store.Options{DatabaseURL: secret.String(url), DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		servers = append(servers, New(db, &regcheck.Checker{Dialer: nowhere{}}, Limits{PerMinute: 5}))
	}
	outcomes := map[audit.Outcome]int{}
	for i := range 7 {
		request := Request{AuditUID: uuid.NewString(), Purpose: Validate,
			Definition: regcheck.Definition{Endpoint: "http://192.0.2.1", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}
		who := auth.Principal{UserUID: "user", OrgUID: "org", Role: auth.RoleMember, Means: auth.MeansToken}
		_, err := servers[i%2].Check(t.Context(), who, audit.Origin{}, request)
		limited, ok := errors.AsType[*fault.Error](err)
		if wantOK := i < 5; wantOK != (err == nil) || ok && (limited.Kind != fault.Limited || limited.RetryAfter <= 0) {
			t.Errorf("validation %d: %v", i, err)
		}
		uid := request.AuditUID
		if err != nil {
			if uid, err = servers[i%2].Refuse(t.Context(), who, audit.Origin{}, Validate, err); err != nil {
				t.Error(err)
			}
		}
		if err := servers[0].db.View(t.Context(), func(tx *store.Tx) error {
			event, err := tx.Audit(t.Context(), uid)
			outcomes[event.Outcome]++
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	if outcomes[audit.NotValid] != 5 || outcomes[audit.Refused] != 2 {
		t.Errorf("on record: %v", outcomes)
	}
}
