package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
)

// matrixRole is a role of the organization, and in a project. It stands for what a user has.
type matrixRole struct {
	role, inProject auth.Role
	granted         []access.Permission // in the organization
	there           []access.Permission // in the project
}

// matrixRoles has each built-in role, in the organization and in a project, and for each permission a role of the organization that grants
// it alone, and if possible in a project.
func (a *attacked) matrixRoles(t *testing.T) (all []matrixRole) {
	t.Helper()
	for _, d := range access.BuiltIn {
		all = append(all, matrixRole{role: d.Role, granted: d.Permissions})
		if d.InProjects {
			all = append(all, matrixRole{role: access.None, inProject: d.Role, there: ofProjects(d.Permissions)})
		}
	}
	for _, d := range []access.Permission{access.SetPasswords, access.DeleteUsers, access.DisableUsers} { // for the pages of users
		granted := []access.Permission{access.ReadUsers, d}
		uid, err := a.Roles.Create(t.Context(), a.principal, audit.Origin{},
			roles.Input{Name: "users and " + string(d), Permissions: granted})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, matrixRole{role: auth.Role(uid), granted: granted})
	}
	for _, permission := range access.Permissions() {
		inProjects := slices.Contains(access.OfProjects(), permission)
		uid, err := a.Roles.Create(t.Context(), a.principal, audit.Origin{}, roles.Input{Name: "only " + string(permission),
			InProjects: inProjects, Permissions: []access.Permission{permission}})
		if err != nil {
			t.Fatal(err)
		}
		alone := []access.Permission{permission}
		all = append(all, matrixRole{role: auth.Role(uid), granted: alone})
		if inProjects {
			all = append(all, matrixRole{role: access.None, inProject: auth.Role(uid), there: alone})
		}
	}
	return all
}

func ofProjects(permissions []access.Permission) []access.Permission {
	return slices.DeleteFunc(slices.Clone(permissions), func(p access.Permission) bool { return !slices.Contains(access.OfProjects(), p) })
}

// as returns the cookie of a new user with a role.
func (a *attacked) as(t *testing.T, n int, with matrixRole) string {
	t.Helper()
	email := "m" + string(rune('a'+n/26)) + string(rune('a'+n%26)) + "@acme.example"
	user := directory.NewUser{Email: email, Password: memberPassword, Role: with.role}
	if with.inProject != "" {
		user.Projects = []directory.ProjectRole{{Project: a.uids["{project}"], Role: with.inProject}}
	}
	if _, err := a.Directory.CreateUser(t.Context(), a.principal, audit.Origin{}, user); err != nil {
		t.Fatal(err)
	}
	return a.mustLoginAs("Acme", email)
}

// Each page that names a permission is shown to those who have it and refused to all others, and the navigation has an entry for exactly
// those. Pages and actions that name none are tried in TestForgedRequestsOfAMember.
func TestMatrixOfPages(t *testing.T) {
	a := mustAttacked(t)
	for n, with := range a.matrixRoles(t) {
		cookie := a.as(t, n, with)
		overview := a.send("GET", pathOverview, "", "Cookie", cookie).Body.String()
		for _, r := range a.routes() {
			if r.permission == "" {
				continue
			}
			may := slices.Contains(with.granted, r.permission) || slices.Contains(with.there, r.permission)
			if strings.HasPrefix(r.path, pathUsers+"/{uid}") { // the page names the user
				may = may && slices.Contains(with.granted, access.ReadUsers)
			}
			if r.path == pathUsers+"/invite" { // the link sets a password
				may = may && slices.Contains(with.granted, access.SetPasswords)
			}
			if r.label != "" && strings.Contains(overview, `<li><a href="`+r.path+`"`) != may {
				t.Errorf("%v: an entry for %s, which needs %s: %t", with, r.path, r.permission, !may)
			}
			got := a.send(r.method, a.address(r.path), "", "Cookie", cookie)
			if (got.Code == http.StatusForbidden) == may || got.Code >= http.StatusInternalServerError {
				t.Errorf("%v: %s, which needs %s: %d", with, r.path, r.permission, got.Code)
			}
		}
	}
}

// ofEveryUser has the beginnings of the pages that name no permission: they show a user its own things, or decide by registry and project.
var ofEveryUser = []string{"/console/{$}", pathDevice, pathCheck + "/{uid}", pathRegistries + "/", pathRegistries + ".csv",
	"/console/expiry", pathAlerts, pathKeys, pathAudit, pathSessions, "/console/search"}

// A page without a permission is one of those that every user has.
func TestPagesNameTheirPermission(t *testing.T) {
	for _, r := range mustWorld(t, false).routes() {
		if r.method != http.MethodGet || r.anonymous || r.permission != "" || r.path == pathProjects {
			continue
		}
		if !slices.ContainsFunc(ofEveryUser, func(start string) bool { return strings.HasPrefix(r.path, start) }) {
			t.Errorf("%s names no permission", r.path)
		}
	}
}

