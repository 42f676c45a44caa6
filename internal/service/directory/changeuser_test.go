package directory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func TestRolesAreChangedByOthers(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	outsider := w.mustUser(t, other, "member@acme.example", auth.RoleMember)

	for _, named := range []string{member.UserUID, "MEMBER@acme.example "} {
		for _, role := range []auth.Role{auth.RoleAdmin, auth.RoleMember} {
			if err := w.SetRole(t.Context(), admin, origin, named, role, true); err != nil {
				t.Fatal(err)
			}
			if user, err := w.User(t.Context(), admin, named); err != nil || user.Role != role {
				t.Errorf("%s is %s, %v; want %s", named, user.Role, err, role)
			}
		}
	}
	wantFields(t, w.SetRole(t.Context(), admin, origin, member.UserUID, "operator", true), "role")
	wantCode(t, w.SetRole(t.Context(), admin, origin, admin.UserUID, auth.RoleMember, true), fault.CodeOperationForbidden)
	wantCode(t, w.SetRole(t.Context(), member, origin, member.UserUID, auth.RoleAdmin, true), fault.CodeOperationForbidden)
	foreign := w.SetRole(t.Context(), admin, origin, outsider.UserUID, auth.RoleAdmin, true)
	unknown := w.SetRole(t.Context(), admin, origin, "unknown", auth.RoleAdmin, true)
	wantCode(t, foreign, fault.CodeResourceNotFound)
	if foreign.Error() != unknown.Error() {
		t.Errorf("another organization's user is confirmed: %v, %v", foreign, unknown)
	}
	wantFields(t, w.SetRole(t.Context(), operator, origin, member.UserUID, auth.RoleAdmin, true), "org")
	if err := w.SetRole(t.Context(), w.operatorOf(t, "acme"), origin, admin.UserUID,
		auth.RoleMember, true); err != nil {
		t.Error(err)
	}
	refused := true
	for _, by := range []auth.Principal{member, admin} { // by permission, and because it was its own role
		refused = refused && slices.ContainsFunc(w.audits(t), func(e audit.Record) bool {
			return e.Action == audit.UserRole && e.Outcome == audit.Refused && e.ActorUID == by.UserUID && e.Object == by.UserUID
		})
	}
	changed := slices.ContainsFunc(w.audits(t), func(e audit.Record) bool {
		return e.Action == audit.UserRole && e.Outcome == audit.Succeeded && e.Object == member.UserUID && e.OrgUID == acme.UID
	})
	if !refused || !changed {
		t.Errorf("recorded: the change %t, the refusal %t", changed, refused)
	}
}

func TestProjectsOfAUser(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin),
		w.mustUser(t, acme, "member@acme.example", auth.RoleMember, "Default")
	blue, err := w.CreateProject(t.Context(), admin, origin, directory.NewProject{Name: "Blue"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ input, want []string }{
		{[]string{blue.UID, "default", "Blue"}, []string{"Blue", "Default"}}, {[]string{"blue"}, []string{"Blue"}}, {nil, nil},
	} {
		if err := w.SetProjects(t.Context(), admin, origin, member.UserUID, directory.Members(row.input)); err != nil {
			t.Fatal(err)
		}
		user, err := w.User(t.Context(), member, member.UserUID)
		if err != nil || !slices.Equal(names(user.Projects), row.want) {
			t.Errorf("set %q, got %q, %v", row.input, names(user.Projects), err)
		}
	}
	wantFields(t, w.SetProjects(t.Context(), admin, origin, member.UserUID, directory.Members([]string{"Blue", "x", "y"})),
		"projects[1]", "projects[2]")
	wantFields(t, w.SetProjects(t.Context(), admin, origin, member.UserUID, []directory.ProjectRole{
		{Project: "Blue", Role: access.Viewer}, {Project: blue.UID, Role: auth.RoleMember}}), "projects[1]")
	if user, err := w.User(t.Context(), admin, member.UserUID); err != nil || len(user.Projects) != 0 {
		t.Errorf("half a change was stored: %q, %v", names(user.Projects), err)
	}
	wantCode(t, w.SetProjects(t.Context(), member, origin, member.UserUID, directory.Members([]string{"Blue"})),
		fault.CodeOperationForbidden)
	_, err = w.User(t.Context(), member, admin.UserUID)
	wantCode(t, err, fault.CodeOperationForbidden)
	_, err = w.User(t.Context(), member, "unknown")
	wantCode(t, err, fault.CodeOperationForbidden)
}

// A user whose role is taken away sees only its projects, if it has roles there.
func TestRoleIsTakenFromAUserOfProjects(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	for inProject, want := range map[auth.Role]auth.Role{access.RegistryEditor: access.None, auth.RoleMember: auth.RoleMember} {
		user := w.mustUser(t, acme, string(inProject)+"@acme.example", access.Viewer)
		given := []directory.ProjectRole{{Project: directory.DefaultProject, Role: inProject}}
		if err := errors.Join(w.SetProjects(t.Context(), admin, origin, user.UserUID, given),
			w.SetRole(t.Context(), admin, origin, user.UserUID, auth.RoleMember, false)); err != nil {
			t.Fatal(err)
		}
		if got, err := w.User(t.Context(), admin, user.UserUID); err != nil || got.Role != want {
			t.Errorf("%s in a project: the user is %s, %v; want %s", inProject, got.Role, err, want)
		}
	}
}

