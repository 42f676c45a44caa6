package directory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// TestConcurrentSetProjects sets a user's projects twice at once: the user has those of one call, never both.
func TestConcurrentSetProjects(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	for _, name := range []string{"red", "blue"} {
		if _, err := w.CreateProject(t.Context(), admin, origin, directory.NewProject{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	set := func(name string) func() error {
		return func() error {
			return w.SetProjects(t.Context(), admin, origin, member.UserUID, directory.Members([]string{name}))
		}
	}
	postgrestest.Concurrently(t, w.url, "SELECT 1 FROM users FOR UPDATE", set("red"), set("blue"), set("red"))
	user, err := w.User(t.Context(), admin, member.UserUID)
	if err != nil || len(user.Projects) != 1 {
		t.Errorf("in %v, %v", names(user.Projects), err)
	}
}

// TestProjectDeletedWhileAMemberIsAdded runs both concurrently, in either order: the membership is never lost silently.
func TestProjectDeletedWhileAMemberIsAdded(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	for _, deletionFirst := range []bool{true, false} {
		project, err := w.CreateProject(t.Context(), admin, origin, directory.NewProject{Name: "Blue"})
		if err != nil {
			t.Fatal(err)
		}
		var added, deleted error
		add := func() error {
			added = w.SetProjects(t.Context(), admin, origin, member.UserUID, directory.Members([]string{project.UID}))
			return nil
		}
		remove := func() error { deleted = w.DeleteProject(t.Context(), admin, origin, project.UID, false); return nil }
		changes := []func() error{add, remove}
		if deletionFirst {
			changes = []func() error{remove, add}
		}
		postgrestest.Concurrently(t, w.url, "SELECT 1 FROM projects FOR UPDATE", changes...)
		if deleted == nil {
			wantCode(t, added, fault.CodeInvalidRequest)
		} else {
			wantCode(t, deleted, directory.CodeProjectNotEmpty)
			if added != nil {
				t.Error(added)
			}
		}
		if w.url != "" && (deleted == nil) != deletionFirst {
			t.Errorf("deletion first %t: added: %v; deleted: %v", deletionFirst, added, deleted)
		}
		if err := w.SetProjects(t.Context(), admin, origin, member.UserUID, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.DeleteProject(t.Context(), admin, origin, project.UID, false); deleted != nil && err != nil {
			t.Error(err)
		}
	}
}

// TestAdministratorsRemoveEachOther removes two administrators concurrently, in two ways each: one of them stays.
func TestAdministratorsRemoveEachOther(t *testing.T) {
	w := mustWorld(t)
	ways := []func(by, of auth.Principal) error{
		func(by, of auth.Principal) error { return w.DeleteUser(t.Context(), by, origin, of.UserUID) },
		func(by, of auth.Principal) error {
			return w.SetRole(t.Context(), by, origin, of.UserUID, auth.RoleMember, true)
		},
		func(by, of auth.Principal) error { return w.DisableUser(t.Context(), by, origin, of.UserUID) },
	}
	for i, oneWay := range ways {
		for j, otherWay := range ways[:i+1] {
			org := w.mustOrg(t, fmt.Sprint("Acme ", i, j))
			one, other := w.mustUser(t, org, "one@acme.example", auth.RoleAdmin), w.mustUser(t, org, "other@acme.example", auth.RoleAdmin)
			var errs [2]error
			postgrestest.Concurrently(t, w.url, "SELECT 1 FROM orgs FOR UPDATE",
				func() error { errs[0] = oneWay(one, other); return nil },
				func() error { errs[1] = otherWay(other, one); return nil })
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("%d, %d: %v", i, j, errs)
				continue
			}
			wantCode(t, errors.Join(errs[0], errs[1]), directory.CodeLastAdmin)
		}
	}
}

// TestOrganizationDeletedWhileAUserIsAdded runs both concurrently, in either order: a user is never deleted without cascade.
func TestOrganizationDeletedWhileAUserIsAdded(t *testing.T) {
	w := mustWorld(t)
	for _, deletionFirst := range []bool{true, false} {
		org := w.mustOrg(t, fmt.Sprint("Acme ", deletionFirst))
		var added, deleted error
		of := w.operatorOf(t, org.Name) // before it is deleted
		add := func() error {
			_, added = w.CreateUser(t.Context(), of, origin,
				directory.NewUser{Email: "a@acme.example", WithoutPassword: true})
			return nil
		}
		remove := func() error { deleted = w.DeleteOrg(t.Context(), operator, origin, org.UID, false); return nil }
		changes := []func() error{add, remove}
		if deletionFirst {
			changes = []func() error{remove, add}
		}
		postgrestest.Concurrently(t, w.url, "SELECT 1 FROM orgs FOR UPDATE", changes...)
		if deleted == nil {
			wantCode(t, added, fault.CodeResourceNotFound)
		} else {
			wantCode(t, deleted, directory.CodeOrgNotEmpty)
			if added != nil {
				t.Error(added)
			}
		}
		if w.url != "" && (deleted == nil) != deletionFirst {
			t.Errorf("deletion first %t: added: %v; deleted: %v", deletionFirst, added, deleted)
		}
	}
}

// TestDeletionDuringAPasswordChange sets the password of a user that is being deleted, alone and with its organization: the transactions
// take the locks of user and sessions in one order, so that none is ended for a deadlock.
func TestDeletionDuringAPasswordChange(t *testing.T) {
	w := mustWorld(t)
	for name, remove := range map[string]func(of, p auth.Principal) error{
		"User": func(of, p auth.Principal) error { return w.DeleteUser(t.Context(), of, origin, p.UserUID) },
		"Org":  func(_, p auth.Principal) error { return w.DeleteOrg(t.Context(), operator, origin, p.OrgUID, true) },
	} {
		org := w.mustOrg(t, name)
		member := w.mustUser(t, org, "member@acme.example", auth.RoleMember)
		if _, err := w.auth.Logins.Login(t.Context(), origin,
			auth.Credentials{Email: member.Email, Org: org.Name, Password: goodPassword}); err != nil {
			t.Fatal(err)
		}
		of := w.operatorOf(t, org.Name)
		change := func() error {
			err := w.SetPassword(t.Context(), of, origin, member.UserUID, "a third one, just as long")
			if fault.KindOf(err) != fault.NotFound {
				return err
			}
			return nil
		}
		postgrestest.Concurrently(t, w.url, "SELECT 1 FROM users FOR UPDATE", change, func() error { return remove(of, member) })
	}
	if server != nil {
		if n, err := server.Deadlocks(); n != 0 || err != nil {
			t.Errorf("%d deadlocks, %v", n, err)
		}
	}
}
