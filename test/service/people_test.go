package service_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const matePassword = "twelve owls under the bridge"

func newUser(email string, more ...object) string {
	spec := object{"emailId": email, "password": matePassword}
	for _, m := range more {
		for name, value := range m {
			spec[name] = value
		}
	}
	return instance.JSON(object{"metadata": object{"creationTimestamp": "0001-01-01T00:00:00.000Z"}, "spec": spec})
}

func newKey(name, user, expiry string) string {
	return instance.JSON(object{"metadata": object{"name": name, "annotations": object{"a": "b"}},
		"spec": object{"expiry": expiry, "userUid": user}})
}

func tomorrow() string { return time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339) }

// person sends requests with one credential.
type person struct {
	t          *testing.T
	client     *instance.Client
	credential []string
}

func loggedIn(t *testing.T, server *instance.Server, email, org, password string) (person, instance.Tokens) {
	t.Helper()
	client := server.Client(t)
	tokens := client.Do(http.MethodPost, "/v1/auth", instance.Credentials(email, org, password)).Want(http.StatusOK).Tokens()
	return person{t, client, []string{"Authorization", tokens.Authorization}}, tokens
}

func withKey(t *testing.T, server *instance.Server, key string) person {
	t.Helper()
	return person{t, server.Client(t), []string{"ApiKey", key}}
}

func (p person) do(method, path, body string) instance.Response {
	p.t.Helper()
	return p.client.Do(method, path, body, p.credential...)
}

func (p person) get(path string, into any) {
	p.t.Helper()
	p.do(http.MethodGet, path, "").Want(http.StatusOK).Into(into)
}

// make posts a body and returns the uid of what it made.
func (p person) make(path, body string) string {
	p.t.Helper()
	var made struct{ UID string }
	p.do(http.MethodPost, path, body).Want(http.StatusCreated).Into(&made)
	if !uuid4.MatchString(made.UID) {
		p.t.Fatalf("made %q, want a uid", made.UID)
	}
	return made.UID
}

// refused requires an error response and returns it.
func (p person) refused(method, path, body string, status int, code string) instance.Response {
	p.t.Helper()
	response := p.do(method, path, body).Want(status)
	if f := response.Fault(); f.Code != code {
		p.t.Errorf("%s %s: %s, want %s", method, path, f.Code, code)
	}
	return response
}

// meta is the metadata of anything listed.
type meta struct{ UID, Name string }

type items struct {
	Items []struct {
		Metadata meta
		Spec     struct {
			EmailID  string
			Roles    []string
			Projects []meta
			User     meta
			Expiry   time.Time
		}
		Status struct {
			IsActive, IsCurrent bool
			LastLogin           time.Time `json:"lastSignIn"`
		}
	}
	ListMeta struct {
		Continue string
		Count    int
	}
}

func (i items) names() (names []string) {
	for _, item := range i.Items {
		names = append(names, item.Metadata.Name)
	}
	return names
}

// rival is another organization with an administrator, and what it has.
type rival struct {
	person
	user, project, key string
}

func newRival(t *testing.T, server *instance.Server) rival {
	t.Helper()
	server.Admin(t, "", "org", "create", "Rival")
	user := server.Admin(t, matePassword+"\n", "user", "create", "--org", "Rival", "--email", "boss@rival.example", "--role",
		"admin", "--password-stdin")
	p, _ := loggedIn(t, server, "boss@rival.example", "Rival", matePassword)
	var made struct{ UID string }
	p.do(http.MethodPost, "/v1/apiKeys", newKey("theirs", "", tomorrow())).Want(http.StatusCreated).Into(&made)
	return rival{p, user, p.make("/v1/projects", `{"metadata":{"name":"Secret plans"}}`), made.UID}
}

