package palette_test

import (
	"slices"
	"strings"
	"testing"
)

// roleConfig is a role resource as a Terraform file has it. Its permissions are a set.
type roleConfig struct {
	Name, Type  string
	Permissions []string
}

func (c roleConfig) body(t testing.TB) string {
	return encoded(t, map[string]any{
		"metadata": sentObjectMeta{Annotations: map[string]string{"scope": c.Type}, CreationTimestamp: zeroTime,
			DeletionTimestamp: zeroTime, LastModifiedTimestamp: zeroTime, Name: c.Name},
		"spec": map[string]any{"permissions": c.Permissions, "scope": c.Type, "type": "user"}, "status": map[string]any{"isEnabled": true}})
}

// readRoleResource is a refresh of a role.
func (p *provider) readRoleResource(uid string) (c roleConfig, there bool) {
	p.wire.t.Helper()
	var role struct {
		Metadata *struct{ Name string }
		Spec     *struct {
			Permissions []string
			Scope       string
		}
	}
	if err := p.call(get("/v1/roles/"+uid), &role); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	if role.Metadata == nil || role.Spec == nil {
		p.crash("metadata or spec of a role")
	}
	return roleConfig{role.Metadata.Name, role.Spec.Scope, role.Spec.Permissions}, true
}

// A role's whole life in Terraform: create, plan, given to a user and a team, change, import and lookup by name, destroy.
func TestRoleResourceLife(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := roleConfig{"Operators", "project", []string{"registry.sync", "registry.get"}}
	uid := p.createdUID(post("/v1/roles", c.body(t), 201))
	check := func(want roleConfig) {
		t.Helper()
		got, there := w.plugin().readRoleResource(uid)
		if !there || got.Name != want.Name || got.Type != want.Type || !sameSet(got.Permissions, want.Permissions) {
			t.Errorf("the plan is not empty: there %t, %+v, want %+v", there, got, want)
		}
	}
	check(c)
	user := userConfig{Email: "ada@acme.example", FirstName: "Ada", LastName: "Lovelace", TenantRoles: []string{uid},
		ProjectRoles: map[string][]string{p.projectUID: {uid, "viewer"}}}
	ada := p.createUser(user)
	w.plugin().noUserDrift(ada, user)
	team := teamConfig{"Ops", []string{ada}, []string{uid}, map[string][]string{p.projectUID: {uid}}}
	ops := p.setTeam("", team)
	w.plugin().noTeamDrift(ops, team)
	// The provider does not know the description.
	p.must(put("/v1/roles/"+uid, strings.Replace(c.body(t), `"scope":`, `"description":"on call","scope":`, 1)), nil)
	changed := roleConfig{"Operators of b", "project", []string{"registry.get"}}
	p.must(put("/v1/roles/"+uid, changed.body(t)), nil)
	check(changed)
	var described struct {
		Metadata struct{ Annotations map[string]string }
	}
	if p.must(get("/v1/roles/"+uid), &described); described.Metadata.Annotations["description"] != "on call" {
		t.Errorf("after an update the annotations are %v", described.Metadata.Annotations)
	}
	p.must(put("/v1/roles/"+uid, strings.Replace(changed.body(t), `"scope":`, `"description":"","scope":`, 1)), nil)
	if p.must(get("/v1/roles/"+uid), &described); described.Metadata.Annotations["description"] != "" {
		t.Errorf("an empty description does not remove it: %v", described.Metadata.Annotations)
	}
	var list struct {
		Items []struct{ Metadata readMetadata }
	}
	p.must(get("/v1/roles?limit=50"), &list) // the data source
	if !slices.ContainsFunc(list.Items, func(i struct{ Metadata readMetadata }) bool {
		return i.Metadata == readMetadata{changed.Name, uid}
	}) {
		t.Errorf("not in the list: %+v", list)
	}
	p.refused(del("/v1/roles/"+uid), 409, "RoleInUse")
	p.must(del("/v1/teams/"+ops), nil)
	p.must(del("/v1/users/"+ada), nil)
	tenant := roleConfig{"Staff", "tenant", []string{"user.list", "team.list"}}
	p.must(put("/v1/roles/"+uid, tenant.body(t)), nil)
	check(tenant)
	p.must(del("/v1/roles/"+uid), nil)
	if _, there := p.readRoleResource(uid); there {
		t.Error("a destroyed role is still there")
	}
	p.refused(post("/v1/roles", roleConfig{"R", "resource", []string{"registry.get"}}.body(t), 201), 400, "InvalidRequest")
	p.refused(put("/v1/roles/admin", tenant.body(t)), 400, "InvalidRequest")
}
