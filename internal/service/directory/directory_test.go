package directory_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/hashing/hashingtest"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

// server is the PostgreSQL server of these tests, nil for SQLite.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Twice{Tests: m, Begin: func(s *postgrestest.Server) { server = s }})
}

const goodPassword = "nine purple ducks on ice"

var (
	start    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	origin   = audit.Origin{RequestID: "ref-1", Address: "cli"}
	operator = auth.Operator()
)

type world struct {
	*directory.Directory
	db   *store.DB
	dir  string // data directory
	url  string // database URL; empty for SQLite
	auth *auth.Service
}

func mustWorld(t *testing.T) *world {
	t.Helper()
	options := store.Options{Timeout: storetest.LongTimeout, DataDir: t.TempDir()}
	options.DatabaseURL = secret.String(storetest.Create(t, options.DataDir, server))
	db, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	now := func() time.Time { return start }
	service, err := auth.New(t.Context(), db, auth.Config{Now: now, LoginWait: time.Minute, PollTime: time.Minute,
		ComputeHash: hashingtest.Compute})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Directory: directory.New(db, service.Passwords, now), db: db, dir: options.DataDir,
		url: options.DatabaseURL.Reveal(), auth: service}
}

// operatorOf returns the operator for an organization.
func (w *world) operatorOf(t *testing.T, org string) auth.Principal {
	t.Helper()
	p, err := auth.OperatorOf(t.Context(), w.db, org)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) mustOrg(t *testing.T, name string) directory.Org {
	t.Helper()
	org, err := w.CreateOrg(t.Context(), operator, origin, name)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// mustUser creates a user and returns it as a principal.
func (w *world) mustUser(t *testing.T, org directory.Org, email string, role auth.Role, projects ...string) auth.Principal {
	t.Helper()
	user, err := w.CreateUser(t.Context(), w.operatorOf(t, org.Name), origin,
		directory.NewUser{Email: email, Password: goodPassword, Role: role, Projects: directory.Members(projects)})
	if err != nil {
		t.Fatal(err)
	}
	return auth.Principal{UserUID: user.UID, OrgUID: org.UID, OrgName: org.Name, Email: email, Role: role, Method: audit.MethodToken}
}

func (w *world) audits(t *testing.T) (records []audit.Record) {
	t.Helper()
	if err := w.db.View(t.Context(), func(tx *store.Tx) (err error) {
		records, err = tx.Audits.List(t.Context(), audits.Filter{}, 100)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return records
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func wantFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	wantCode(t, err, fault.CodeInvalidRequest)
	f, _ := errors.AsType[*fault.Error](err)
	var got []string
	for _, field := range f.Fields {
		got = append(got, field.Field)
	}
	if !slices.Equal(got, fields) {
		t.Errorf("fields %v, want %v", f.Fields, fields)
	}
}

func names(projects []directory.Project) (list []string) {
	for _, project := range projects {
		list = append(list, project.Name)
	}
	return list
}

func TestBootstrapOnce(t *testing.T) {
	w := mustWorld(t)
	if empty, err := w.Empty(t.Context()); !empty || err != nil {
		t.Errorf("a new store: %v, %v", empty, err)
	}
	err := w.Bootstrap(t.Context(), origin, "", "unknown", "short")
	wantFields(t, err, "org", "emailId", "password")

	var created atomic.Int64
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if err := w.Bootstrap(t.Context(), origin, "Acme", "root@acme.example", goodPassword); err != nil {
				wantCode(t, err, directory.CodeNotEmpty)
				return
			}
			created.Add(1)
		})
	}
	wait.Wait()
	if empty, err := w.Empty(t.Context()); created.Load() != 1 || empty || err != nil {
		t.Errorf("created %d, empty %v, %v", created.Load(), empty, err)
	}
	tokens, err := w.auth.Logins.Login(t.Context(), origin,
		auth.Credentials{Email: "ROOT@acme.example", Org: "acme", Password: goodPassword})
	if err != nil || tokens.Authorization == "" {
		t.Error(err)
	}
	root, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if err != nil || root.OrgName != "Acme" || root.Role != auth.RoleAdmin {
		t.Errorf("%+v, %v", root, err)
	}
	if projects, _, err := w.ListProjects(t.Context(), root, directory.Project{}); !slices.Equal(names(projects), []string{"Default"}) {
		t.Errorf("%+v, %v", projects, err)
	}
	var actions []string
	for _, e := range w.audits(t) {
		actions = append(actions, string(e.Action))
		if e.Outcome != audit.Succeeded || e.OrgUID == "" || e.Object == "" {
			t.Errorf("audit record: %+v", e)
		}
	}
	slices.Sort(actions)
	if !slices.Equal(actions, []string{"auth.login", "org.create", "project.create", "user.create"}) {
		t.Errorf("recorded: %v", actions)
	}
}