func TestProjectsAndUsers(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	blue := admin.make("/v1/projects", `{"metadata":{"name":"Blue"},"spec":{}}`)
	admin.refused("POST", "/v1/projects", `{"metadata":{"name":" BLUE "}}`, 409, "ProjectAlreadyExists")
	uid := admin.make("/v1/users", newUser("mate@acme.example", object{"projects": []string{"Blue"}, "firstName": "Mate"}))
	admin.refused("POST", "/v1/users", newUser("MATE@acme.example"), 409, "UserAlreadyExists")
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)

	sees := func(p person, want ...string) {
		t.Helper()
		for _, path := range []string{"/v1/projects", "/v1/dashboard/projects/metadata"} {
			var list items
			p.get(path, &list)
			if !slices.Equal(list.names(), want) {
				t.Errorf("%s: %q, want %q", path, list.names(), want)
			}
		}
	}
	sees(admin, "Blue", "Default")
	sees(mate, "Blue")
	admin.do("PUT", "/v1/users/"+uid+"/projects", `{"projects":[{"projectUid":"Default"}]}`).Want(http.StatusNoContent)
	sees(mate, "Default")
	mate.client.Do("GET", alerts, "", append(mate.credential, "ProjectUid", blue)...).Want(http.StatusNotFound)
	admin.do("PUT", "/v1/users/mate@acme.example/projects",
		`{"projects":[{"projectUid":"`+blue+`"},{"projectUid":"default"}]}`).Want(http.StatusNoContent)
	sees(mate, "Blue", "Default")
	wantFields(t, admin.refused("PUT", "/v1/users/"+uid+"/projects", `{"projects":[{"projectUid":"Blue"},{"projectUid":"`+noUID+`"}]}`, 400,
		"InvalidRequest").Fault(), "projects[1]")
	sees(mate, "Blue", "Default") // a change that was refused has changed nothing

	var users items
	admin.get("/v1/users", &users)
	if !slices.Equal(users.names(), []string{instance.Email, "mate@acme.example"}) || users.ListMeta.Count != 2 ||
		users.ListMeta.Continue != "" {
		t.Errorf("users are %+v", users)
	}
	if u := users.Items[1]; u.Spec.Roles[0] != "member" || !u.Status.IsActive || u.Status.LastLogin.IsZero() {
		t.Errorf("the user is %+v", u)
	}
	checkOneUser(t, admin, mate, uid)
	checkMembersRights(t, mate, uid)
	checkRoles(t, admin, mate, uid)
}

func checkOneUser(t *testing.T, admin, mate person, uid string) {
	t.Helper()
	for _, look := range []struct {
		by   person
		path string
	}{{admin, uid}, {admin, "mate@acme.example"}, {admin, url.PathEscape("mate@acme.example")}, {mate, uid}, {mate, "me"}} {
		var user struct {
			Metadata meta
			Spec     struct {
				EmailID  string
				Projects []meta
			}
		}
		look.by.get("/v1/users/"+look.path, &user)
		if user.Metadata.UID != uid || user.Spec.EmailID != "mate@acme.example" || len(user.Spec.Projects) != 2 {
			t.Errorf("%s: %+v", look.path, user)
		}
	}
	var info struct{ OrgName, TenantUID, UserUID string }
	mate.get("/v1/users/info", &info)
	if info.OrgName != instance.Org || info.UserUID != uid || !uuid4.MatchString(info.TenantUID) {
		t.Errorf("info is %+v", info)
	}
}

// A member manages nothing and sees no other user.
func checkMembersRights(t *testing.T, mate person, uid string) {
	t.Helper()
	for _, try := range []protectedOperation{
		{method: "POST", path: "/v1/projects", body: `{"metadata":{"name":"Mine"}}`},
		{method: "PUT", path: "/v1/projects/" + noUID, body: `{"metadata":{"name":"Mine"}}`},
		{method: "DELETE", path: "/v1/projects/" + noUID},
		{method: "GET", path: "/v1/users"},
		{method: "POST", path: "/v1/users", body: newUser("friend@acme.example")},
		{method: "GET", path: "/v1/users/" + instance.Email},
		{method: "GET", path: "/v1/users/unknown"},
		{method: "POST", path: "/v1/users/summary", body: `{"filter":{"emailId":{"eq":"mate@acme.example"}}}`},
		{method: "PUT", path: "/v1/users/" + uid, body: `{"spec":{"firstName":"Me"}}`},
		{method: "DELETE", path: "/v1/users/" + uid},
		{method: "DELETE", path: "/v1/users/unknown"},
		{method: "PUT", path: "/v1/users/" + uid + "/password", body: `{"password":"nine geese across the marsh"}`},
		{method: "GET", path: "/v1/users/" + instance.Email + "/roles"},
		{method: "GET", path: "/v1/users/" + instance.Email + "/projects"},
		{method: "GET", path: "/v1/users/" + instance.Email + "/resourceRoles"},
		{method: "GET", path: "/v1/workspaces/users/" + instance.Email + "/roles"},
		{method: "PUT", path: "/v1/users/" + uid + "/roles", body: `{"roles":["admin"]}`},
		{method: "PUT", path: "/v1/users/" + uid + "/projects", body: `{"projects":[{"projectUid":"Default"}]}`},
		{method: "PUT", path: "/v1/users/" + instance.Email + "/state", body: `{"isActive":false}`},
		{method: "PUT", path: "/v1/users/unknown/state", body: `{"isActive":false}`},
		{method: "POST", path: "/v1/apiKeys", body: newKey("theirs", instance.Email, tomorrow())},
		{method: "POST", path: "/v1/apiKeys", body: newKey("unowned", noUID, tomorrow())},
		{method: "GET", path: "/v1/audits?userUid=" + noUID},
		{method: "POST", path: importPath, body: importing(noAuth("https://registry.example.com"))},
	} {
		mate.refused(try.method, try.path, try.body, 403, "OperationForbidden")
	}
}

