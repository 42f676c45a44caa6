package palette_test

import (
	"maps"
	"slices"
	"testing"
)

// teamConfig is a team resource as a Terraform file has it. Its users and roles are sets.
type teamConfig struct {
	Name         string
	Users        []string
	TenantRoles  []string
	ProjectRoles map[string][]string // by the uid of the project
}

// setTeam sends a team and all three kinds of roles, also when they are empty: after a create as after a change.
func (p *provider) setTeam(uid string, c teamConfig) string {
	p.wire.t.Helper()
	body := encoded(p.wire.t, map[string]any{"metadata": sentObjectMeta{CreationTimestamp: zeroTime, DeletionTimestamp: zeroTime,
		LastModifiedTimestamp: zeroTime, Name: c.Name, UID: uid},
		"spec": map[string]any{"roles": nil, "sources": nil, "users": append([]string{}, c.Users...)}})
	if uid == "" {
		uid = p.createdUID(post("/v1/teams", body, 201))
	} else {
		p.must(put("/v1/teams/"+uid, body), nil)
	}
	projects := []map[string]any{}
	for _, project := range slices.Sorted(maps.Keys(c.ProjectRoles)) {
		projects = append(projects, map[string]any{"projectUid": project, "roles": c.ProjectRoles[project]})
	}
	p.must(put("/v1/teams/"+uid+"/projects", encoded(p.wire.t, map[string]any{"projects": projects})), nil)
	p.must(put("/v1/teams/"+uid+"/roles", encoded(p.wire.t, map[string]any{"roles": append([]string{}, c.TenantRoles...)})), nil)
	p.must(put("/v1/workspaces/teams/"+uid+"/roles", `{"workspaces":[]}`), nil)
	return uid
}

// readTeam is a refresh of a team.
func (p *provider) readTeam(uid string) (c teamConfig, there bool) {
	p.wire.t.Helper()
	var team struct {
		Metadata *struct{ Name string }
		Spec     *struct{ Users, Roles []string }
	}
	if err := p.call(get("/v1/teams/"+uid), &team); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	if team.Metadata == nil || team.Spec == nil {
		p.crash("metadata or spec of a team")
	}
	c = teamConfig{Name: team.Metadata.Name, Users: team.Spec.Users, ProjectRoles: map[string][]string{}}
	var projects struct {
		Projects []struct {
			UID   string
			Roles []readRole
		}
	}
	p.must(get("/v1/teams/"+uid+"/projects"), &projects)
	for _, project := range projects.Projects {
		c.ProjectRoles[project.UID] = uidsOf(project.Roles)
	}
	var tenant struct{ Roles []readRole }
	p.must(get("/v1/teams/"+uid+"/roles"), &tenant)
	c.TenantRoles = uidsOf(tenant.Roles)
	var workspaces struct{ Projects []struct{} }
	if p.must(get("/v1/workspaces/teams/"+uid+"/roles"), &workspaces); len(workspaces.Projects) > 0 {
		p.wire.t.Errorf("the plan is not empty: %+v", workspaces)
	}
	return c, true
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func (p *provider) noTeamDrift(uid string, want teamConfig) {
	p.wire.t.Helper()
	got, there := p.readTeam(uid)
	if !there || got.Name != want.Name || !sameSet(got.Users, want.Users) || !sameSet(got.TenantRoles, want.TenantRoles) ||
		!maps.EqualFunc(got.ProjectRoles, want.ProjectRoles, sameSet) {
		p.wire.t.Errorf("the plan is not empty: there %t, %+v, want %+v", there, got, want)
	}
}

// A team's whole life in Terraform: create, plan, users and roles given and taken, import and lookup by name, destroy.
func TestTeamResourceLife(t *testing.T) {
	w := start(t)
	p := w.plugin()
	blue := p.createProject(projectConfig{Name: "Blue"})
	ada := p.createUser(userConfig{Email: "ada@acme.example", FirstName: "Ada", LastName: "Lovelace"})
	bob := p.createUser(userConfig{Email: "bob@acme.example", FirstName: "Bob", LastName: "Kahn"})
	plain := teamConfig{Name: "Ops"}
	uid := p.setTeam("", plain)
	for _, c := range []teamConfig{plain,
		{"Ops", []string{ada, bob}, []string{"viewer", "auditor"}, map[string][]string{blue: {"registry-editor"}}},
		{"Ops", []string{bob}, []string{"auditor"}, map[string][]string{blue: {"viewer", "member"}, p.projectUID: {"admin"}}},
		{"Ops", []string{ada}, nil, map[string][]string{p.projectUID: {"viewer"}}}, plain,
	} {
		p := w.plugin()
		p.setTeam(uid, c)
		w.plugin().noTeamDrift(uid, c)
	}
	var found struct {
		Items []struct{ Metadata readMetadata }
	}
	for name, want := range map[string]int{"Ops": 1, "ops": 0} { // import and the data source
		if p.must(get("/v1/teams?filters=metadata.name%3D"+name+"&limit=50"), &found); len(found.Items) != want {
			t.Errorf("%s: %d teams", name, len(found.Items))
		}
	}
	p.refused(get("/v1/teams/00000000-0000-4000-8000-000000000000"), 404, "ResourceNotFound")

	// A user with teams: the list of the summary is what is compared.
	carl := p.createdUID(post("/v1/users", encoded(t, map[string]any{
		"spec": map[string]any{"emailId": "carl@acme.example", "firstName": "Carl", "lastName": "Gauss", "teams": []string{uid}}}), 201))
	var users struct {
		Items []struct {
			Spec struct{ Teams []readRole }
		}
	}
	p.must(post("/v1/users/summary", `{"filter":{"emailId":{"eq":"carl@acme.example"}},"sort":null}`, 200), &users)
	if len(users.Items) != 1 || !slices.Equal(uidsOf(users.Items[0].Spec.Teams), []string{uid}) {
		t.Errorf("the teams of the user: %+v", users)
	}
	if got := p.readUser(carl, "carl@acme.example"); len(got.TenantRoles) != 0 {
		t.Errorf("roles that are not configured: %v", got.TenantRoles)
	}
	p.must(del("/v1/teams/"+uid), nil)
	if _, there := p.readTeam(uid); there {
		t.Error("a destroyed team is still there")
	}
}
