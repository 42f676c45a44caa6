package service_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// Operations that no permission decides.
const (
	byAnyone = ""  // every user of the organization, within what is its own
	byNoRole = "-" // only the operator, who uses the command line
)

// permissionsOf has what an operation needs, the first that matches its method and path.
var permissionsOf = []struct{ operation, permission string }{
	{"POST .*/(validate|diagnose|scan)", "registry.validate"},
	{"POST .*/check|POST /v1/registries/oci/bulk", "registry.validate"}, // of the action check
	{"POST .*/sync", "registry.sync"},
	{"POST /v1/registries/.*", "registry.create"},
	{"PUT /v1/registries/.*", "registry.update"},
	{"DELETE /v1/registries/.*", "registry.delete"},
	{"GET /v1/registries/pack.*", byAnyone}, // always empty
	{"GET /v1/registries/.*", "registry.get"},
	{"(POST|PUT|DELETE) /v1/projects/.*/alerts/.*", "alert.update"},
	{"GET /v1/expiry", byAnyone}, // of what it may see
	{"GET /v1/alerts/reminders", byAnyone},
	{"PUT /v1/alerts/reminders", "tenant.update"},
	{"GET /v1/alerts/mutes", "registry.get"},
	{"POST /v1/alerts/mutes", "project.update"}, // of the organization: only its administrators
	{"DELETE /v1/alerts/mutes/.*", "alert.update"},
	{"GET /v1/projects/alerts", byAnyone},
	{"GET /v1/orgs", byAnyone}, // its own
	{"(GET|POST|PUT|DELETE) /v1/orgs(/.*)?", byNoRole},
	{"GET /v1/projects(/.*)?|GET /v1/dashboard/.*", "project.listAll"},
	{"POST /v1/projects", "project.create"},
	{"PUT /v1/projects/.*", "project.update"},
	{"DELETE /v1/projects/.*", "project.delete"},
	{"GET /v1/users/(info|me/.*)|(POST|PATCH|DELETE) /v1/users/me/.*|POST /v1/users/auth/.*", byAnyone},
	{"GET /v1/(workspaces/)?users(/.*)?|POST /v1/users/summary", "user.list"},
	{"POST /v1/users", "user.create"},
	{"PUT /v1/users/.*/password|POST /v1/users/.*/invitation|DELETE /v1/users/.*/mfa", "user.setPassword"},
	{"PUT /v1/users/.*/state", "user.disable"},
	{"PUT /v1/users/.*", "user.update"},
	{"DELETE /v1/users/.*", "user.delete"},
	{"(GET|POST) /v1/apiKeys", byAnyone},
	{".* /v1/apiKeys/.*", "apiKey.manageAll"},
	{"GET /v1/(workspaces/)?teams(/.*)?|POST /v1/teams/summary", "team.list"},
	{"POST /v1/teams", "team.create"},
	{"(PUT|PATCH) /v1/(workspaces/)?teams/.*", "team.update"},
	{"DELETE /v1/teams/.*", "team.delete"},
	{"GET /v1/trustRules(/.*)?", "trust.list"},
	{"POST /v1/trustRules", "trust.create"},
	{"DELETE /v1/trustRules/.*", "trust.delete"},
	{"GET /v1/(roles(/.*)?|permissions)", "role.list"},
	{"POST /v1/roles(/.*/clone)?", "role.create"},
	{"PUT /v1/roles/.*", "role.update"},
	{"DELETE /v1/roles/.*", "role.delete"},
	{"GET /v1/sso", "trust.list"},
	{"PUT /v1/sso", "trust.create"},
	{"DELETE /v1/sso", "trust.delete"},
	{"GET /v1/auth/orgs", byAnyone},  // its own
	{"GET /v1/tenants/.*", byAnyone}, // as if nothing was set, without trust.list
	{"(PUT|POST) /v1/tenants/.*/(authTokenSettings|password/policy|mfa)", "tenant.update"},
	{"POST /v1/tenants/.*", "trust.create"},
	{".* /scim/v2/.*", "user.provision"},
	{"GET /v1/audits", byAnyone},
	{"GET /v1/audits/.*", "audit.listAll"},
	{"GET /v1/(service|clouds/.*)|POST /v1/auth/logout", byAnyone},
}

// customRole stands for a role that the organization defines.
const customRole = "custom"

