package palette_test

import (
	"strings"
	"testing"
)

// permissionsAbout is the data source of permissions: those about one thing, by name, in a scope.
func (p *provider) permissionsAbout(scope, name string) (permissions []string) {
	p.wire.t.Helper()
	var list []struct {
		Name, Scope string
		Permissions []string
	}
	p.must(get("/v1/permissions?scope="+scope), &list)
	for _, about := range list {
		if about.Scope != scope {
			p.wire.t.Errorf("the list of the scope %s has %+v", scope, about)
		}
		if about.Name == name && permissions != nil {
			p.wire.t.Errorf("%s is there twice", name)
		} else if about.Name == name {
			permissions = about.Permissions
		}
	}
	return permissions
}

// What the data source finds can be given to a role of the same scope, and the plan of the role is empty after it.
func TestPermissionDataSource(t *testing.T) {
	w := start(t)
	for scope, names := range map[string][]string{"project": {"registry", "alert"}, "tenant": {"user", "audit", "team"}} {
		c := roleConfig{Name: "From data of " + scope, Type: scope}
		for _, name := range names {
			found := w.plugin().permissionsAbout(scope, name)
			for _, permission := range found {
				if !strings.HasPrefix(permission, name+".") {
					t.Errorf("%s in the scope %s has %s", name, scope, permission)
				}
			}
			if c.Permissions = append(c.Permissions, found...); len(found) == 0 {
				t.Errorf("there is no %s in the scope %s", name, scope)
			}
		}
		p := w.plugin()
		uid := p.createdUID(post("/v1/roles", c.body(t), 201))
		if got, there := w.plugin().readRoleResource(uid); !there || !sameSet(got.Permissions, c.Permissions) {
			t.Errorf("the plan is not empty: there %t, %+v, want %+v", there, got, c)
		}
	}
	for _, scope := range []string{"resource", "system"} {
		if found := w.plugin().permissionsAbout(scope, "registry"); found != nil {
			t.Errorf("the scope %s has %v", scope, found)
		}
	}
	if found := w.plugin().permissionsAbout("project", "user"); found != nil {
		t.Errorf("roles in projects are offered %v", found)
	}
}
