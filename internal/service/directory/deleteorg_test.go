package directory_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/incidents"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/roles"
	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// raw is the database of a world without the store, to read every table that it has, also those that this test does not know.
type raw struct {
	*sql.DB
	tables map[string][]string // columns by table
}

func (w *world) mustRaw(t *testing.T) raw {
	t.Helper()
	driver, address, schema := "sqlite", filepath.Join(w.dir, "regwarden.db"),
		`SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`
	if w.url != "" {
		driver, address, schema = "pgx", w.url, `SELECT c.relname, a.attname FROM pg_class c
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := raw{db, map[string][]string{}}
	for _, row := range r.rows(t, schema) {
		r.tables[row[0]] = append(r.tables[row[0]], row[1])
	}
	return r
}

// rows returns the rows of a query as text.
func (r raw) rows(t *testing.T, query string, args ...any) (all [][]string) {
	t.Helper()
	rows, err := r.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(columns))
		for i, v := range values {
			texts[i] = v.String
		}
		all = append(all, texts)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// ofOrgs lists the tables with an organization, by the name of its column.
func (r raw) ofOrgs() map[string]string {
	found := map[string]string{"orgs": "uid"}
	for table, columns := range r.tables {
		if slices.Contains(columns, "org_uid") {
			found[table] = "org_uid"
		}
	}
	return found
}

// uidsOf returns the uids of an organization and of everything that belongs to it.
func (r raw) uidsOf(t *testing.T, orgUID string) (uids []string) {
	t.Helper()
	for table, column := range r.ofOrgs() {
		if table == "audits" || !slices.Contains(r.tables[table], "uid") {
			continue
		}
		for _, row := range r.rows(t, "SELECT uid FROM "+table+" WHERE "+column+" = $1", orgUID) {
			uids = append(uids, row[0])
		}
	}
	return uids
}

// mentions lists the tables with a row that contains one of the texts. A server moves rows from change_queue to changes at any time: the
// queue is read first, so that a row is in one of the two.
func (r raw) mentions(t *testing.T, texts []string) (tables []string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(r.tables)) {
		for _, row := range r.rows(t, "SELECT * FROM "+table) {
			whole := strings.Join(row, "\n")
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(whole, text) }) {
				tables = append(tables, strings.Replace(table, "change_queue", "changes", 1))
				break
			}
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}

func TestDeletedOrganizationLeavesOnlyAuditRecords(t *testing.T) {
	w := mustWorld(t)
	r := w.mustRaw(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	token := w.mustFill(t, acme)
	w.mustFill(t, other)
	for table, column := range r.ofOrgs() {
		if len(r.rows(t, "SELECT * FROM "+table+" WHERE "+column+" = $1", acme.UID)) == 0 {
			t.Errorf("mustFill adds no row to %s, so this test does not test its deletion", table)
		}
	}
	browser, _, err := w.auth.Logins.LoginConsole(t.Context(), origin,
		auth.Credentials{Org: acme.Name, Email: "member@Acme.example", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.auth.Authenticator.AuthenticateConsole(t.Context(), browser); err != nil { // cached
		t.Fatal(err)
	}
	uids, othersBefore := r.uidsOf(t, acme.UID), r.mentions(t, r.uidsOf(t, other.UID))

	err = w.DeleteOrg(t.Context(), operator, origin, acme.UID, false)
	wantCode(t, err, directory.CodeOrgNotEmpty)
	if message := fmt.Sprint(err); !strings.Contains(message, "registry of Acme") || !strings.Contains(message, "member@Acme.example") ||
		strings.Contains(message, "admin@") {
		t.Errorf("the message does not name what is left: %s", message)
	}
	if err := w.DeleteOrg(t.Context(), operator, origin, acme.UID, true); err != nil {
		t.Fatal(err)
	}
	if left := r.mentions(t, uids); !slices.Equal(left, []string{"audit_batches", "audits", "changes"}) {
		t.Errorf("rows are left in %v", left)
	}
	if now := r.mentions(t, r.uidsOf(t, other.UID)); !slices.Equal(now, othersBefore) {
		t.Errorf("another organization was in %v and is in %v", othersBefore, now)
	}
	if _, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: token.Authorization}); err == nil {
		t.Error("a token of a deleted organization is valid")
	}
	if p, err := w.auth.Authenticator.AuthenticateConsole(t.Context(), browser); err == nil {
		t.Errorf("a browser is logged in as %s", p.Email)
	}
	_, err = w.auth.Sessions.Refresh(t.Context(), origin, token.Refresh)
	wantCode(t, err, fault.CodeInvalidRefreshToken)
	wantCode(t, w.DeleteOrg(t.Context(), operator, origin, acme.UID, true), fault.CodeResourceNotFound)
	w.mustOrg(t, "Acme") // the name is free
	deletion := slices.IndexFunc(w.audits(t), func(e audit.Record) bool { return e.Action == audit.OrgDelete })
	if record := w.audits(t)[deletion]; record.OrgUID != acme.UID || record.Object != acme.UID || record.Outcome != audit.Succeeded {
		t.Errorf("recorded %+v", record)
	}
}

func TestOrganizationWithAdministratorsOnlyIsDeleted(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	wantCode(t, w.DeleteOrg(t.Context(), admin, origin, acme.UID, true), fault.CodeOperationForbidden)
	if err := w.DeleteOrg(t.Context(), operator, origin, acme.UID, false); err != nil {
		t.Error(err)
	}
	if list, err := w.ListOrgs(t.Context(), operator); err != nil || len(list) != 0 {
		t.Errorf("left are %v, %v", list, err)
	}
}

// mustFill adds rows to every table with an organization, and returns tokens of the member.
func (w *world) mustFill(t *testing.T, org directory.Org) auth.Tokens {
	t.Helper()
	w.mustUser(t, org, "admin@"+org.Name+".example", auth.RoleAdmin)
	member := w.mustUser(t, org, "member@"+org.Name+".example", auth.RoleMember, "Default")
	login := auth.Credentials{Email: member.Email, Org: org.Name, Password: "wrong"}
	if _, err := w.auth.Logins.Login(t.Context(), origin, login); err == nil {
		t.Fatal("a wrong password was accepted")
	}
	login.Password = goodPassword
	tokens, err := w.auth.Logins.Login(t.Context(), origin, login)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := w.auth.APIKeys.Create(t.Context(), p, origin, auth.NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		_, errJ := tx.Sessions.ConsumeJTI(ctx,
			store.ConsumedJTI{JTI: uuid.NewString(), SessionUID: p.SessionUID, ConsumedAt: start, ExpiresAt: start.Add(time.Hour)})
		_, errK := tx.APIKeys.NoteAlert(ctx, key.UID, key.ExpiresAt, 7)
		return errors.Join(errJ, errK, tx.APIKeys.SetReminders(ctx, org.UID, store.Reminders{30, 0, 0}))
	})
	rules := directory.Trusts{Directory: w.Directory}
	if _, err := rules.Create(t.Context(), w.operatorOf(t, org.Name), origin, directory.NewTrust{Name: "pipeline", Audience: "audience",
		Issuer: "https://issuer.example.com", Claims: trustrule.Conditions{"sub": "subject"}}); err != nil {
		t.Fatal(err)
	}
	w.mustFillProvider(t, org, member.Email)
	name, role := "team", auth.Role("viewer")
	teams := directory.Teams{Directory: w.Directory}
	if _, err := teams.Create(t.Context(), w.operatorOf(t, org.Name), origin, directory.TeamChange{Name: &name, Role: &role,
		Users: &[]string{member.Email}, Projects: &[]directory.ProjectRole{{Project: directory.DefaultProject}}}); err != nil {
		t.Fatal(err)
	}
	w.mustFillProvisioned(t, org, member.UserUID)
	invited := directory.Invitations{Directory: w.Directory}
	if _, err := invited.Invite(t.Context(), w.operatorOf(t, org.Name), origin, member.Email); err != nil {
		t.Fatal(err)
	}
	w.mustFillRegistry(t, org)
	w.mustFillAlerts(t, org, member)
	later := func() time.Time { return time.Now().Add(time.Hour) }
	if err := auditchain.NewLinker(w.db, slog.New(slog.DiscardHandler), later).Link(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tokens
}

func (w *world) mustFillProvider(t *testing.T, org directory.Org, member string) {
	t.Helper()
	providers := directory.Providers{Directory: w.Directory}
	of := w.operatorOf(t, org.Name)
	if err := errors.Join(providers.Set(t.Context(), of, origin, directory.Provider{Issuer: "https://login.example.com",
		Settings: identities.Settings{ClientID: "client"}}),
		providers.Link(t.Context(), of, origin, member, "subject")); err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		user, err := tx.Users.ByEmail(ctx, org.UID, strings.ToLower(member))
		if err != nil {
			return err
		}
		_, err = tx.Factors.Put(ctx, secondfactors.Factor{UserUID: user.UID, OrgUID: org.UID, Secret: "secret", CreatedAt: start})
		return errors.Join(err, tx.Factors.PutCodes(ctx, user.UID, [][]byte{{1}}), tx.Factors.InsertPending(ctx, secondfactors.Pending{
			Hash: []byte(user.UID), OrgUID: org.UID, UserUID: user.UID, Password: []byte{1}, ExpiresAt: start}))
	})
}

// mustFillProvisioned has a user and a team of the identity provider.
func (w *world) mustFillProvisioned(t *testing.T, org directory.Org, member string) {
	t.Helper()
	team := teams.Team{UID: uuid.NewString(), OrgUID: org.UID, Name: "provisioned", CreatedAt: start}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.SCIM.PutUser(ctx, org.UID, member, "00u1", true), tx.Teams.Insert(ctx, team),
			tx.SCIM.PutTeam(ctx, org.UID, team.UID, "00g1"))
	})
}

func (w *world) mustFillRegistry(t *testing.T, org directory.Org) {
	t.Helper()
	registry := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: "registry of " + org.Name, Canonical: "registry", Version: 1,
		CreatedAt: start, UpdatedAt: start,
		SyncSupported: true, Secrets: store.RegistrySecrets{Password: "password"}}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Insert(ctx, registry), tx.Watch.Schedule(ctx, org.UID, registry.UID, start),
			tx.Syncs.Schedule(ctx, org.UID, registry.UID, start),
			tx.Origins.Set(ctx, org.UID, registry.UID, store.Origin{Object: "cluster/ns/Secret/" + org.Name, Entry: "a"}),
			tx.Mutes.Note(ctx, org.UID, registry.UID, "state"),
			tx.Settings.Put(ctx, org.UID, "saml", "setting"),
			tx.Roles.Insert(ctx, roles.Role{UID: uuid.NewString(), OrgUID: org.UID, Name: "role", Canonical: "role", CreatedAt: start}),
			tx.Mutes.Insert(ctx, mutes.Mute{UID: uuid.NewString(), OrgUID: org.UID, From: start, Until: start.Add(time.Hour),
				CreatedAt: start}), fillIncident(ctx, tx, org, registry.UID))
	})
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Identities.UseOnce(ctx, org.UID, []byte("hash"), start, start.Add(time.Minute))
		return err
	})
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Origins.Hold(ctx, org.UID, "cluster", "owner", start, start.Add(time.Minute))
		return err
	})
	share := []store.Share{{OrgUID: org.UID, Count: 1}}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		watched, err := tx.Watch.Claim(ctx, "owner", start, start.Add(time.Minute), share)
		if err != nil || len(watched) != 1 {
			return errors.Join(err, errors.New("no check was due"))
		}
		run := watched[0]
		run.LastAt = start
		if err := tx.Watch.End(ctx, run, 1, store.HealthPeriod{Counted: true, Result: store.HealthResult{Valid: true}}); err != nil {
			return err
		}
		syncs, err := tx.Syncs.Claim(ctx, "owner", start, start.Add(time.Minute), share)
		if err != nil || len(syncs) != 1 {
			return errors.Join(err, errors.New("no synchronization was due"))
		}
		return tx.Contents.Add(ctx, syncs[0], []store.RegistryContent{{Repository: "a", Tag: "1"}, {Repository: "b", Tag: "1"}})
	})
}

// fillIncident stores an incident of a registry for a channel of its own.
func fillIncident(ctx context.Context, tx *store.Tx, org directory.Org, registry string) error {
	projects, _, err := tx.Projects.List(ctx, org.UID, store.Project{})
	if err != nil {
		return err
	}
	channel := store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: projects[0].UID, Component: "RegistryHealth",
		Type:      "email",
		CreatedAt: start}
	alert := store.Alert{UID: uuid.NewString(), OrgUID: org.UID, Component: channel.Component, At: start, Body: []byte("{}")}
	return errors.Join(tx.Channels.Insert(ctx, channel), tx.Outbox.Store(ctx, alert), tx.Incidents.Put(ctx,
		incidents.Incident{ChannelUID: channel.UID, RegistryUID: registry, OrgUID: org.UID, AlertUID: alert.UID, DueAt: start}))
}

func (w *world) mustFillAlerts(t *testing.T, org directory.Org, member auth.Principal) {
	t.Helper()
	projects, _, err := w.ListProjects(t.Context(), member, directory.Project{})
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		channel := store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: projects[0].UID, Component: "RegistryHealth",
			Type: "http", Active: true,
			HTTP: store.ChannelHTTP{URL: "https://hooks.example.com/secret"}, CreatedAt: start}
		alert := store.Alert{UID: uuid.NewString(), OrgUID: org.UID, Component: channel.Component, At: start, Body: []byte("{}")}
		if err := errors.Join(tx.Channels.Insert(ctx, channel), tx.Outbox.Store(ctx, alert),
			tx.Outbox.Enqueue(ctx, alert, channel.UID, start)); err != nil {
			return err
		}
		_, err := tx.Addresses.Request(ctx,
			store.AlertAddress{OrgUID: org.UID, Address: "a@example.com", RequestedAt: start}, []byte(org.UID))
		if err != nil {
			return err
		}
		for _, holder := range []string{member.UserUID, store.ContactsOf + member.UserUID, store.MailsOf + org.UID,
			store.LinksOf + org.UID} {
			if _, _, err := tx.Allowances.Reserve(ctx, holder, 1, time.Minute, 0, start); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) mustWrite(t *testing.T, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := w.db.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}