// rolePermissions are those of docs/roles.md.
var rolePermissions = map[string][]string{
	"admin": {"registry.get", "registry.validate", "registry.create", "registry.update", "registry.delete", "registry.sync",
		"alert.update", "project.listAll", "project.create", "project.update", "project.delete", "user.list", "user.create",
		"user.update", "user.delete", "user.setPassword", "user.disable", "apiKey.manageAll", "team.list", "team.create", "team.update",
		"team.delete", "trust.list", "trust.create",
		"trust.delete", "audit.listAll", "role.list", "role.create", "role.update", "role.delete", "tenant.update", "user.provision"},
	customRole: {"registry.get", "registry.sync", "audit.listAll", "user.list"},
	"member":   {"registry.get", "registry.validate"},
	"viewer":   {"registry.get", "project.listAll"},
	"registry-editor": {"registry.get", "registry.validate", "registry.create", "registry.update", "registry.delete", "registry.sync",
		"project.listAll"},
	"none":    {},
	"auditor": {"registry.get", "project.listAll", "user.list", "team.list", "trust.list", "audit.listAll", "role.list"},
}

func permissionOf(t *testing.T, op protectedOperation) string {
	t.Helper()
	text := op.method + " " + op.path
	if strings.HasSuffix(op.path, "/contents") && strings.HasPrefix(op.path, "/v1/projects/") {
		return "project.delete"
	}
	for _, p := range permissionsOf {
		if regexp.MustCompile("^(" + p.operation + ")$").MatchString(text) {
			return p.permission
		}
	}
	t.Fatalf("what does %s need?", text)
	return ""
}

// scene is what an organization has, for operations to be tried on.
type scene struct{ role, org, registry, helm, project, channel, mute, user, team, key, trust, audit string }

// newScene stores registries in the project of the scene.
func newScene(t *testing.T, admin person, name string) (s scene) {
	t.Helper()
	definition := spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil)
	created := admin.do("POST", "/v1/projects", `{"metadata":{"name":"Project of `+name+`"}}`).Want(http.StatusCreated)
	var made struct{ UID string }
	created.Into(&made)
	s.project, s.audit = made.UID, created.Header.Get("AuditUid")
	admin.credential = append(slices.Clone(admin.credential), "ProjectUid", s.project)
	s.registry = admin.make(registriesPath, newRegistry("r-"+name, definition))
	s.helm = admin.make("/v1/registries/helm", newRegistry("h-"+name, helmSpec))
	s.channel = admin.make(channelsOf(s.project), hook("http://127.0.0.1:5000/"))
	s.mute = admin.make("/v1/alerts/mutes", `{"spec":{"registryUid":"`+s.registry+`","until":"`+tomorrow()+`"}}`)
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	s.org = me.TenantUID
	s.user = admin.make("/v1/users", `{"spec":{"emailId":"target-`+name+`@acme.example"}}`)
	s.role = admin.make("/v1/roles", roleBody("role of "+name, "project", "registry.get"))
	s.team = admin.make("/v1/teams", `{"metadata":{"name":"team of `+name+`"}}`)
	admin.do("POST", "/v1/apiKeys", newKey("k-"+name, "", tomorrow())).Want(http.StatusCreated).Into(&made)
	s.key = made.UID
	s.trust = admin.make("/v1/trustRules", `{"metadata":{"name":"t-`+name+`"},"spec":{"issuer":"https://issuer.example.com",`+
		`"audience":"regwarden-`+name+`","claims":{"sub":"x"}}}`)
	return s
}

// on returns the path of an operation on what the scene has.
func (s scene) on(path string) string {
	target := map[string]string{"alerts": s.mute, "tenants": s.org, "roles": s.role,
		"registries": s.registry, "users": s.user, "apiKeys": s.key, "trustRules": s.trust, "audits": s.audit,
		"teams": s.team, "projects": s.project, "orgs": noUID}[strings.Split(strings.Replace(path, "/workspaces", "", 1), "/")[2]]
	if strings.HasPrefix(path, "/v1/registries/helm/") {
		target = s.helm
	}
	switch {
	case strings.HasPrefix(path, scimUsers):
		target = s.user
	case strings.HasPrefix(path, scimGroups):
		target = s.team
	}
	path = strings.Replace(path, noUID, target, 1)
	return strings.Replace(path, noUID, s.channel, 1)
}

// inOrder has the operations that delete at the end, and the one that ends the session last.
func inOrder() []protectedOperation {
	sorted := append(slices.Clone(operations), protectedOperation{method: http.MethodPost, path: scan, body: `{"auths":{}}`})
	slices.SortStableFunc(sorted, func(a, b protectedOperation) int { return rankOfOperation(a) - rankOfOperation(b) })
	return sorted
}

func rankOfOperation(op protectedOperation) int {
	switch {
	case op.path == "/v1/auth/logout":
		return 3
	case op.method == http.MethodDelete:
		return 2
	case op.method != http.MethodGet:
		return 1
	}
	return 0
}