// A new role applies to tokens already in use; users cannot change their own.
func checkRoles(t *testing.T, admin, mate person, uid string) {
	t.Helper()
	var me struct{ Metadata meta }
	admin.get("/v1/users/me", &me)
	admin.refused("PUT", "/v1/users/"+me.Metadata.UID+"/roles", `{"roles":["member"]}`, 403, "OperationForbidden")
	admin.refused("PUT", "/v1/users/"+me.Metadata.UID+"/state", `{"isActive":false}`, 403, "OperationForbidden")
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["admin"]}`).Want(http.StatusNoContent)
	mate.do("GET", "/v1/users", "").Want(http.StatusOK)
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["member"]}`).Want(http.StatusNoContent)
	mate.refused("GET", "/v1/users", "", 403, "OperationForbidden")
	admin.do("PUT", "/v1/users/"+uid+"/state", `{"isActive":false}`).Want(http.StatusNoContent)
	mate.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	mate.client.Do("POST", "/v1/auth", instance.Credentials("mate@acme.example", instance.Org, matePassword)).Want(http.StatusUnauthorized)
	admin.do("PUT", "/v1/users/"+uid+"/state", `{"isActive":true}`).Want(http.StatusNoContent)
	mate.refused("GET", alerts, "", 401, "UnAuthorizedAccess") // what was ended stays so
	mate.client.Do("POST", "/v1/auth", instance.Credentials("mate@acme.example", instance.Org, matePassword)).Want(http.StatusOK)
}

