package service_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// bodyOperations are the operations with a JSON body, and one that they accept.
func bodyOperations() (all []protectedOperation) {
	for _, op := range append(slices.Clone(operations),
		protectedOperation{method: "POST", path: "/v1/auth/authenticate",
			body: instance.Credentials(instance.Email, instance.Org, instance.Password)},
		protectedOperation{method: "POST", path: "/v1/auth", body: instance.Credentials(instance.Email, instance.Org, instance.Password)},
		protectedOperation{method: "POST", path: verifyPath, body: `{"code":"1"}`},
		protectedOperation{method: "POST", path: "/v1/apiKeys/revoke", body: `{"apiKey":"rwk_x"}`},
		protectedOperation{method: "PATCH", path: "/v1/auth/password/x/activate", body: `{"password":"x"}`},
		protectedOperation{method: "POST", path: importPath, body: importing(noAuth("https://registry.example.com"))},
	) {
		if op.body != "" {
			all = append(all, op)
		}
	}
	return all
}

// The list above has each operation of the description with a body, except the one that takes any file.
func TestBodyOperationsAreComplete(t *testing.T) {
	t.Parallel()
	listed := map[string]int{}
	for _, op := range bodyOperations() {
		listed[op.method]++
	}
	for method, want := range describedBodies(t) {
		if listed[method] < want {
			t.Errorf("%d operations %s have a body, %d are listed", want, method, listed[method])
		}
	}
}

// describedBodies counts the operations of api/openapi.yaml with a JSON body and nothing else, by method.
func describedBodies(t *testing.T) map[string]int {
	t.Helper()
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	server := instance.Start(t, instance.Options{})
	server.Client(t).Do(http.MethodGet, "/v1/openapi.json", "").Want(http.StatusOK).Into(&description)
	count := map[string]int{}
	for _, methods := range description.Paths {
		for method, raw := range methods {
			var operation struct {
				RequestBody struct{ Content map[string]json.RawMessage }
			}
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(raw, &operation); err != nil {
				t.Fatal(err)
			}
			if content := operation.RequestBody.Content; len(content) == 1 && content["application/json"] != nil {
				count[strings.ToUpper(method)]++
			}
		}
	}
	return count
}

// A body, or any part of it, that is a list with null, is refused and never an error of the service.
func TestBodiesWithNullInAListAreRefused(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	for _, op := range bodyOperations() {
		for _, body := range []string{`[null]`, `null`, `[[null]]`, `[{}]`, `[` + op.body + `]`} {
			if f := client.Do(op.method, op.path, body, good...).Want(http.StatusBadRequest).Fault(); f.Code != "InvalidRequest" {
				t.Errorf("%s %s %s: %s", op.method, op.path, body, f.Code)
			}
		}
		if strings.HasPrefix(op.body, "[") {
			continue
		}
		var parts object
		if err := json.Unmarshal([]byte(op.body), &parts); err != nil {
			t.Fatal(err)
		}
		for _, body := range withNulls(parts) {
			if status := client.Do(op.method, op.path, instance.JSON(body), good...).Status; status < 400 || status >= 500 {
				t.Errorf("%s %s %s: %d", op.method, op.path, instance.JSON(body), status)
			}
		}
	}
	client.Do(http.MethodGet, "/v1/users/info", "", good...).Want(http.StatusOK)
}

// withNulls returns copies of a body in each of which one part is [null], except those that the service ignores.
func withNulls(body object) (all []object) {
	for name, part := range body {
		if slices.Contains(api.IgnoredFields, "metadata."+name) {
			continue
		}
		replaced := func(with any) object {
			changed := object{}
			for other, value := range body {
				changed[other] = value
			}
			changed[name] = with
			return changed
		}
		all = append(all, replaced([]any{nil}))
		if inner, ok := part.(object); ok {
			for _, changed := range withNulls(inner) {
				all = append(all, replaced(changed))
			}
		}
	}
	return all
}