// Every operation is refused to every role that does not have its permission, and to every role of another organization; no role is
// refused what it may do.
func TestMatrixOfRoles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	for role, permissions := range rolePermissions {
		s := newScene(t, admin, role)
		named := []string{role, role}
		if role == customRole {
			body := roleBody("Role", "tenant", permissions...)
			named = []string{admin.make("/v1/roles", body), theirs.make("/v1/roles", body)}
		}
		uid := admin.make("/v1/users", newUser("as-"+role+"@acme.example", object{"roles": named[:1]}))
		if role == "registry-editor" || role == "auditor" { // the same by a team
			team := admin.make("/v1/teams", instance.JSON(object{"metadata": object{"name": role},
				"spec": object{"users": []string{uid}, "roles": []string{role}}}))
			admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["none"]}`).Want(http.StatusNoContent)
			admin.do("PUT", "/v1/teams/"+team+"/roles", `{"roles":["`+role+`"]}`).Want(http.StatusNoContent)
		}
		caller, _ := loggedIn(t, server, "as-"+role+"@acme.example", instance.Org, matePassword)
		theirs.make("/v1/users", newUser(role+"@rival.example", object{"roles": named[1:]}))
		rival, _ := loggedIn(t, server, role+"@rival.example", "Rival", matePassword)
		for _, op := range inOrder() {
			needs, path := permissionOf(t, op), s.on(op.path)
			mine := needs == byAnyone || slices.Contains(permissions, needs)
			if path != op.path && needs != byAnyone {
				refuses(t, role+" of another organization", rival.do(op.method, path, op.body), op)
			}
			got := caller.do(op.method, path, op.body)
			switch {
			case !mine && needs == "project.listAll" && path == op.path: // its own projects
				got.Want(http.StatusOK)
			case !mine:
				refuses(t, role, got, op)
			case got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized:
				t.Errorf("%s may not do %s %s: %d %s", role, op.method, op.path, got.Status, got.Body)
			}
		}
	}
}

func refuses(t *testing.T, who string, got instance.Response, op protectedOperation) {
	t.Helper()
	if got.Status != http.StatusForbidden && got.Status != http.StatusNotFound {
		t.Errorf("%s may do %s %s: %d %s", who, op.method, op.path, got.Status, got.Body)
	}
}

// projectPermissions are those of docs/roles.md in a project.
var projectPermissions = map[string][]string{
	"member":          {"registry.get", "registry.validate"},
	"viewer":          {"registry.get"},
	"registry-editor": {"registry.get", "registry.validate", "registry.create", "registry.update", "registry.delete", "registry.sync"},
	"admin": {"registry.get", "registry.validate", "registry.create", "registry.update", "registry.delete", "registry.sync",
		"alert.update"},
	customRole: {"registry.get", "registry.sync", "alert.update"},
}

// A user with a role in one project only may do what the role grants there, and neither sees nor changes anything of another project.
func TestMatrixOfProjectRoles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	for role, permissions := range projectPermissions {
		own, other := newScene(t, admin, role), newScene(t, admin, "beyond-"+role)
		uid := admin.make("/v1/users", newUser("in-"+role+"@acme.example"))
		given := "/v1/users/" + uid
		if role == "registry-editor" { // by a team
			given = "/v1/teams/" + admin.make("/v1/teams", instance.JSON(object{"metadata": object{"name": "in " + role},
				"spec": object{"users": []string{uid}}}))
		}
		named, theirRole := role, role
		if role == customRole {
			body := roleBody("Role", "project", permissions...)
			named, theirRole = admin.make("/v1/roles", body), theirs.make("/v1/roles", body)
		}
		admin.do("PUT", given+"/projects", projectRole(own.project, named)).Want(http.StatusNoContent)
		theirUser := theirs.make("/v1/users", newUser("in-"+role+"@rival.example"))
		theirs.do("PUT", "/v1/users/"+theirUser+"/projects", projectRole(theirs.project, theirRole)).Want(http.StatusNoContent)
		rival, _ := loggedIn(t, server, "in-"+role+"@rival.example", "Rival", matePassword)
		if role == "member" { // else the user is still a member of the organization
			admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["none"]}`).Want(http.StatusNoContent)
		}
		caller, _ := loggedIn(t, server, "in-"+role+"@acme.example", instance.Org, matePassword)
		var created struct{ APIKey string }
		caller.do("POST", "/v1/apiKeys", newKey("mine", "", tomorrow())).Want(http.StatusCreated).Into(&created)
		keyed := withKey(t, server, created.APIKey)
		for _, op := range inOrder() {
			needs, path := permissionOf(t, op), own.on(op.path)
			if needs == "registry.create" {
				refuses(t, role+" of a project, in none", caller.do(op.method, path, op.body), op)
			}
			caller.credential, keyed.credential = caller.credential[:2], keyed.credential[:2]
			caller.credential = append(caller.credential, "ProjectUid", own.project)
			keyed.credential = append(keyed.credential, "ProjectUid", own.project)
			if beyond := other.on(op.path); beyond != op.path && needs != byAnyone {
				refuses(t, role+" of another project", caller.do(op.method, beyond, op.body), op)
				refuses(t, "a key of "+role+" of another project", keyed.do(op.method, beyond, op.body), op)
			}
			if path != op.path && needs != byAnyone {
				refuses(t, role+" of a project of another organization", rival.do(op.method, path, op.body), op)
			}
			mine := needs == byAnyone || needs == "project.listAll" || slices.Contains(permissions, needs)
			got := caller.do(op.method, path, op.body)
			switch {
			case !mine:
				refuses(t, role+" of the project", got, op)
			case got.Status == http.StatusForbidden || got.Status == http.StatusUnauthorized:
				t.Errorf("%s of the project may not do %s %s: %d %s", role, op.method, op.path, got.Status, got.Body)
			}
			for _, hidden := range []string{other.registry, other.helm, other.project, other.channel, "r-beyond"} {
				if strings.Contains(got.Body, hidden) {
					t.Errorf("%s %s shows %s of another project: %s", op.method, op.path, hidden, got.Body)
				}
			}
			caller.credential, keyed.credential = caller.credential[:2], keyed.credential[:2]
		}
	}
}

