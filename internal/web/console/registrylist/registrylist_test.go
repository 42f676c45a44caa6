package registrylist

import (
	"testing"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

// Only a caller who may see the registries of all projects is shown that the organization has none.
func TestNone(t *testing.T) {
	const text, add = "Your organization has no registries yet. Registries that you store are checked on a schedule.", path + "/new"
	const unseen = "There is no registry that you may see."
	in := func(role auth.Role) auth.Principal {
		return auth.Principal{Role: access.None, Grants: &access.Grants{Projects: map[string]access.Role{"p": role}}}
	}
	for name, test := range map[string]struct {
		caller auth.Principal
		want   views.Empty
	}{
		"an administrator":        {auth.Principal{Role: auth.RoleAdmin}, views.Empty{Text: text, Path: add, Action: "Add a registry"}},
		"a member":                {auth.Principal{Role: auth.RoleMember}, views.Empty{Text: text + " An administrator can add one."}},
		"without a role":          {auth.Principal{Role: access.None}, views.Empty{Text: unseen}},
		"a member of a project":   {in(auth.RoleMember), views.Empty{Text: unseen}},
		"the editor of a project": {in(access.RegistryEditor), views.Empty{Text: unseen, Path: add, Action: "Add a registry"}},
	} {
		if got := None(test.caller); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLabelText(t *testing.T) {
	r := Row{Details: registries.Details{Labels: map[string]string{"token": "YQ==", "empty": "", "team": "a"}}}
	if got := r.LabelText(); got != "empty, team=a, token=YQ==" {
		t.Error(got)
	}
}
