package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// scopePermissions are those of docs/users.md.
var scopePermissions = map[string][]string{
	"all": append(slices.Clone(rolePermissions["admin"]), ofAccount),
	"read": {"registry.get", "project.listAll", "user.list", "team.list", "trust.list", "role.list", "audit.listAll",
		byAnyone},
	"check": {"registry.get", "project.listAll", "registry.validate"},
	"registries": {"registry.get", "project.listAll", "registry.validate", "registry.create", "registry.update", "registry.delete",
		"registry.sync"},
	"provision": {"user.provision"},
}

// ofAccount stands for what every user may do with its own account.
const ofAccount = "account.manage"

// permissionOfKey is permissionOf for limited keys: what every user may do with its own account, and the own audit records, need one too.
func permissionOfKey(t *testing.T, op protectedOperation) string {
	t.Helper()
	switch path := op.path; {
	case path == "/v1/auth/logout", strings.HasPrefix(path, "/v1/apiKeys"), strings.HasPrefix(path, "/v1/users/me/"),
		strings.HasPrefix(path, "/v1/users/auth/"):
		return ofAccount
	case strings.HasPrefix(path, "/v1/audits"):
		return "audit.listAll"
	}
	return permissionOf(t, op)
}

// An administrator's key does what its scope and its project have, and every other operation is refused.
func TestMatrixOfScopes(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for scope, permissions := range scopePermissions {
		for _, limited := range []bool{false, true} {
			if scope == "all" && !limited {
				continue // the matrix of roles
			}
			name := scope
			if limited {
				name += "-in-project"
			}
			own, other := newScene(t, admin, name), newScene(t, admin, "beyond-"+name)
			spec := `{"expiry":"` + tomorrow() + `","scope":"` + scope + `"`
			if limited {
				spec += `,"projectUid":"` + own.project + `"`
			}
			var created struct{ APIKey string }
			admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"`+name+`"},"spec":`+spec+`}}`).Want(http.StatusCreated).Into(&created)
			key := withKey(t, server, created.APIKey)
			for _, op := range inOrder() {
				needs, path := permissionOfKey(t, op), own.on(op.path)
				mine := needs == byAnyone || slices.Contains(permissions, needs)
				if limited {
					mine = mine && (needs == byAnyone || slices.Contains(projectPermissions["admin"], needs))
					mine = mine || needs == "project.listAll" && scope != "provision"
					if beyond := other.on(op.path); beyond != op.path && needs != byAnyone {
						refuses(t, "a key of another project, "+name, key.do(op.method, beyond, op.body), op)
					}
				}
				got := key.do(op.method, path, op.body)
				switch {
				case !mine && !limited && needs == "project.listAll" && path == op.path: // none, even if its user is in some
					if got.Want(http.StatusOK); strings.Contains(got.Body, own.project) {
						t.Errorf("a key with the scope %s sees %s", name, got.Body)
					}
				case !mine:
					refuses(t, "a key with the scope "+name, got, op)
				case got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized:
					t.Errorf("a key with the scope %s may not do %s %s: %d %s", name, op.method, op.path, got.Status, got.Body)
				}
				for _, hidden := range []string{other.registry, other.helm, other.project, other.channel, "r-beyond"} {
					if limited && strings.Contains(got.Body, hidden) {
						t.Errorf("%s %s shows %s of another project: %s", op.method, op.path, hidden, got.Body)
					}
				}
			}
		}
	}
}

// The limits of a key are those of its creation, and rotating it does not lose them.
func TestLimitsOfKeysAreShownAndStay(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	project := admin.project()
	var created struct{ APIKey, UID string }
	admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"ci"},"spec":{"expiry":"`+tomorrow()+`","scope":"check","projectUid":"`+
		project+`"}}`).Want(http.StatusCreated).Into(&created)
	admin.do("PUT", "/v1/apiKeys/"+created.UID, `{"metadata":{"name":"ci"},"spec":{"scope":"all","projectUid":""}}`).
		Want(http.StatusNoContent)
	server.Admin(t, "", "apikey", "rotate", "ci", "--org", instance.Org)
	var list struct {
		Items []struct {
			Spec struct{ Scope, ProjectUID string }
		}
	}
	admin.get("/v1/apiKeys", &list)
	if len(list.Items) != 2 {
		t.Errorf("%d keys", len(list.Items))
	}
	for _, key := range list.Items {
		if key.Spec.Scope != "check" || key.Spec.ProjectUID != project {
			t.Errorf("a key has the limits %+v", key.Spec)
		}
	}
	admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"x"},"spec":{"expiry":"`+tomorrow()+`","scope":"write","projectUid":"`+
		noUID+`"}}`).Want(http.StatusBadRequest)
	f := admin.do("POST", "/v1/apiKeys", `{"metadata":{"name":"x"},"spec":{"expiry":"`+tomorrow()+`","projectUid":"`+noUID+`"}}`).
		Want(http.StatusBadRequest).Fault()
	wantFields(t, f, "spec.projectUid")
	key := withKey(t, server, created.APIKey)
	f = key.do("POST", "/v1/apiKeys", newKey("more", "", tomorrow())).Want(http.StatusForbidden).Fault()
	if f.Details.Reason != ofAccount {
		t.Errorf("the reason is %q", f.Details.Reason)
	}
	admin.do("DELETE", "/v1/projects/"+project, "").Want(http.StatusNoContent) // then the key may do nothing
	key.do("GET", registriesPath+"/summary", "").Want(http.StatusNotFound)
}
