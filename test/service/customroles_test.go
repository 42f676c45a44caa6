package service_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// roleBody is a role of an organization.
func roleBody(name, scope string, permissions ...string) string {
	return instance.JSON(object{"metadata": object{"name": name}, "spec": object{"scope": scope, "permissions": permissions}})
}

// No caller gives, changes or uses what it lacks, on any way.
func TestCallersGiveWhatTheyHave(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	helpdesk := admin.make("/v1/roles", roleBody("Helpdesk", "tenant", "user.list", "user.create", "user.update", "user.setPassword",
		"user.delete", "user.disable", "team.list", "team.create", "team.update", "team.delete", "role.list", "role.create", "role.update",
		"role.delete", "trust.list", "trust.create", "apiKey.createForOthers", "registry.get", "registry.validate"))
	strong := admin.make("/v1/roles", roleBody("Strong", "project", "registry.delete"))
	weak := admin.make("/v1/roles", roleBody("Weak", "project", "registry.get"))
	admin.make("/v1/users", newUser("hank@acme.example", object{"roles": []string{helpdesk}}))
	boss := admin.make("/v1/users", newUser("boss@acme.example", object{"roles": []string{"admin"}}))
	project := admin.project()
	lead := admin.make("/v1/users", newUser("lead@acme.example"))
	admin.do("PUT", "/v1/users/"+lead+"/projects", `{"projects":[{"projectUid":"`+project+`","roles":["registry-editor"]}]}`).
		Want(http.StatusNoContent)
	admins := admin.make("/v1/teams", `{"metadata":{"name":"Admins"},"spec":{"roles":["admin"]}}`)
	hank, _ := loggedIn(t, server, "hank@acme.example", instance.Org, matePassword)
	member := hank.make("/v1/users", newUser("new@acme.example", object{"roles": []string{"member"}}))
	team := hank.make("/v1/teams", instance.JSON(object{"metadata": object{"name": "Mine"}, "spec": object{"roles": []string{weak}}}))

	var info struct{ TenantUID string }
	admin.get("/v1/users/info", &info)
	given := func(roles ...string) string { return instance.JSON(object{"roles": roles}) }
	inProject := func(role string) string { return projectRole(project, role) }
	for _, tt := range []struct{ what, method, path, body string }{
		{"a built-in role", "PUT", "/v1/users/" + member + "/roles", given("admin")},
		{"a built-in role among others", "PUT", "/v1/users/" + member + "/roles", given("member", "auditor")},
		{"a role of the organization", "PUT", "/v1/users/" + member + "/roles", given(strong)},
		{"a role in a project", "PUT", "/v1/users/" + member + "/projects", inProject("registry-editor")},
		{"a role of the organization in a project", "PUT", "/v1/users/" + member + "/projects", inProject(strong)},
		{"a role to a new user", "POST", "/v1/users", newUser("x@acme.example", object{"roles": []string{"admin"}})},
		{"a team to a new user", "POST", "/v1/users", newUser("x@acme.example", object{"teams": []string{admins}})},
		{"a new team", "POST", "/v1/teams", `{"metadata":{"name":"T"},"spec":{"roles":["admin"]}}`},
		{"a role of a team", "PUT", "/v1/teams/" + team + "/roles", given("registry-editor")},
		{"a role of a team in a project", "PUT", "/v1/teams/" + team + "/projects", inProject("admin")},
		{"a team with more", "PATCH", "/v1/teams/" + admins, `[{"op":"add","path":"/spec/users/-","value":"hank@acme.example"}]`},
		{"a new role", "POST", "/v1/roles", roleBody("Mine", "tenant", "audit.listAll")},
		{"a role", "PUT", "/v1/roles/" + helpdesk, roleBody("Helpdesk", "tenant", "user.list", "tenant.update")},
		{"a role of others", "PUT", "/v1/roles/" + strong, roleBody("Strong", "project", "registry.get")},
		{"a trust rule", "POST", "/v1/trustRules", `{"metadata":{"name":"ci"},"spec":{"issuer":"https://issuer.example.com",` +
			`"audience":"a","claims":{"sub":"x"},"role":"admin"}}`},
		{"the identity provider", "PUT", "/v1/sso", `{"spec":{"issuer":"https://issuer.example.com","clientId":"a"}}`},
		{"the domains of the identity provider", "POST", "/v1/tenants/" + info.TenantUID + "/domains", `{"domains":["evil.example"]}`},
		{"the roles of a stronger user", "PUT", "/v1/users/" + boss + "/roles", given("member")},
		{"the email of a stronger user", "PUT", "/v1/users/" + boss, `{"metadata":{},"spec":{"emailId":"hank2@acme.example"}}`},
		{"a link to set the password of a stronger user", "POST", "/v1/users/" + boss + "/invitation", ""},
		{"the second factor of a stronger user", "DELETE", "/v1/users/" + boss + "/mfa", ""},
		{"the password of a stronger user", "PUT", "/v1/users/" + boss + "/password", `{"password":"nine geese across the marsh"}`},
		{"the password of one stronger in a project", "PUT", "/v1/users/" + lead + "/password",
			`{"password":"nine geese across the marsh"}`},
		{"the identity of a stronger user", "PUT", "/v1/users/" + boss + "/identity", `{"subject":"hank"}`},
		{"a key of a stronger user", "POST", "/v1/apiKeys", newKey("k", boss, tomorrow())},
		{"the end of a stronger user", "DELETE", "/v1/users/" + boss, ""},
		{"the state of a stronger user", "PUT", "/v1/users/" + boss + "/state", `{"isActive":false}`},
	} {
		if got := hank.do(tt.method, tt.path, tt.body); got.Status != http.StatusForbidden {
			t.Errorf("%s: %d %s", tt.what, got.Status, got.Body)
		}
	}
	hank.do("PUT", "/v1/users/"+member+"/roles", given(weak, "member")).Want(http.StatusNoContent)
	hank.do("PUT", "/v1/users/"+member+"/projects", inProject(weak)).Want(http.StatusNoContent)
	hank.do("PUT", "/v1/teams/"+team+"/projects", inProject(weak)).Want(http.StatusNoContent)
	hank.do("PUT", "/v1/users/"+member+"/password", `{"password":"nine geese across the marsh"}`).Want(http.StatusNoContent)
	hank.make("/v1/roles", roleBody("Mine", "tenant", "user.list"))
}

