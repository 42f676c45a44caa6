package directory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
)

// The principal of an operator may have an organization. Calls without a name are then about it, others about the named one.
func TestOperatorOfOneOrganization(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	w.mustUser(t, acme, "a@acme.example", auth.RoleMember)
	chosen := operator
	chosen.OrgUID, chosen.OrgName = acme.UID, acme.Name
	if project, err := w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Name: "Blue"}); err != nil ||
		project.OrgUID != acme.UID {
		t.Errorf("project %+v, %v", project, err)
	}
	if project, err := w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Org: "other", Name: "Blue"}); err != nil ||
		project.OrgUID != other.UID {
		t.Errorf("project of the named organization: %+v, %v", project, err)
	}
	if users, _, err := w.ListUsers(t.Context(), chosen, "", directory.User{}); err != nil || len(users) != 1 ||
		users[0].OrgUID != acme.UID {
		t.Errorf("users %+v, %v", users, err)
	}
	page, err := w.Audits(t.Context(), chosen, directory.AuditQuery{})
	if err != nil || len(page.Items) != 3 { // organization, user, project
		t.Errorf("%d records, %v", len(page.Items), err)
	}
	chosen.OrgUID = "deleted"
	_, err = w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Name: "Red"})
	wantCode(t, err, fault.CodeResourceNotFound)
}

// Only an operator sees which organizations exist, and not all of many.
func TestUnknownOrganization(t *testing.T) {
	w := mustWorld(t)
	_, err := w.CreateProject(t.Context(), operator, origin, directory.NewProject{Org: "missing", Name: "Red"})
	if !strings.HasSuffix(fmt.Sprint(err), " Organization not found.") {
		t.Errorf("without organizations: %v", err)
	}
	org := w.mustOrg(t, "Acme")
	for i := range 20 {
		w.mustOrg(t, fmt.Sprintf("Other %02d", i))
	}
	admin := auth.Principal{OrgUID: org.UID, OrgName: org.Name, Role: auth.RoleAdmin}
	for _, test := range []struct {
		principal auth.Principal
		want      string
	}{{operator, "Organization not found. Organizations: Acme, Other 00, "}, {operator, ", Other 18, 1 more."},
		{admin, " Organization not found."}} {
		_, err := w.CreateProject(t.Context(), test.principal, origin, directory.NewProject{Org: "missing", Name: "Red"})
		wantCode(t, err, fault.CodeResourceNotFound)
		if text := fmt.Sprint(err); !strings.Contains(text, test.want) || test.principal.Role == auth.RoleAdmin &&
			!strings.HasSuffix(text, test.want) {
			t.Errorf("%s: %s", test.principal.Role, text)
		}
	}
}
