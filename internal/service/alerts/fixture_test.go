package alerts

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

// server has the stores of these tests; nil for SQLite.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Twice{Tests: m, Begin: func(s *postgrestest.Server) { server = s }})
}

// network resolves names to fixed addresses, records dialed addresses, and connects only to loopback.
type network struct {
	names map[string]netip.Addr
	to    string // the real target of an allowed dial
	fails error  // of other names; nil: they do not exist

	mu     sync.Mutex
	dialed []string
}

func (n *network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n.names[host]; ok {
		return []netip.Addr{a}, nil
	}
	if n.fails != nil {
		return nil, n.fails
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (n *network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, n.to)
}

func (n *network) dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dialed)
}

type fixture struct {
	*Channels
	*Confirmations
	*Deliverer
	*KeyWatcher
	t       *testing.T
	db      *store.DB
	url     string // of the database; empty for SQLite
	in      Scope
	project store.Project
	admin   auth.Principal
	clock   time.Time
}

func newFixture(t *testing.T, c Config) *fixture {
	t.Helper()
	options := store.Options{Timeout: storetest.LongTimeout, DataDir: t.TempDir()}
	options.DatabaseURL = secret.String(storetest.Create(t, options.DataDir, server))
	db, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := &fixture{t: t, db: db, url: options.DatabaseURL.Reveal(), clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	service := newService(db, c, func() time.Time { return f.clock })
	f.Channels, f.Confirmations, f.Deliverer, f.KeyWatcher = service.Channels, service.Confirmations, service.Deliverer, service.KeyWatcher
	org := store.Org{UID: uuid.NewString(), Name: "Acme", Canonical: "acme", CreatedAt: f.clock}
	f.project = store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "P", Canonical: "p", CreatedAt: f.clock}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Orgs.Insert(ctx, org); err != nil {
			return err
		}
		return tx.Projects.Insert(ctx, f.project)
	})
	f.in = Scope{OrgUID: org.UID, ProjectUID: f.project.UID, Component: RegistryHealth}
	f.admin = auth.Principal{OrgUID: org.UID, OrgName: "Acme", UserUID: uuid.NewString(), Email: "a@acme.example", Role: auth.RoleAdmin}
	return f
}

func (f *fixture) write(fn func(context.Context, *store.Tx) error) {
	f.t.Helper()
	if err := f.db.InTx(f.t.Context(), func(tx *store.Tx) error { return fn(f.t.Context(), tx) }); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) create(c Channel) (string, string) {
	f.t.Helper()
	uid, signing, err := f.Create(f.t.Context(), f.admin, audit.Origin{}, f.in, c)
	if err != nil {
		f.t.Fatal(err)
	}
	return uid, signing.Reveal()
}

func (f *fixture) channel(uid string) Channel {
	f.t.Helper()
	c, err := f.Get(f.t.Context(), f.in, uid)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func sample(f *fixture) Alert {
	return Alert{Component: RegistryHealth, Kind: RegistryNotValid, At: f.clock, Message: `Registry "a\b" is not valid.`,
		Organization: Organization{UID: f.in.OrgUID, Name: "Acme"},
		Registry: &Registry{UID: uuid.NewString(), Name: `a"}, "x": {"`, Endpoint: "https://r.example.com",
			Current: HealthResult{Code: "RegistryAuthFailed", Field: "auth.password", Message: `"Rejected".`, Hint: `Renew "it".`}}}
}

func (f *fixture) raise() {
	f.t.Helper()
	f.write(func(ctx context.Context, tx *store.Tx) error { return Raise(ctx, tx, sample(f)) })
}

// attempt delivers to one due channel, and reports whether there was one.
func (f *fixture) attempt() bool {
	f.t.Helper()
	return f.attemptUntil(f.t.Context())
}

// attemptUntil is attempt of a service that ends with ctx.
func (f *fixture) attemptUntil(ctx context.Context) bool {
	f.t.Helper()
	var claimed []store.ClaimedChannel
	f.write(func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, err = tx.Outbox.Claim(ctx, uuid.NewString(), f.clock, f.clock.Add(leaseTime),
			[]store.Share{{OrgUID: f.in.OrgUID, Count: 1}})
		return err
	})
	if len(claimed) == 0 {
		return false
	}
	if err := f.Deliverer.attempt(ctx, claimed[0]); err != nil {
		f.t.Fatal(err)
	}
	return true
}

func loopback(t *testing.T) egress.Policy {
	t.Helper()
	p, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