func TestUserIsChangedAndDeleted(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	outsider := w.mustUser(t, other, "admin@other.example", auth.RoleAdmin)
	update := func(p auth.Principal, user, email, name string) error {
		return w.UpdateUser(t.Context(), p, origin, user,
			directory.UserChange{Email: email, PersonName: directory.PersonName{Name: name}})
	}
	remove := func(p auth.Principal, user string) error { return w.DeleteUser(t.Context(), p, origin, user) }

	wantFields(t, update(admin, member.UserUID, "x", "a\nb"), "emailId", "name")
	for _, refused := range []auth.Principal{member, {}} {
		wantCode(t, update(refused, member.UserUID, "", "me"), fault.CodeOperationForbidden)
		wantCode(t, remove(refused, member.UserUID), fault.CodeOperationForbidden)
	}
	for _, missing := range []struct {
		by   auth.Principal
		user string
	}{{outsider, member.UserUID}, {outsider, "member@acme.example"}, {admin, "unknown"}} {
		wantCode(t, update(missing.by, missing.user, "", "x"), fault.CodeResourceNotFound)
		wantCode(t, remove(missing.by, missing.user), fault.CodeResourceNotFound)
	}
	wantCode(t, update(admin, member.UserUID, " ADMIN@acme.example", "x"), directory.CodeUserExists)
	if err := update(admin, member.Email, " mate@acme.example", "Mate"); err != nil {
		t.Fatal(err)
	}
	if found, err := w.FindUser(t.Context(), admin, "MATE@acme.example"); err != nil || len(found) != 1 ||
		found[0].UID != member.UserUID || found[0].Name != "Mate" {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err := w.FindUser(t.Context(), outsider, "mate@acme.example"); err != nil || len(found) != 0 {
		t.Errorf("an outsider found %+v, %v", found, err)
	}
	_, err := w.FindUser(t.Context(), member, "mate@acme.example")
	wantCode(t, err, fault.CodeOperationForbidden)
	if err := remove(admin, "mate@acme.example"); err != nil {
		t.Fatal(err)
	}
	again := w.mustUser(t, acme, "mate@acme.example", auth.RoleMember)
	if user, err := w.User(t.Context(), admin, "mate@acme.example"); err != nil || user.UID == member.UserUID ||
		user.UID != again.UserUID || len(user.Projects) != 0 {
		t.Errorf("the new user of that email is %+v, %v", user, err)
	}
	for _, action := range []audit.Action{audit.UserUpdate, audit.UserDelete} {
		var outcomes []audit.Outcome
		for _, e := range w.audits(t) {
			if e.Action == action && e.OrgUID == acme.UID && e.Object == member.UserUID {
				outcomes = append(outcomes, e.Outcome)
			}
		}
		slices.Sort(outcomes)
		if !slices.Equal(outcomes, []audit.Outcome{audit.Refused, audit.Succeeded}) {
			t.Errorf("%s is recorded as %v", action, outcomes)
		}
	}
}

// An organization always has an administrator who can log in, whatever change would remove the last one.
func TestLastAdministratorStays(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	machine, err := w.CreateUser(t.Context(), admin, origin,
		directory.NewUser{Email: "ci@acme.example", WithoutPassword: true, Role: auth.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	byMachine := auth.Principal{UserUID: machine.UID, OrgUID: acme.UID, OrgName: acme.Name, Email: machine.Email, Role: auth.RoleAdmin,
		Method: audit.MethodAPIKey}
	for name, last := range map[string]func() error{
		"delete oneself": func() error { return w.DeleteUser(t.Context(), admin, origin, admin.UserUID) },
		"delete":         func() error { return w.DeleteUser(t.Context(), byMachine, origin, admin.UserUID) },
		"demote": func() error {
			return w.SetRole(t.Context(), byMachine, origin, admin.UserUID, auth.RoleMember, true)
		},
		"disable": func() error { return w.DisableUser(t.Context(), byMachine, origin, admin.UserUID) },
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, last(), directory.CodeLastAdmin) })
	}
	second := w.mustUser(t, acme, "second@acme.example", auth.RoleAdmin)
	for _, done := range []error{
		w.DeleteUser(t.Context(), admin, origin, admin.UserUID), // not the last administrator
		w.DeleteUser(t.Context(), second, origin, machine.UID),
	} {
		if done != nil {
			t.Error(done)
		}
	}
	if users, _, err := w.ListUsers(t.Context(), second, directory.User{}); err != nil || len(users) != 1 {
		t.Errorf("left are %+v, %v", users, err)
	}
}

