package access

import "testing"

// An administrator has every permission that another role has: who gives roles has what they grant.
func TestAdministratorsHaveWhatOthersHave(t *testing.T) {
	for _, d := range BuiltIn {
		for _, p := range d.Permissions {
			if !Admin.Grants(p) || !d.Role.Grants(p) || OperatorOnly(p) {
				t.Errorf("%s of %s", p, d.Role)
			}
		}
	}
}

// Several roles grant what each of them does, and a role that does not exist nothing.
func TestGrants(t *testing.T) {
	for _, tt := range []struct {
		role       Role
		permission Permission
		want       bool
	}{
		{"viewer auditor", ReadAllAudits, true},
		{"viewer auditor", ReadRegistries, true},
		{"viewer auditor", ValidateRegistries, false},
		{"viewer", ReadAllAudits, false},
		{"", ReadRegistries, false},
		{"owner", ReadRegistries, false},
		{"Viewer", ReadRegistries, false},
		{Operator, RotateServiceKeys, true},
		{Admin, RotateServiceKeys, false},
	} {
		if got := tt.role.Grants(tt.permission); got != tt.want {
			t.Errorf("%q %s: %t", tt.role, tt.permission, got)
		}
	}
}

// A role in a project counts there alone, and only for registries and alerts.
func TestGrantsInProjects(t *testing.T) {
	g := &Grants{Projects: map[string]Role{"a": RegistryEditor, "b": "viewer member", "c": Admin}}
	for _, tt := range []struct {
		project    string
		permission Permission
		want       bool
	}{
		{"a", CreateRegistries, true},
		{"a", ReadAllProjects, false},
		{"b", ValidateRegistries, true},
		{"b", CreateRegistries, false},
		{"c", ConfigureAlerts, true},
		{"c", CreateUsers, false},
		{"", ReadRegistries, false},
		{"d", ReadRegistries, false},
	} {
		if got := g.In(tt.project, tt.permission); got != tt.want {
			t.Errorf("%s in %q: %t", tt.permission, tt.project, got)
		}
	}
	if got := g.Where(CreateRegistries); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("create in %q", got)
	}
	if (*Grants)(nil).In("a", ReadRegistries) || (*Grants)(nil).Where(ReadRegistries) != nil {
		t.Error("no grants grant something")
	}
}

// Each role can be given once, and nothing that is not one: neither the mark of more roles nor a role with spaces.
func TestProblem(t *testing.T) {
	for given, valid := range map[Role]bool{"viewer": true, "viewer auditor": true, "none": true, "": false, "owner": false,
		"viewer viewer": false, "viewer none": false, "viewer +": false, "+": false, " viewer": false, "operator": false} {
		if got := Problem(given, Assignable()) == ""; got != valid {
			t.Errorf("%q: %t", given, got)
		}
	}
	if Problem(Auditor, InProjects()) == "" || Problem(None, InProjects()) == "" {
		t.Error("given in a project")
	}
}