// No identifier of another organization is confirmed: the response is that to one that never was.
func TestOtherOrganizationsAreNotThere(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	var sessions items
	theirs.get("/v1/users/me/sessions", &sessions)
	var records struct{ Items []struct{ Metadata meta } }
	theirs.get("/v1/audits", &records)
	validated := theirs.do("POST", validate, noAuth("http://169.254.169.254")).Header.Get("AuditUid")

	for _, try := range []struct{ method, before, uid, after, body, code string }{
		{"GET", "/v1/users/", theirs.user, "", "", "ResourceNotFound"},
		{"GET", "/v1/users/", "boss@rival.example", "", "", "ResourceNotFound"},
		{"PUT", "/v1/users/", theirs.user, "", `{"spec":{"firstName":"Ours"}}`, "ResourceNotFound"},
		{"DELETE", "/v1/users/", theirs.user, "", "", "ResourceNotFound"},
		{"PUT", "/v1/users/", theirs.user, "/password", `{"password":"nine geese across the marsh"}`, "ResourceNotFound"},
		{"GET", "/v1/users/", theirs.user, "/roles", "", "ResourceNotFound"},
		{"GET", "/v1/users/", theirs.user, "/projects", "", "ResourceNotFound"},
		{"GET", "/v1/users/", theirs.user, "/resourceRoles", "", "ResourceNotFound"},
		{"GET", "/v1/workspaces/users/", theirs.user, "/roles", "", "ResourceNotFound"},
		{"PUT", "/v1/users/", theirs.user, "/state", `{"isActive":false}`, "ResourceNotFound"},
		{"PUT", "/v1/users/", theirs.user, "/roles", `{"roles":["member"]}`, "ResourceNotFound"},
		{"PUT", "/v1/users/", theirs.user, "/projects", `{"projects":[]}`, "ResourceNotFound"},
		{"GET", "/v1/projects/", theirs.project, "", "", "ResourceNotFound"},
		{"PUT", "/v1/projects/", theirs.project, "", `{"metadata":{"name":"Ours"}}`, "ResourceNotFound"},
		{"DELETE", "/v1/projects/", theirs.project, "", "", "ResourceNotFound"},
		{"DELETE", "/v1/users/me/sessions/", sessions.Items[0].Metadata.UID, "", "", "ResourceNotFound"},
		{"GET", "/v1/apiKeys/", theirs.key, "", "", "ResourceNotFound"},
		{"PUT", "/v1/apiKeys/", theirs.key, "", newKey("mine", "", tomorrow()), "ResourceNotFound"},
		{"PATCH", "/v1/apiKeys/", theirs.key, "", `{"isActive":false}`, "ResourceNotFound"},
		{"PUT", "/v1/apiKeys/", theirs.key, "/state", `{"isActive":false}`, "ResourceNotFound"},
		{"DELETE", "/v1/apiKeys/", theirs.key, "", "", "ResourceNotFound"},
		{"GET", "/v1/audits/", records.Items[0].Metadata.UID, "", "", "ResourceNotFound"},
		{"GET", "/v1/audits/", validated, "", "", "ResourceNotFound"},
	} {
		foreign := admin.refused(try.method, try.before+try.uid+try.after, try.body, 404, try.code)
		unknown := admin.refused(try.method, try.before+noUID+try.after, try.body, 404, try.code)
		if a, b := withoutRef(foreign), withoutRef(unknown); a != b {
			t.Errorf("%s %s: %s, of an unknown one %s", try.method, try.before+try.uid, a, b)
		}
	}
	var orgs items
	admin.get("/v1/orgs", &orgs)
	if !slices.Equal(orgs.names(), []string{instance.Org}) {
		t.Errorf("organizations are %v", orgs.names())
	}
	admin.refused("POST", "/v1/orgs", `{"metadata":{"name":"Ours"}}`, 403, "OperationForbidden")
	for _, uid := range []string{orgs.Items[0].Metadata.UID, noUID} {
		admin.refused("GET", "/v1/orgs/"+uid+"/contents", "", 403, "OperationForbidden")
		f := admin.refused("DELETE", "/v1/orgs/"+uid+"?cascade=true", "", 403, "OperationForbidden").Fault()
		if !strings.Contains(f.Message, "on the server, with the command line") {
			t.Errorf("the message does not say where it can be deleted: %s", f.Message)
		}
	}
	for _, uid := range []string{theirs.user, noUID} {
		admin.refused("POST", "/v1/apiKeys", newKey("theirs", uid, tomorrow()), 404, "ResourceNotFound")
	}
	for _, uid := range []string{theirs.project, noUID} {
		f := admin.refused("POST", "/v1/users", newUser("a@acme.example", object{"projects": []string{uid}}), 400, "InvalidRequest").Fault()
		wantFields(t, f, "spec.projects[0]")
		response := admin.client.Do("GET", "/v1/projects", "", append(admin.credential, "ProjectUid", uid)...).Want(http.StatusNotFound)
		if f := response.Fault(); f.Code != "ProjectNotFoundInTenant" {
			t.Errorf("project %s: %s", uid, f.Code)
		}
	}
	var list items
	admin.get("/v1/audits?resourceUid="+theirs.user, &list)
	if len(list.Items) != 0 {
		t.Errorf("records about another organization's user: %+v", list.Items)
	}
	theirs.do("GET", "/v1/users/me/sessions", "").Want(http.StatusOK) // nothing of theirs was touched
}

// What is in a path's parameter stays in it: no slash or dot leads to another path, or to a redirect.
func TestPathParametersAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for _, path := range []string{"/v1/apiKeys/a%2F%2Fb", "/v1/apiKeys/%2e%2e", "/v1/apiKeys/..%2F..%2Fhealthz", "/v1/users/a%20b",
		"/v1/users/%2Fme", "/v1/audits/%00", "/v1/audits/%ff", "/v1/audits/'%20OR%201=1"} {
		admin.refused("GET", path, "", 404, "ResourceNotFound")
	}
	admin.refused("PUT", "/v1/users/%2e%2e%2fusers/state", `{"isActive":false}`, 404, "ResourceNotFound")
}

// withoutRef is a body without the part that differs each time.
func withoutRef(response instance.Response) string {
	f := response.Fault()
	return f.Code + " " + f.Message
}