// Administrators who log in by an identity provider have no password. Of these too, the last one stays.
func TestLastAdministratorWithoutPasswordStays(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	var admins []auth.Principal
	for _, email := range []string{"ada@acme.example", "ben@acme.example"} {
		user, err := w.CreateUser(t.Context(), w.operatorOf(t, "Acme"), origin,
			directory.NewUser{Email: email, WithoutPassword: true, Role: auth.RoleAdmin})
		if err != nil {
			t.Fatal(err)
		}
		admins = append(admins, auth.Principal{UserUID: user.UID, OrgUID: acme.UID, Email: email, Role: auth.RoleAdmin})
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error { // of a trust rule: not a person
		return tx.Users.Insert(ctx, store.User{UID: "workload", OrgUID: acme.UID, Email: "w@acme.example", Canonical: "w@acme.example",
			Role: "admin", Workload: true, PasswordChangedAt: start, CreatedAt: start})
	})
	if err := w.DisableUser(t.Context(), admins[1], origin, admins[0].UserUID); err != nil {
		t.Error(err)
	}
	wantCode(t, w.DeleteUser(t.Context(), admins[1], origin, admins[1].UserUID), directory.CodeLastAdmin)
}

const otherPassword = "seven green herons in fog"

// TestAdministrationOfUsers disables, enables and sets passwords with each role, on each kind of user.
func TestAdministrationOfUsers(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	member := w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	outsider := w.mustUser(t, other, "admin@other.example", auth.RoleAdmin)
	for action, do := range map[audit.Action]func(p auth.Principal, user string) error{
		audit.UserDisable: func(p auth.Principal, user string) error {
			return w.DisableUser(t.Context(), p, origin, user)
		},
		audit.UserEnable: func(p auth.Principal, user string) error {
			return w.EnableUser(t.Context(), p, origin, user)
		},
		audit.PasswordSet: func(p auth.Principal, user string) error {
			return w.SetPassword(t.Context(), p, origin, user, otherPassword)
		},
	} {
		t.Run(string(action), func(t *testing.T) {
			for _, refused := range []struct {
				by   auth.Principal
				user string
			}{{member, admin.UserUID}, {member, member.UserUID}, {admin, admin.UserUID}, {admin, "ADMIN@acme.example"}} {
				wantCode(t, do(refused.by, refused.user), fault.CodeOperationForbidden)
			}
			wantCode(t, do(outsider, member.UserUID), fault.CodeResourceNotFound)
			wantCode(t, do(admin, outsider.UserUID), fault.CodeResourceNotFound)
			wantCode(t, do(w.operatorOf(t, "Acme"), "unknown@example.com"), fault.CodeResourceNotFound)
			wantFields(t, do(operator, member.Email), "org")
			for range 2 { // repeating the change has no effect
				if err := do(admin, " MEMBER@acme.example"); err != nil {
					t.Error(err)
				}
			}
			if err := do(w.operatorOf(t, "Acme"), member.UserUID); err != nil {
				t.Error(err)
			}
			got := map[string]int{}
			for _, e := range w.audits(t) {
				if e.Action == action && e.OrgUID == acme.UID {
					got[string(e.Outcome)+" "+e.ActorName]++
					if e.Outcome == audit.Succeeded && e.Object != member.UserUID {
						t.Errorf("recorded %+v", e)
					}
				}
			}
			want := map[string]int{"refused member@acme.example": 1, "refused admin@acme.example": 1,
				"succeeded admin@acme.example": 2, "succeeded operator": 1}
			if diff := cmp.Diff(want, got); diff != "" { // refusals within a minute share a record
				t.Errorf("records:\n%s", diff)
			}
		})
	}
	wantFields(t, w.SetPassword(t.Context(), admin, origin, member.UserUID, secret.String(member.Email)), "password")
}

// A password set by an administrator ends the sessions of the user and the wait after failed logins. Disabling ends
// sessions.
func TestAdministrationEndsSessions(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	member := w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	login := func(password secret.String) (auth.Tokens, error) {
		return w.auth.Logins.Login(t.Context(), audit.Origin{Address: "192.0.2.1"},
			auth.Credentials{Email: member.Email, Org: acme.Name, Password: password})
	}
	tokens, err := login(goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	use := func() error {
		_, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
		return err
	}
	for range 5 {
		_, err := login("wrong")
		wantCode(t, err, fault.CodeAuthenticationFailed)
	}
	_, err = login(goodPassword)
	wantCode(t, err, fault.CodeTooManyRequests)
	if err := errors.Join(use(), w.SetPassword(t.Context(), admin, origin, member.UserUID, otherPassword)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, use(), fault.CodeUnauthorizedAccess)
	if tokens, err = login(otherPassword); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(use(), w.DisableUser(t.Context(), admin, origin, member.UserUID)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, use(), fault.CodeUnauthorizedAccess)
	_, err = login(otherPassword)
	wantCode(t, err, fault.CodeAuthenticationFailed)
	if err := w.EnableUser(t.Context(), admin, origin, member.UserUID); err != nil {
		t.Fatal(err)
	}
	if _, err := login(otherPassword); err != nil {
		t.Error(err)
	}
}
