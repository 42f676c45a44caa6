// Package registriestest creates stores with two organizations, for the tests of the packages that work on stored registries.
package registriestest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Start is when the organizations were created, and what Fixture.Now returns.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Password is that of Definition.
const Password secret.String = "stored password"

// Fixture is a store with users of two organizations, "org-a" and "org-b", named A and B. OtherAdmin belongs to "org-b".
type Fixture struct {
	DB                        *store.DB
	Dir                       string // data directory
	URL                       string // of the database; empty for SQLite
	Admin, Member, OtherAdmin auth.Principal
}

// Operator returns the operator for the organization of Admin.
func (f Fixture) Operator() auth.Principal {
	p := auth.Operator()
	p.OrgUID, p.OrgName = f.Admin.OrgUID, f.Admin.OrgName
	return p
}

// New opens a new store, on the server when there is one.
func New(t *testing.T, server *postgrestest.Server) Fixture {
	t.Helper()
	dir := t.TempDir()
	url := storetest.Create(t, dir, server)
	db, err := store.Open(t.Context(), store.Options{DataDir: dir, DatabaseURL: secret.String(url), Timeout: storetest.LongTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Orgs.Insert(t.Context(), store.Org{UID: "org-a", Name: "A", Canonical: "a", CreatedAt: Start}),
			tx.Orgs.Insert(t.Context(), store.Org{UID: "org-b", Name: "B", Canonical: "b", CreatedAt: Start}))
	})
	if err != nil {
		t.Fatal(err)
	}
	user := func(org string, role auth.Role) auth.Principal {
		return auth.Principal{UserUID: "user-" + org, OrgUID: "org-" + org, OrgName: org, Email: string(role) + "@" + org, Role: role,
			Method: audit.MethodToken}
	}
	return Fixture{DB: db, Dir: dir, URL: url, Admin: user("a", auth.RoleAdmin), Member: user("a", auth.RoleMember),
		OtherAdmin: user("b", auth.RoleAdmin)}
}

// Each runs a test on a new store of each kind.
func Each(t *testing.T, postgres *postgrestest.Shared, test func(*testing.T, Fixture)) {
	t.Run("SQLite", func(t *testing.T) { test(t, New(t, nil)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, New(t, postgres.Server(t))) })
}

// Now returns Start.
func (f Fixture) Now() time.Time { return Start }

// Definition returns a definition with credentials.
func Definition() regcheck.Definition {
	return regcheck.Definition{Endpoint: "https://r.example.com/", ProviderType: "helm",
		Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "ada", Password: Password}}
}

// AuditRecords describes the audit records, oldest first.
func (f Fixture) AuditRecords(t *testing.T) (list []string) {
	t.Helper()
	err := f.DB.View(t.Context(), func(tx *store.Tx) error {
		records, err := tx.Audits.List(t.Context(), audits.Filter{}, 1000)
		for _, e := range slices.Backward(records) {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s by %s %s", e.Action, e.Outcome, e.ActorName, e.Reason)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