// Fields that the caller must not set, at each level of a body, have no effect: nothing gets the chosen uid, role or owner, and another
// organization stays as it was.
func TestFieldsOfTheServiceCannotBeSet(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	server.Admin(t, "", "org", "create", "Rival")
	server.Admin(t, matePassword+"\n", "user", "create", "--org", "Rival", "--email", "eve@rival.example", "--role",
		"admin", "--password-stdin")
	rival := []string{"Authorization",
		client.Do(http.MethodPost, "/v1/auth/authenticate",
			instance.Credentials("eve@rival.example", "Rival", matePassword)).Want(http.StatusOK).Tokens().Authorization}
	own := []string{"Authorization", client.Login().Authorization}
	lists := []string{"/v1/users", "/v1/projects", "/v1/apiKeys", "/v1/registries/oci/summary"}
	before := map[string]string{}
	for _, path := range lists {
		before[path] = client.Do(http.MethodGet, path, "", rival...).Want(http.StatusOK).Body
	}
	var ids struct {
		Items []struct{ Metadata struct{ UID string } }
	}
	client.Do(http.MethodGet, "/v1/users", "", rival...).Into(&ids)
	rivalUID := ids.Items[0].Metadata.UID
	chosen := object{"uid": noUID, "id": noUID, "role": "admin", "isAdmin": true, "permissions": []string{"*"}, "tenant": "Rival",
		"tenantUid": rivalUID, "orgUid": rivalUID,
		"org": "Rival", "organization": "Rival", "createdBy": rivalUID, "createdByUid": rivalUID, "ownerUid": rivalUID,
		"projectUid": rivalUID, "user": object{"uid": rivalUID},
		"passwordHash": "x", "version": 99, "usage": 0, "prefix": "rwk_x", "lastUsed": "2020-01-01T00:00:00.000Z",
		"status": object{"isActive": true, "isSystem": true, "roles": []string{"admin"}}}
	made := map[string]string{}
	for _, create := range []struct{ path, body string }{
		{"/v1/projects", `{"metadata":{"name":"Blue"}}`},
		{"/v1/users", newUser("new@acme.example")},
		{"/v1/apiKeys", newKey("ci", "", tomorrow())},
		{registriesPath, newRegistry("new", spec("https://registry.example.com", object{"type": "noAuth"}, nil))},
	} {
		var body object
		if err := json.Unmarshal([]byte(create.body), &body); err != nil {
			t.Fatal(err)
		}
		assign(body, chosen)
		if spec, ok := body["spec"].(object); ok && create.path == "/v1/apiKeys" {
			delete(spec, "projectUid") // a field of keys: that of another organization is refused
		}
		var created struct{ UID string }
		client.Do(http.MethodPost, create.path, instance.JSON(body), own...).Want(http.StatusCreated).Into(&created)
		if made[create.path] = created.UID; created.UID == noUID || created.UID == "" {
			t.Errorf("POST %s has the uid %q", create.path, created.UID)
		}
	}
	var user struct{ Spec struct{ Roles []string } }
	client.Do(http.MethodGet, "/v1/users/"+made["/v1/users"], "", own...).Want(http.StatusOK).Into(&user)
	if !slices.Equal(user.Spec.Roles, []string{"member"}) {
		t.Errorf("the user has the roles %v", user.Spec.Roles)
	}
	var key struct {
		Spec struct{ User struct{ EmailID string } }
	}
	client.Do(http.MethodGet, "/v1/apiKeys/"+made["/v1/apiKeys"], "", own...).Want(http.StatusOK).Into(&key)
	if key.Spec.User.EmailID != instance.Email {
		t.Errorf("the key belongs to %q", key.Spec.User.EmailID)
	}
	for _, path := range lists {
		if after := client.Do(http.MethodGet, path, "", rival...).Want(http.StatusOK).Body; after != before[path] {
			t.Errorf("GET %s of the other organization was\n%s and is\n%s", path, before[path], after)
		}
	}
	// An owner of another organization is refused, and a member cannot make itself an administrator.
	client.Do(http.MethodPost, "/v1/apiKeys", newKey("theirs", rivalUID, tomorrow()), own...).Want(http.StatusNotFound)
	member := []string{"Authorization",
		client.Do(http.MethodPost, "/v1/auth/authenticate",
			instance.Credentials("new@acme.example", instance.Org, matePassword)).Want(http.StatusOK).Tokens().Authorization}
	at := "/v1/users/" + made["/v1/users"]
	for _, op := range []protectedOperation{{method: "PUT", path: at, body: `{"spec":{"firstName":"N","roles":["admin"],"role":"admin"}}`},
		{method: "PUT", path: at + "/roles", body: `{"roles":["admin"]}`},
		{method: "PUT", path: at + "/state", body: `{"isActive":true}`}} {
		client.Do(op.method, op.path, op.body, member...).Want(http.StatusForbidden)
	}
	client.Do(http.MethodPatch, "/v1/users/me/password",
		`{"currentPassword":"`+matePassword+`","newPassword":"nine geese across the `+
			`marsh","roles":["admin"],"role":"admin","isAdmin":true}`, member...).Want(http.StatusNoContent)
	client.Do(http.MethodGet, at, "", own...).Want(http.StatusOK).Into(&user)
	if !slices.Equal(user.Spec.Roles, []string{"member"}) {
		t.Errorf("after its changes, the user has the roles %v", user.Spec.Roles)
	}
}