// projectRole is a role in one project.
func projectRole(project, role string) string {
	return `{"projects":[{"projectUid":"` + project + `","roles":["` + role + `"]}]}`
}

// A role that was given or taken counts for sessions and keys that exist.
func TestChangedRolesCountAtOnce(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make("/v1/users", newUser("mate@acme.example", object{"roles": []string{"viewer", "auditor"}}))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	create := func(name string, status int) {
		t.Helper()
		mate.do("POST", registriesPath, newRegistry(name, spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil))).Want(status)
	}
	create("a", http.StatusForbidden)
	mate.do("GET", "/v1/users", "").Want(http.StatusOK)
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["registry-editor"]}`).Want(http.StatusNoContent)
	create("a", http.StatusCreated)
	mate.do("GET", "/v1/users", "").Want(http.StatusForbidden)
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["none"]}`).Want(http.StatusNoContent)
	create("b", http.StatusForbidden)
	mate.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusForbidden)

	project := admin.project()
	admin.do("PUT", "/v1/users/"+uid+"/projects", `{"projects":[{"projectUid":"`+project+`","roles":["registry-editor"]}]}`).
		Want(http.StatusNoContent)
	mate.credential = append(mate.credential, "ProjectUid", project)
	create("b", http.StatusCreated)
	var list items
	if mate.get("/v1/registries/oci/summary", &list); !slices.Equal(list.names(), []string{"b"}) {
		t.Errorf("the user sees %q", list.names())
	}
	admin.do("PUT", "/v1/users/"+uid+"/projects", `{"projects":[]}`).Want(http.StatusNoContent)
	mate.credential = mate.credential[:2]
	mate.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusForbidden)
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":[]}`).Want(http.StatusNoContent) // as Terraform does: none stays none
	mate.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusForbidden)
}

// The roles and permissions are those of this test, which has all but those of a few operations on what is not a user's own.
func TestRolesAreListed(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var roles struct {
		Items []struct {
			Metadata meta
			Spec     struct {
				Permissions []string
				Scope       string
			}
		}
	}
	admin.get("/v1/roles", &roles)
	if len(roles.Items) != len(rolePermissions)-2 { // none is no role
		t.Errorf("%d roles", len(roles.Items))
	}
	for _, role := range roles.Items {
		for _, permission := range rolePermissions[role.Metadata.UID] {
			if !slices.Contains(role.Spec.Permissions, permission) {
				t.Errorf("%s lacks %s", role.Metadata.Name, permission)
			}
		}
		if _, is := projectPermissions[role.Metadata.UID]; is != (role.Spec.Scope == "project") {
			t.Errorf("%s has the scope %s", role.Metadata.Name, role.Spec.Scope)
		}
		admin.do("GET", "/v1/roles/"+role.Metadata.UID, "").Want(http.StatusOK)
	}
	admin.refused("GET", "/v1/roles/owner", "", http.StatusNotFound, "ResourceNotFound")
	var groups []struct {
		Name, Scope string
		Permissions []string
	}
	admin.get("/v1/permissions?scope=project", &groups)
	var names []string
	for _, group := range groups {
		names = append(names, group.Permissions...)
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(projectPermissions["admin"])); !slices.Equal(names, want) {
		t.Errorf("permissions in projects: %q, want %q", names, want)
	}
}