// A role of the organization counts at once, from its change to its end, in its organization alone.
func TestCustomRoles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	rival := newRival(t, server)
	uid := admin.make("/v1/roles", roleBody("Checkers", "tenant", "registry.validate", "user.list"))
	other := admin.make("/v1/roles", roleBody("Other", "tenant", "registry.get"))
	theirs := rival.make("/v1/roles", roleBody("Checkers", "tenant", "audit.listAll"))
	user := admin.make("/v1/users", newUser("mate@acme.example", object{"roles": []string{uid}}))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	mate.do("GET", "/v1/users", "").Want(http.StatusOK)
	mate.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusForbidden)
	admin.do("PUT", "/v1/roles/"+uid, roleBody("Checkers", "tenant", "registry.get")).Want(http.StatusNoContent)
	mate.do("GET", "/v1/users", "").Want(http.StatusForbidden)
	mate.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK)

	for _, tt := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/v1/roles", roleBody("checkers", "tenant", "registry.get"), 409, "RoleAlreadyExists"},
		{"PUT", "/v1/roles/" + other, roleBody("checkers", "tenant", "registry.get"), 409, "RoleAlreadyExists"},
		{"POST", "/v1/roles", roleBody("Admin", "tenant", "registry.get"), 400, "InvalidRequest"},
		{"POST", "/v1/roles", roleBody("R", "project", "user.list"), 400, "InvalidRequest"},
		{"POST", "/v1/roles", roleBody("R", "tenant", "key.rotate"), 400, "InvalidRequest"},
		{"POST", "/v1/roles", roleBody("R", "tenant", "registry.get", "registry.get"), 400, "InvalidRequest"},
		{"PUT", "/v1/users/" + user + "/roles", `{"roles":["` + theirs + `"]}`, 400, "InvalidRequest"},
		{"PUT", "/v1/users/" + user + "/roles", `{"roles":["` + noUID + `"]}`, 400, "InvalidRequest"},
		{"PUT", "/v1/users/" + user + "/projects", `{"projects":[{"projectUid":"` + admin.project() + `","roles":["` + uid + `"]}]}`, 400,
			"InvalidRequest"}, // of the scope tenant
		{"GET", "/v1/roles/" + theirs, "", 404, "ResourceNotFound"},
		{"PUT", "/v1/roles/" + theirs, roleBody("R", "tenant", "registry.get"), 404, "ResourceNotFound"},
		{"DELETE", "/v1/roles/" + theirs, "", 404, "ResourceNotFound"},
		{"DELETE", "/v1/roles/admin", "", 400, "InvalidRequest"},
		{"DELETE", "/v1/roles/" + uid, "", 409, "RoleInUse"},
	} {
		f := admin.refused(tt.method, tt.path, tt.body, tt.status, tt.code).Fault()
		if tt.code == "RoleInUse" && !strings.Contains(f.Message, "mate@acme.example") {
			t.Errorf("the conflict does not name who has the role: %s", f.Message)
		}
	}
	admin.do("PUT", "/v1/users/"+user+"/roles", `{"roles":["viewer"]}`).Want(http.StatusNoContent)
	admin.do("DELETE", "/v1/roles/"+uid, "").Want(http.StatusNoContent)
	admin.refused("GET", "/v1/roles/"+uid, "", http.StatusNotFound, "ResourceNotFound")
}

