package directory_test

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

func ref(user string) directory.UserRef { return directory.UserRef{User: user} }

func TestRolesAreChangedByOthers(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	stranger := w.mustUser(t, other, "member@acme.example", auth.RoleMember)

	for _, named := range []string{member.UserUID, "MEMBER@acme.example "} {
		for _, role := range []auth.Role{auth.RoleAdmin, auth.RoleMember} {
			if err := w.SetRole(t.Context(), origin, admin, ref(named), role); err != nil {
				t.Fatal(err)
			}
			if user, err := w.User(t.Context(), admin, ref(named)); err != nil || user.Role != role {
				t.Errorf("%s is %s, %v; want %s", named, user.Role, err, role)
			}
		}
	}
	wantFields(t, w.SetRole(t.Context(), origin, admin, ref(member.UserUID), "operator"), "role")
	wantCode(t, w.SetRole(t.Context(), origin, admin, ref(admin.UserUID), auth.RoleMember), fault.CodeOperationForbidden)
	wantCode(t, w.SetRole(t.Context(), origin, member, ref(member.UserUID), auth.RoleAdmin), fault.CodeOperationForbidden)
	foreign := w.SetRole(t.Context(), origin, admin, ref(stranger.UserUID), auth.RoleAdmin)
	unknown := w.SetRole(t.Context(), origin, admin, ref("nobody"), auth.RoleAdmin)
	wantCode(t, foreign, fault.CodeResourceNotFound)
	if foreign.Error() != unknown.Error() {
		t.Errorf("another organization's user is confirmed: %v, %v", foreign, unknown)
	}
	wantFields(t, w.SetRole(t.Context(), origin, operator, ref(member.UserUID), auth.RoleAdmin), "org")
	if err := w.SetRole(t.Context(), origin, operator, directory.UserRef{Org: "acme", User: admin.UserUID}, auth.RoleMember); err != nil {
		t.Error(err)
	}
	refused := slices.ContainsFunc(w.audits(t), func(e audit.Event) bool {
		return e.Action == audit.UserRole && e.Outcome == audit.Refused && e.ActorUID == member.UserUID
	})
	changed := slices.ContainsFunc(w.audits(t), func(e audit.Event) bool {
		return e.Action == audit.UserRole && e.Outcome == audit.Succeeded && e.Object == member.UserUID && e.OrgUID == acme.UID
	})
	if !refused || !changed {
		t.Errorf("on record: the change %t, the refusal %t", changed, refused)
	}
}

func TestProjectsOfAUser(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember, "Default")
	blue, err := w.CreateProject(t.Context(), origin, admin, directory.NewProject{Name: "Blue"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ ask, want []string }{
		{[]string{blue.UID, "default", "Blue"}, []string{"Blue", "Default"}}, {[]string{"blue"}, []string{"Blue"}}, {nil, nil},
	} {
		if err := w.SetProjects(t.Context(), origin, admin, ref(member.UserUID), row.ask); err != nil {
			t.Fatal(err)
		}
		user, err := w.User(t.Context(), member, ref(member.UserUID))
		if err != nil || !slices.Equal(names(user.Projects), row.want) {
			t.Errorf("asked for %q, has %q, %v", row.ask, names(user.Projects), err)
		}
	}
	wantFields(t, w.SetProjects(t.Context(), origin, admin, ref(member.UserUID), []string{"Blue", "x", "y"}), "projects[1]", "projects[2]")
	if user, err := w.User(t.Context(), admin, ref(member.UserUID)); err != nil || len(user.Projects) != 0 {
		t.Errorf("half a change was kept: %q, %v", names(user.Projects), err)
	}
	wantCode(t, w.SetProjects(t.Context(), origin, member, ref(member.UserUID), []string{"Blue"}), fault.CodeOperationForbidden)
	_, err = w.User(t.Context(), member, ref(admin.UserUID))
	wantCode(t, err, fault.CodeOperationForbidden)
	_, err = w.User(t.Context(), member, ref("nobody"))
	wantCode(t, err, fault.CodeOperationForbidden)
}
