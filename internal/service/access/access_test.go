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