// A clone grants what the role does, in projects too only if nothing is lost there, and may be made only by who has all of it.
func TestRolesAreCloned(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	own := admin.make("/v1/roles", roleBody("Own", "project", "registry.get", "registry.sync"))
	clone := func(name, description string) string {
		return instance.JSON(object{"metadata": object{"name": name, "annotations": object{"description": description}}})
	}
	for _, tt := range []struct{ uid, description, scope string }{
		{own, "a copy", "project"}, {"member", "", "project"}, {"viewer", "", "tenant"}, {"admin", "", "tenant"}, {"auditor", "", "tenant"},
	} {
		var source, cloned struct {
			Metadata struct{ Annotations struct{ Description string } }
			Spec     struct {
				Permissions []string
				Scope, Type string
			}
		}
		admin.get("/v1/roles/"+tt.uid, &source)
		admin.get("/v1/roles/"+admin.make("/v1/roles/"+tt.uid+"/clone", clone("Clone of "+tt.uid, tt.description)), &cloned)
		if !slices.Equal(cloned.Spec.Permissions, source.Spec.Permissions) || cloned.Spec.Scope != tt.scope || cloned.Spec.Type != "user" ||
			cloned.Metadata.Annotations.Description != cmp.Or(tt.description, source.Metadata.Annotations.Description) {
			t.Errorf("%+v of %+v", cloned, source)
		}
	}
	admin.refused("POST", "/v1/roles/"+own+"/clone", clone("own", ""), http.StatusConflict, "RoleAlreadyExists")
	admin.refused("POST", "/v1/roles/"+noUID+"/clone", clone("New", ""), http.StatusNotFound, "ResourceNotFound")
	admin.invalid("POST", "/v1/roles/"+own+"/clone", clone("Admin", ""), "metadata.name")
	theirs := newRival(t, server)
	theirs.refused("POST", "/v1/roles/"+own+"/clone", clone("Stolen", ""), http.StatusNotFound, "ResourceNotFound")
	maker := admin.make("/v1/roles", roleBody("Maker", "tenant", "role.list", "role.create"))
	admin.make("/v1/users", newUser("maker@acme.example", object{"roles": []string{maker}}))
	weak, _ := loggedIn(t, server, "maker@acme.example", instance.Org, matePassword)
	weak.refused("POST", "/v1/roles/admin/clone", clone("Mine", ""), http.StatusForbidden, "OperationForbidden")
	weak.make("/v1/roles/"+maker+"/clone", clone("Mine", ""))
}

// Where users and teams have roles with names, a role of the organization has its name, as public clients show it.
func TestRolesHaveNames(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	role := admin.make("/v1/roles", roleBody("Checkers", "project", "registry.get"))
	user := admin.make("/v1/users", newUser("mate@acme.example", object{"roles": []string{role, "viewer"}}))
	team := admin.make("/v1/teams", instance.JSON(object{"metadata": object{"name": "Ops"}, "spec": object{"roles": []string{role}}}))
	for _, path := range []string{"/v1/users/" + user, "/v1/teams/" + team} {
		admin.do("PUT", path+"/projects", projectRole(admin.project(), role)).Want(http.StatusNoContent)
	}
	want := `{"uid":"` + role + `","name":"Checkers"}`
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/v1/users/" + user + "/roles", ""}, {"GET", "/v1/users/" + user + "/projects", ""},
		{"GET", "/v1/teams/" + team + "/roles", ""}, {"GET", "/v1/teams/" + team + "/projects", ""},
		{"POST", "/v1/users/summary", `{"filter":{}}`}, {"POST", "/v1/teams/summary", `{"filter":{}}`},
	} {
		if got := admin.do(tt.method, tt.path, tt.body).Want(http.StatusOK).Body; !strings.Contains(got, want) {
			t.Errorf("%s %s: %s", tt.method, tt.path, got)
		}
	}
	if got := admin.do("GET", "/v1/users/"+user+"/roles", "").Body; !strings.Contains(got, `{"uid":"viewer","name":"viewer"}`) {
		t.Error(got)
	}
}
