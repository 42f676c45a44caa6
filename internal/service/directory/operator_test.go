package directory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
)

// The principal of an operator may have an organization, which its calls are then about.
func TestOperatorOfOneOrganization(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	w.mustOrg(t, "Other")
	w.mustUser(t, acme, "a@acme.example", auth.RoleMember)
	chosen := w.operatorOf(t, "Acme")
	if project, err := w.CreateProject(t.Context(), chosen, origin, directory.NewProject{Name: "Blue"}); err != nil ||
		project.OrgUID != acme.UID {
		t.Errorf("project %+v, %v", project, err)
	}
	if users, _, err := w.ListUsers(t.Context(), chosen, directory.User{}); err != nil || len(users) != 1 ||
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

// API keys have the new name of an organization at once.
func TestRenamedOrganization(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "a@acme.example", auth.RoleAdmin)
	_, key, err := w.auth.APIKeys.Create(t.Context(), admin, origin, auth.NewAPIKey{Name: "CI", ExpiresAt: start.AddDate(0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Acme", "Acme EMEA"} {
		if err := w.RenameOrg(t.Context(), operator, origin, acme.UID, name); err != nil {
			t.Fatal(err)
		}
		if p, err := w.auth.Authenticator.Authenticate(t.Context(), auth.Presented{APIKey: key}); err != nil || p.OrgName != name {
			t.Errorf("the key is of %q, %v; want %q", p.OrgName, err, name)
		}
	}
}

// An operator sees which organizations exist, and not all of many.
func TestUnknownOrganization(t *testing.T) {
	w := mustWorld(t)
	_, err := auth.OperatorOf(t.Context(), w.db, "missing")
	if !strings.HasSuffix(fmt.Sprint(err), " Organization not found.") {
		t.Errorf("without organizations: %v", err)
	}
	w.mustOrg(t, "Acme")
	for i := range 20 {
		w.mustOrg(t, fmt.Sprintf("Other %02d", i))
	}
	_, err = auth.OperatorOf(t.Context(), w.db, "missing")
	wantCode(t, err, fault.CodeResourceNotFound)
	for _, want := range []string{"Organization not found. Organizations: Acme, Other 00, ", ", Other 18, 1 more."} {
		if text := fmt.Sprint(err); !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}