// assign adds fields to each object of a body that has none of that name.
func assign(body, fields object) {
	for _, part := range body {
		if inner, ok := part.(object); ok {
			assign(inner, fields)
		}
	}
	for name, value := range fields {
		if _, there := body[name]; !there {
			body[name] = value
		}
	}
}

// Names and addresses with line breaks, which would begin another header in an email, are refused wherever they can be set.
func TestLineBreaksAreRefusedInNames(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	for _, lineBreak := range []string{"\r\n", "\n", "\r"} {
		injected := "x" + lineBreak + "Bcc: eve@rival.example"
		for _, op := range []protectedOperation{
			{method: "POST", path: "/v1/orgs", body: instance.JSON(object{"metadata": object{"name": injected}})},
			{method: "POST", path: "/v1/projects", body: instance.JSON(object{"metadata": object{"name": injected}})},
			{method: "POST", path: "/v1/users", body: newUser("a@acme.example"+lineBreak+"Bcc: eve@rival.example", object{})},
			{method: "POST", path: "/v1/users", body: newUser("b@acme.example", object{"firstName": injected})},
			{method: "POST", path: "/v1/users", body: newUser("c@acme.example", object{"lastName": injected})},
			{method: "POST", path: "/v1/apiKeys", body: newKey(injected, "", tomorrow())},
			{method: "POST", path: registriesPath,
				body: newRegistry(injected, spec("https://registry.example.com", object{"type": "noAuth"}, nil))},
			{method: "POST", path: channelsOf(projectOf(t, client, good)),
				body: instance.JSON(object{"type": "email", "isActive": true,
					"identifiers": []string{"a@acme.example" + lineBreak + "Bcc: eve@rival.example"}})},
			{method: "POST", path: channelsOf(projectOf(t, client, good)), body: instance.JSON(object{"type": "http", "isActive": true,
				"http": object{"method": "POST", "url": "https://hooks.example.com/x", "headers": object{"X-A": injected}}})},
		} {
			if f := client.Do(op.method, op.path, op.body, good...).Want(http.StatusBadRequest).Fault(); f.Code != "InvalidRequest" {
				t.Errorf("%s %s %s: %s", op.method, op.path, op.body, f.Code)
			}
		}
	}
}

// projectOf returns a project of the caller.
func projectOf(t *testing.T, client *instance.Client, headers []string) string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ UID string } }
	}
	client.Do(http.MethodGet, "/v1/projects", "", headers...).Want(http.StatusOK).Into(&list)
	return list.Items[0].Metadata.UID
}