func TestNamesAreUniqueInEverySpelling(t *testing.T) {
	w := mustWorld(t)
	org := w.mustOrg(t, "Straße")
	w.mustUser(t, org, "ada@example.com", auth.RoleMember)
	_, err := w.CreateOrg(t.Context(), operator, origin, " STRASSE ")
	wantCode(t, err, directory.CodeOrgExists)
	_, err = w.CreateProject(t.Context(), w.operatorOf(t, "straße"), origin, directory.NewProject{Name: "DEFAULT"})
	wantCode(t, err, directory.CodeProjectExists)
	_, err = w.CreateUser(t.Context(), w.operatorOf(t, "strasse"), origin,
		directory.NewUser{Email: "ADA@example.com", Password: goodPassword})
	wantCode(t, err, directory.CodeUserExists)
	other := w.mustOrg(t, "Other")
	w.mustUser(t, other, "ada@example.com", auth.RoleMember) // the same email in another organization is another user
	if n := len(w.audits(t)); n != 4 {
		t.Errorf("%d records: a change without a record, or a record without a change", n)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	w := mustWorld(t)
	w.mustOrg(t, "Acme")
	_, err := w.CreateOrg(t.Context(), operator, origin, "\u202eemcA")
	wantFields(t, err, "name")
	_, err = w.CreateProject(t.Context(), w.operatorOf(t, "Acme"), origin, directory.NewProject{Name: " "})
	wantFields(t, err, "name")
	_, err = w.CreateUser(t.Context(), w.operatorOf(t, "Acme"), origin, directory.NewUser{Email: "a", Password: "b", Role: "operator"})
	wantFields(t, err, "emailId", "password", "role")
	_, err = w.CreateUser(t.Context(), w.operatorOf(t, "Acme"), origin,
		directory.NewUser{Email: "a@b", Password: goodPassword, Projects: directory.Members([]string{"x", "Default", "y"})})
	wantFields(t, err, "projects[0]", "projects[2]")
	w.mustOrg(t, "Other") // of the only one, an operator need not give the name
	_, err = w.CreateUser(t.Context(), operator, origin, directory.NewUser{Email: "a@b", Password: goodPassword})
	wantFields(t, err, "org")
	if users, _, err := w.ListUsers(t.Context(), w.operatorOf(t, "Acme"), directory.User{}); len(users) != 0 || err != nil {
		t.Errorf("a failed creation left a user: %v, %v", users, err)
	}
}

func TestProjectsAreVisibleToMembersAndAdministratorsOnly(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	for _, name := range []string{"Blue", "Red"} {
		if _, err := w.CreateProject(t.Context(), w.operatorOf(t, "Acme"), origin, directory.NewProject{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	member := w.mustUser(t, acme, "member@acme.example", auth.RoleMember, "blue", "Default")
	guest := w.mustUser(t, acme, "guest@acme.example", auth.RoleMember)
	outsider := w.mustUser(t, other, "admin@other.example", auth.RoleAdmin)

	all, _, err := w.ListProjects(t.Context(), admin, directory.Project{})
	if err != nil {
		t.Fatal(err)
	}
	sees := map[string]struct {
		who  auth.Principal
		want []string
	}{
		"admin": {admin, []string{"Blue", "Default", "Red"}}, "member": {member, []string{"Blue", "Default"}}, "guest": {guest, nil},
		"outsider": {outsider, []string{"Default"}},
	}
	for name, row := range sees {
		list, _, err := w.ListProjects(t.Context(), row.who, directory.Project{})
		if !slices.Equal(names(list), row.want) || err != nil {
			t.Errorf("%s sees %v, %v", name, names(list), err)
		}
		for _, project := range all {
			found, err := w.Project(t.Context(), row.who, project.UID)
			if visible := name != "outsider" && slices.Contains(row.want, project.Name); visible {
				if diff := cmp.Diff(project, found); err != nil || diff != "" {
					t.Errorf("%s: %s: %v\n%s", name, project.Name, err, diff)
				}
				continue
			}
			wantCode(t, err, fault.CodeProjectNotFound)
		}
		_, err = w.Project(t.Context(), row.who, "unknown")
		wantCode(t, err, fault.CodeProjectNotFound)
	}
	orgs, err := w.ListOrgs(t.Context(), outsider)
	everything, errAll := w.ListOrgs(t.Context(), operator)
	if len(orgs) != 1 || orgs[0] != other || len(everything) != 2 || err != nil || errAll != nil {
		t.Errorf("organizations: %v, %v, %v, %v", orgs, everything, err, errAll)
	}
}

func TestRefusalsAreRecorded(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	member := w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	defined, own := roles.New(w.db, func() time.Time { return start }), []access.Permission{access.ChangeRoles}
	strong, err := defined.Create(t.Context(), admin, origin, roles.Input{Name: "Strong", Permissions: access.Permissions()})
	if err != nil {
		t.Fatal(err)
	}
	keeper := member // has a role of the organization
	keeper.Role = auth.Role(uuid.NewString())
	keeper.Grants = &access.Grants{Custom: access.Custom{keeper.Role: own}}
	for action, refused := range map[audit.Action]func() error{
		audit.RoleUpdate: func() error {
			return defined.Update(t.Context(), keeper, origin, strong, roles.Input{Name: "Weak", Permissions: own})
		},
		audit.OrgCreate: func() error { _, err := w.CreateOrg(t.Context(), admin, origin, "Mine"); return err },
		audit.OrgDelete: func() error { return w.DeleteOrg(t.Context(), admin, origin, acme.UID, true) },
		audit.ProjectCreate: func() error {
			_, err := w.CreateProject(t.Context(), member, origin, directory.NewProject{Name: "Mine"})
			return err
		},
		audit.UserCreate: func() error {
			_, err := w.CreateUser(t.Context(), member, origin,
				directory.NewUser{Email: "x@y", Password: goodPassword, Role: auth.RoleAdmin})
			return err
		},
	} {
		wantCode(t, refused(), fault.CodeOperationForbidden)
		found := slices.ContainsFunc(w.audits(t), func(e audit.Record) bool {
			return e.Action == action && e.Outcome == audit.Refused && e.OrgUID == acme.UID && e.ActorUID != ""
		})
		if !found {
			t.Errorf("%s: no record of the refusal", action)
		}
	}
	_, _, err = w.ListUsers(t.Context(), member, directory.User{})
	wantCode(t, err, fault.CodeOperationForbidden)
	user, err := w.CreateUser(t.Context(), admin, origin,
		directory.NewUser{Email: "new@acme.example", Password: goodPassword, Projects: directory.Members([]string{"Default"})})
	if err != nil || user.Role != auth.RoleMember || user.OrgUID != acme.UID {
		t.Errorf("created %+v, %v", user, err)
	}
	users, _, err := w.ListUsers(t.Context(), w.operatorOf(t, "acme"), directory.User{})
	if len(users) != 3 || err != nil {
		t.Errorf("%v, %v", users, err)
	}
}

func TestNewPasswordMustNotBeAName(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme Incorporated")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	for _, password := range []string{"member@acme.example", "ACME INCORPORATED", "regwardenregwarden"} {
		_, err := w.CreateUser(t.Context(), admin, origin,
			directory.NewUser{Email: "member@acme.example", Password: secret.String(password)})
		wantFields(t, err, "password")
		if strings.Contains(err.Error(), password) {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
}