// actionsOf has the permission that an action on roles, teams, the identity provider and trust rules needs.
var actionsOf = map[string]access.Permission{
	"/console/users/new": access.CreateUsers, "/console/users/{uid}": access.ChangeUsers, "/console/users/{uid}/role": access.ChangeUsers,
	"/console/users/{uid}/projects": access.ChangeUsers, "/console/users/{uid}/password": access.SetPasswords,
	"/console/users/{uid}/disable": access.DisableUsers, "/console/users/{uid}/delete": access.DeleteUsers,
	"/console/roles/new": access.CreateRoles, "/console/roles/{uid}": access.ChangeRoles, "/console/roles/{uid}/delete": access.DeleteRoles,
	"/console/teams/new": access.CreateTeams, "/console/teams/{uid}": access.ChangeTeams, "/console/teams/{uid}/delete": access.DeleteTeams,
	"/console/identity-provider": access.CreateTrusts, "/console/identity-provider/test": access.CreateTrusts,
	"/console/identity-provider/disable": access.CreateTrusts, "/console/identity-provider/delete": access.DeleteTrusts,
	"/console/trust-rules/new": access.CreateTrusts, "/console/trust-rules/{uid}/delete": access.DeleteTrusts,
}

// Without the permission of an action, nothing is changed by it. With a role that grants every permission but that one, it is refused too.
func TestMatrixOfActions(t *testing.T) {
	a := mustAttacked(t)
	for n, missing := range access.Permissions() {
		rest := slices.DeleteFunc(access.Permissions(), func(p access.Permission) bool { return p == missing })
		uid, err := a.Roles.Create(t.Context(), a.principal, audit.Origin{},
			roles.Input{Name: "without " + string(missing), Permissions: rest})
		if err != nil {
			t.Fatal(err)
		}
		cookie := a.as(t, n, matrixRole{role: auth.Role(uid)})
		for path, permission := range actionsOf {
			if permission != missing {
				continue
			}
			before := a.state(t)
			got := a.send("POST", a.address(path), forged.Encode(), "Cookie", cookie)
			if got.Code != http.StatusForbidden || a.state(t) != before {
				t.Errorf("without %s: %s returns %d", missing, path, got.Code)
			}
		}
	}
}

// Who may create users but not set passwords is offered no invitation, and creates no user by it.
func TestInvitationsNeedBothPermissions(t *testing.T) {
	a := mustAttacked(t)
	granted := []access.Permission{access.ReadUsers, access.CreateUsers}
	uid, err := a.Roles.Create(t.Context(), a.principal, audit.Origin{}, roles.Input{Name: "creator", Permissions: granted})
	if err != nil {
		t.Fatal(err)
	}
	const path = pathUsers + "/invite"
	cookie, form := a.as(t, 0, matrixRole{role: auth.Role(uid)}), url.Values{"emailId": {"new@acme.example"}}
	before := a.state(t)
	if got := a.send("POST", path, form.Encode(), "Cookie", cookie); got.Code != http.StatusForbidden || a.state(t) != before {
		t.Errorf("the form returns %d, changed: %t", got.Code, a.state(t) != before)
	}
	if got := a.send("GET", path, "", "Cookie", cookie); got.Code != http.StatusForbidden {
		t.Errorf("the page returns %d", got.Code)
	}
	for _, page := range []string{pathUsers, "/console/search?q=invite"} {
		if got := a.send("GET", page, "", "Cookie", cookie); got.Code != http.StatusOK || strings.Contains(got.Body.String(), path) {
			t.Errorf("%s returns %d, with a link: %t", page, got.Code, strings.Contains(got.Body.String(), path))
		}
	}
}

// A form that gives more than its sender has is refused, whichever page it is of.
func TestFormsGiveNoMoreThanTheirSenderHas(t *testing.T) {
	a := mustAttacked(t)
	granted := slices.DeleteFunc(access.Permissions(), func(p access.Permission) bool { return p == access.ReadAllAudits })
	uid, err := a.Roles.Create(t.Context(), a.principal, audit.Origin{}, roles.Input{Name: "helpdesk", Permissions: granted})
	if err != nil {
		t.Fatal(err)
	}
	cookie, before := a.as(t, 0, matrixRole{role: auth.Role(uid)}), a.state(t)
	for path, form := range map[string]url.Values{
		"/console/users/new":        {"emailId": {"x@acme.example"}, "role.admin": {"true"}},
		"/console/users/{uid}/role": {"role.auditor": {"true"}},
		"/console/teams/new":        {"name": {"T"}, "role.admin": {"true"}},
		"/console/teams/{uid}":      {"name": {"T"}, "role.auditor": {"true"}},
		"/console/roles/new":        {"name": {"R"}, "permission.audit.listAll": {"true"}},
		"/console/trust-rules/new": {"name": {"t"}, "issuer": {"https://i.example"}, "audience": {"a"}, "claims": {"sub=x"},
			"role": {"admin"}},
		"/console/identity-provider": {"issuer": {"https://i.example"}, "clientId": {"c"}, "enabled": {"true"}},
	} {
		if got := a.send("POST", a.address(path), form.Encode(), "Cookie", cookie); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d\n%s", path, got.Code, got.Body)
		}
	}
	if after := a.state(t); after != before {
		t.Error("something was changed")
	}
}
