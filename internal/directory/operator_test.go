package directory_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

// The principal of an operator may have an organization. Calls without a name are then about it, others about the named one.
func TestOperatorOfOneOrganization(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	w.mustUser(t, acme, "a@acme.example", auth.RoleMember)
	chosen := operator
	chosen.OrgUID, chosen.OrgName = acme.UID, acme.Name
	if project, err := w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Name: "Blue"}); err != nil || project.OrgUID != acme.UID {
		t.Errorf("project %+v, %v", project, err)
	}
	if project, err := w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Org: "other", Name: "Blue"}); err != nil || project.OrgUID != other.UID {
		t.Errorf("project of the named organization: %+v, %v", project, err)
	}
	if users, _, err := w.ListUsers(t.Context(), chosen, "", directory.User{}); err != nil || len(users) != 1 || users[0].OrgUID != acme.UID {
		t.Errorf("users %+v, %v", users, err)
	}
	page, err := w.Audits(t.Context(), chosen, directory.AuditQuery{})
	if err != nil || len(page.Records) != 3 { // organization, user, project
		t.Errorf("%d records, %v", len(page.Records), err)
	}
	chosen.OrgUID = "deleted"
	_, err = w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Name: "Red"})
	wantCode(t, err, fault.CodeResourceNotFound)
}
