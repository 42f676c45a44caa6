package service_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// newTeam is the body of a team.
func newTeam(name string, users []string, roles ...string) string {
	return instance.JSON(object{"metadata": object{"name": name}, "spec": object{"users": users, "roles": roles}})
}

type readTeam struct {
	Metadata meta
	Spec     struct{ Users, Roles, Sources []string }
}

func (p person) team(uid string) (team readTeam) {
	p.t.Helper()
	p.get("/v1/teams/"+uid, &team)
	return team
}

// invalid requires a problem of that field.
func (p person) invalid(method, path, body, field string) {
	p.t.Helper()
	fields := p.refused(method, path, body, http.StatusBadRequest, "InvalidRequest").Fault().Details.Fields
	if len(fields) != 1 || fields[0].Field != field {
		p.t.Errorf("%s %s %s: %+v, want %s", method, path, body, fields, field)
	}
}

// A user may do what its own roles, or those of one of its teams, permit. A change counts for sessions and keys that exist.
func TestTeamsGrantTheirRoles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	var made struct{ APIKey string }
	mate.do("POST", "/v1/apiKeys", newKey("mine", "", tomorrow())).Want(http.StatusCreated).Into(&made)
	keyed := withKey(t, server, made.APIKey)
	const registries, audits = "/v1/registries/oci/summary", "/v1/users"
	wants := func(why string, path string, status int) {
		t.Helper()
		for _, who := range []person{mate, keyed} {
			if got := who.do("GET", path, "").Status; got != status {
				t.Errorf("%s: %s is %d, want %d", why, path, got, status)
			}
		}
	}
	wants("a member of the organization", registries, http.StatusOK)
	team := admin.make("/v1/teams", newTeam("Ops", []string{uid}))
	wants("in a team without roles", registries, http.StatusForbidden)
	admin.do("PUT", "/v1/teams/"+team+"/roles", `{"roles":["auditor"]}`).Want(http.StatusNoContent)
	wants("in a team of auditors", audits, http.StatusOK)
	admin.do("PUT", "/v1/teams/"+team+"/roles", `{"roles":[]}`).Want(http.StatusNoContent)
	wants("in a team that lost its roles", audits, http.StatusForbidden)

	project := admin.make("/v1/projects", `{"metadata":{"name":"Blue"}}`)
	admin.do("PUT", "/v1/teams/"+team+"/projects", `{"projects":[{"projectUid":"`+project+`","roles":["registry-editor"]}]}`).
		Want(http.StatusNoContent)
	mate.credential = append(mate.credential, "ProjectUid", project)
	mate.do("POST", registriesPath, newRegistry("blue", spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil))).
		Want(http.StatusCreated)
	mate.credential = mate.credential[:2]
	var seen items
	if mate.get(registries, &seen); !slices.Equal(seen.names(), []string{"blue"}) {
		t.Errorf("the member sees %q", seen.names())
	}
	if mate.get("/v1/projects", &seen); !slices.Equal(seen.names(), []string{"Blue"}) {
		t.Errorf("the member sees the projects %q", seen.names())
	}
	other := admin.make("/v1/teams", newTeam("Auditors", []string{"MATE@acme.example"}, "auditor"))
	wants("in two teams", audits, http.StatusOK)
	admin.do("PATCH", "/v1/teams/"+other, `[{"op":"remove","path":"/spec/users/0"}]`).Want(http.StatusNoContent)
	wants("removed from one", audits, http.StatusForbidden)
	admin.do("DELETE", "/v1/teams/"+team, "").Want(http.StatusNoContent)
	wants("the other was deleted", registries, http.StatusForbidden)
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["viewer"]}`).Want(http.StatusNoContent)
	wants("its own role", registries, http.StatusOK)
}

// What is set of a team is what is read, and what is wrong changes nothing.
func TestTeamsAreSetAndRead(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	foreign := theirs.make("/v1/users", newUser("mate@rival.example"))
	uid := admin.make("/v1/users", newUser("mate@acme.example", object{"roles": []string{"viewer"}}))
	team := admin.make("/v1/teams", newTeam("Caf\u0065\u0301", []string{uid}, "viewer", "auditor"))
	if got := admin.team(team); got.Metadata.Name != "Café" || !slices.Equal(got.Spec.Users, []string{uid}) ||
		!slices.Equal(got.Spec.Roles, []string{"viewer", "auditor"}) || got.Spec.Sources == nil {
		t.Errorf("%+v", got)
	}
	admin.make("/v1/teams", newTeam("CAFÉ", nil)) // the case counts
	admin.refused("POST", "/v1/teams", newTeam("Café", nil), http.StatusConflict, "TeamAlreadyExists")
	admin.refused("PUT", "/v1/teams/"+team, newTeam("CAFÉ", nil), http.StatusConflict, "TeamAlreadyExists")
	admin.refused("PATCH", "/v1/teams/"+team, `[{"op":"replace","path":"/metadata/name","value":"CAFÉ"}]`, http.StatusConflict,
		"TeamAlreadyExists")
	for body, field := range map[string]string{
		newTeam("x", []string{uid, foreign}):                   "spec.users[1]",
		newTeam("x", []string{"unknown@acme.example"}):         "spec.users[0]",
		newTeam("x", nil, "owner"):                             "spec.roles",
		newTeam("x", nil, "none"):                              "spec.roles",
		`{"metadata":{"name":""},"spec":{}}`:                   "metadata.name",
		`{"metadata":{"name":"` + "a\u200bb" + `"},"spec":{}}`: "metadata.name",
	} {
		admin.invalid("POST", "/v1/teams", body, field)
	}
	for path, body := range map[string]string{
		"/roles":    `{"roles":["operator"]}`,
		"/projects": `{"projects":[{"projectUid":"` + noUID + `","roles":["viewer"]}]}`,
	} {
		admin.do("PUT", "/v1/teams/"+team+path, body).Want(http.StatusBadRequest)
	}
	admin.do("PUT", "/v1/workspaces/teams/"+team+"/roles", `{"workspaces":[{"uid":"x","roles":[]}]}`).Want(http.StatusBadRequest)
	for _, patch := range []string{`[]`, `[{"op":"move","from":"/a","path":"/b"}]`, `[{"op":"replace","path":"/spec/users/9","value":"x"}]`,
		`[{"op":"test","path":"/metadata/name","value":"other"},{"op":"remove","path":"/spec/users/0"}]`,
		`[{"op":"remove","path":"/metadata/color"}]`, `[{"op":"replace","path":"/spec/users","value":"x"}]`,
		`[{"op":"replace","path":"","value":{}}]`} {
		admin.do("PATCH", "/v1/teams/"+team, patch).Want(http.StatusBadRequest)
	}
	if got := admin.team(team); !slices.Equal(got.Spec.Users, []string{uid}) ||
		!slices.Equal(got.Spec.Roles, []string{"viewer", "auditor"}) {
		t.Errorf("a refused change changed the team to %+v", got)
	}
	admin.do("PATCH", "/v1/teams/"+team, `[{"op":"add","path":"/spec/users/0","value":"`+instance.Email+`"},`+
		`{"op":"replace","path":"/spec/roles/0","value":"member"},{"op":"remove","path":"/spec/roles/1"},`+
		`{"op":"add","path":"/metadata/name","value":"Bar"}]`).Want(http.StatusNoContent)
	if got := admin.team("Bar"); len(got.Spec.Users) != 2 || !slices.Equal(got.Spec.Roles, []string{"member"}) {
		t.Errorf("patched to %+v", got)
	}
	admin.do("PUT", "/v1/teams/"+team, newTeam("Bar", []string{uid}, "viewer")).Want(http.StatusNoContent)
	if got := admin.team("Bar"); !slices.Equal(got.Spec.Users, []string{uid}) || !slices.Equal(got.Spec.Roles, []string{"viewer"}) {
		t.Errorf("replaced by %+v", got)
	}
	var user struct{ Spec struct{ Teams []meta } }
	if admin.get("/v1/users/"+uid, &user); len(user.Spec.Teams) != 1 || user.Spec.Teams[0].Name != "Bar" {
		t.Errorf("the teams of the user: %+v", user)
	}
	theirs.do("GET", "/v1/teams/"+team, "").Want(http.StatusNotFound)
	var found items
	if theirs.get("/v1/teams", &found); len(found.Items) != 0 {
		t.Errorf("another organization sees %q", found.names())
	}
	if admin.get("/v1/teams?filters=metadata.name%3DBar&limit=50", &found); !slices.Equal(found.names(), []string{"Bar"}) {
		t.Errorf("found %q by name", found.names())
	}
	admin.do("GET", "/v1/teams?filters=spec.users%3Dx", "").Want(http.StatusBadRequest)
	admin.invalid("POST", "/v1/users", newUser("new@acme.example", object{"teams": []string{"Bar", noUID}}), "spec.teams[1]")
	made := admin.make("/v1/users", newUser("new@acme.example", object{"teams": []string{"Bar"}}))
	if got := admin.team(team); !slices.Contains(got.Spec.Users, made) {
		t.Errorf("the team has no new user: %+v", got)
	}
}
