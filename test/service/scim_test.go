package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/identityprovider"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	scimUsers  = "/scim/v2/Users"
	scimGroups = "/scim/v2/Groups"
)

// provisioner returns an identity provider that has a key of that person for provisioning.
func (p person) provisioner(server *instance.Server, name string) person {
	p.t.Helper()
	var made api.CreatedAPIKey
	p.do("POST", "/v1/apiKeys", `{"metadata":{"name":"`+name+`"},"spec":{"expiry":"`+tomorrow()+`","scope":"provision"}}`).
		Want(http.StatusCreated).Into(&made)
	return person{p.t, server.Client(p.t), []string{"Authorization", "Bearer " + made.APIKey, "Content-Type", "application/scim+json"}}
}

// scimRow is a request and what it leads to. {id} stands for the resource, and {a} and {b} for users.
type scimRow struct {
	from, method, path, body string
	status                   int
	want                     []string // parts of the body of the response
}

// run runs the rows one after the other. The first POST that succeeds makes the resource.
func (p person) run(rows []scimRow, names ...string) (id string) {
	p.t.Helper()
	for _, row := range rows {
		known := append([]string{"{id}", id}, names...)
		for i := 0; i < len(names)+2; i += 2 { // in queries
			known = append(known, url.QueryEscape(known[i]), known[i+1])
		}
		fill := strings.NewReplacer(known...).Replace
		got := p.do(row.method, fill(row.path), fill(row.body)).Want(row.status)
		for _, want := range row.want {
			if !strings.Contains(got.Body, fill(want)) {
				p.t.Errorf("%s: %s %s %s: no %s in %s", row.from, row.method, row.path, row.body, want, got.Body)
			}
		}
		if row.status == http.StatusCreated {
			var made struct{ ID string }
			got.Into(&made)
			id = made.ID
			if location := got.Header.Get("Location"); location != row.path+"/"+id {
				p.t.Errorf("%s: the location is %q", row.from, location)
			}
		}
	}
	return id
}

func filtered(path, filter string) string { return path + "?filter=" + url.QueryEscape(filter) }

const (
	patchOp     = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[`
	coreUser    = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"]`
	enterprise  = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	entraObject = "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"
)

// Requests in the form that the documentation of Entra ID publishes.
var entraUsers = []scimRow{
	{"entra: test connection", "GET", filtered(scimUsers, `userName eq "9f2c1d0e-0000-4000-8000-000000000000"`), "", 200,
		[]string{`"totalResults":0`, `"Resources":[]`}},
	{"entra: create", "POST", scimUsers, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User","` + enterprise + `"],"externalId":"` +
		entraObject + `","userName":"Test_User@acme.example","active":true,"addresses":null,"displayName":"Test User","emails":[{` +
		`"type":"work","value":"test@acme.example","primary":true}],"meta":{"resourceType":"User"},"name":{"formatted":"given",` +
		`"familyName":"familyName","givenName":"givenName"},"roles":[],"title":"Manager","` + enterprise + `":{"department":"Sales"}}`, 201,
		[]string{`"externalId":"` + entraObject + `"`, `"userName":"Test_User@acme.example"`, `"givenName":"givenName"`, `"active":true`}},
	{"entra: create again", "POST", scimUsers, `{"userName":"TEST_user@acme.example"}`, 409,
		[]string{`"scimType":"uniqueness"`, `"status":"409"`}},
	{"entra: externalId taken", "POST", scimUsers, `{"userName":"x@acme.example","externalId":"` + entraObject + `"}`, 409,
		[]string{`"scimType":"uniqueness"`}},
	{"entra: get", "GET", scimUsers + "/{id}", "", 200, []string{`"id":"{id}"`, `"location":"/scim/v2/Users/{id}"`}},
	{"entra: get unknown", "GET", scimUsers + "/" + noUID, "", 404,
		[]string{`"urn:ietf:params:scim:api:messages:2.0:Error"`, `"status":"404"`}},
	{"entra: by name", "GET", filtered(scimUsers, `userName eq "test_user@ACME.example"`), "", 200,
		[]string{`"totalResults":1`, `"id":"{id}"`}},
	{"entra: by externalId", "GET", filtered(scimUsers, `externalId eq "`+entraObject+`"`), "", 200, []string{`"id":"{id}"`}},
	{"entra: by email", "GET", filtered(scimUsers, `emails[type eq "work"].value eq "test_user@acme.example"`), "", 200,
		[]string{`"id":"{id}"`}},
	{"entra: manager", "GET", filtered(scimUsers, `id eq "{id}" and manager eq "2819c223"`) + "&attributes=id", "", 200,
		[]string{`"totalResults":0`}},
	{"entra: multi-valued", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Replace","path":"emails[type eq \"work\"].value",` +
		`"value":"updated@acme.example"},{"op":"Replace","path":"name.familyName","value":"updatedFamilyName"}]}`, 200,
		[]string{`"familyName":"updatedFamilyName"`, `"givenName":"givenName"`}},
	{"entra: single-valued", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Replace","path":"userName","value":"new@acme.example"}]}`, 200,
		[]string{`"userName":"new@acme.example"`, `"value":"new@acme.example"`}},
	{"entra: manager", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Add","path":"` + enterprise + `:manager","value":[{"$ref":` +
		`"http://example.com/scim/Users/1","value":"1"}]}]}`, 200, nil},
	{"entra: disable, text", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Replace","path":"active","value":"False"}]}`, 200,
		[]string{`"active":false`}},
	{"entra: enable, text", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Add","path":"active","value":"True"}]}`, 200,
		[]string{`"active":true`}},
	{"entra: disable", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Replace","path":"active","value":false}]}`, 200,
		[]string{`"active":false`}},
	{"entra: names in one value", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"replace","value":{"displayName":"Bjfe","active":true,` +
		`"name.givenName":"Kasie","` + enterprise + `:department":"x"}}]}`, 200, []string{`"displayName":"Bjfe"`, `"givenName":"Kasie"`}},
	{"entra: remove", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"Remove","path":"displayName"},{"op":"Remove","path":"name"}]}`, 200,
		[]string{`"name":{}`}},
	{"entra: delete", "DELETE", scimUsers + "/{id}", "", 204, nil},
	{"entra: delete again", "DELETE", scimUsers + "/{id}", "", 404, []string{`"status":"404"`}},
}

const oktaUser = coreUser + `,"userName":"test.user@okta.local","name":{"givenName":"%s","familyName":"User"},"emails":[{"primary":true,` +
	`"value":"test.user@okta.local","type":"work"}],"displayName":"Test User","locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7",` +
	`"groups":[],"active":%s`

// Requests in the form that the documentation of Okta publishes.
var oktaUsers = []scimRow{
	{"okta: import", "GET", scimUsers + "?startIndex=1&count=100", "", 200, []string{`"startIndex":1`, `"totalResults":`}},
	{"okta: exists?", "GET", filtered(scimUsers, `userName eq "test.user@okta.local"`) + "&startIndex=1&count=100", "", 200,
		[]string{`"totalResults":0`}},
	{"okta: create", "POST", scimUsers, "{" + fmt.Sprintf(oktaUser, "Test", "true") + `,"password":"1mz050nq"}`, 201,
		[]string{`"externalId":"00ujl29u0le5T6Aj10h7"`, `"displayName":"Test User"`}},
	{"okta: update", "PUT", scimUsers + "/{id}", "{" + fmt.Sprintf(oktaUser, "Another", "true") + `,"id":"{id}","meta":` +
		`{"resourceType":"User"}}`,
		200, []string{`"givenName":"Another"`}},
	{"okta: deactivate", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"replace","value":{"active":false}}]}`, 200,
		[]string{`"active":false`}},
	{"okta: update of an inactive user", "PUT", scimUsers + "/{id}", `{"userName":"test.user@okta.local"}`, 200,
		[]string{`"active":false`, `"externalId":"00ujl29u0le5T6Aj10h7"`, `"name":{}`}},
	{"okta: reactivate", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"replace","value":{"active":true}}]}`, 200,
		[]string{`"active":true`}},
	{"okta: deactivate by PUT", "PUT", scimUsers + "/{id}", "{" + fmt.Sprintf(oktaUser, "Test", "false") + "}", 200,
		[]string{`"active":false`}},
}

// Requests that are refused, with the word of RFC 7644.
var refusedUsers = []scimRow{
	{"no name", "POST", scimUsers, `{"displayName":"x"}`, 400, []string{"userName is required"}},
	{"no email", "POST", scimUsers, `{"userName":"ada"}`, 400, []string{`"scimType":"invalidValue"`, "userName must be an email"}},
	{"a wrong type", "POST", scimUsers, `{"userName":7}`, 400, []string{"userName must be a string"}},
	{"two spellings", "POST", scimUsers, `{"userName":"a@acme.example","active":true,"Active":false}`, 400,
		[]string{`"scimType":"invalidSyntax"`}},
	{"no JSON", "POST", scimUsers, `{`, 400, []string{`"scimType":"invalidSyntax"`}},
	{"a list", "POST", scimUsers, `[]`, 400, []string{`"scimType":"invalidSyntax"`}},
	{"an invisible name", "POST", scimUsers, `{"userName":"b@acme.example","displayName":"a\u202eb"}`, 400, []string{"displayName"}},
	{"another operator", "GET", filtered(scimUsers, `userName sw "a"`), "", 400, []string{`"scimType":"invalidFilter"`}},
	{"another attribute", "GET", filtered(scimUsers, `title eq "a"`), "", 400, []string{`"scimType":"invalidFilter"`}},
	{"no number", "GET", scimUsers + "?count=many", "", 400, []string{"count must be a number"}},
	{"no operation", "PATCH", scimUsers + "/" + noUID, patchOp + "]}", 400, []string{"Operations must have"}},
	{"another operation", "PATCH", scimUsers + "/" + noUID, patchOp + `{"op":"move","path":"active"}]}`, 400, []string{"Operations[0].op"}},
	{"a wrong path", "PATCH", scimUsers + "/" + noUID, patchOp + `{"op":"add","path":"emails[type sw \"w\"]"}]}`, 400,
		[]string{`"scimType":"invalidPath"`}},
	{"nothing to remove", "PATCH", scimUsers + "/" + noUID, patchOp + `{"op":"remove","value":{"active":true}}]}`, 400,
		[]string{`"scimType":"invalidPath"`}},
	{"an unknown user", "PATCH", scimUsers + "/" + noUID, patchOp + `{"op":"add","path":"active","value":true}]}`, 404, nil},
	{"an unknown user", "PUT", scimUsers + "/" + noUID, `{"userName":"c@acme.example"}`, 404, nil},
}

// inactive are refused on a user that exists.
var inactive = []scimRow{
	{"create inactive", "POST", scimUsers, `{"userName":"Off@acme.example","active":"False"}`, 201, []string{`"active":false`}},
	{"no value", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"replace","path":"active","value":"maybe"}]}`, 400,
		[]string{"active must be true or false"}},
	{"remove active", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"remove","path":"active"}]}`, 400, []string{"active must be"}},
	{"remove the name", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"remove","path":"userName"}]}`, 400,
		[]string{"userName is required"}},
	{"no object", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"add","value":"x"}]}`, 400, []string{"value must be an object"}},
	{"all or nothing", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"add","path":"active","value":true},{"op":"add","path":"userName",` +
		`"value":"x"}]}`, 400, []string{"userName must be an email"}},
	{"a name taken", "PATCH", scimUsers + "/{id}", patchOp + `{"op":"add","path":"userName","value":"` + instance.Email + `"}]}`, 409,
		[]string{`"scimType":"uniqueness"`}},
	{"a name taken", "PUT", scimUsers + "/{id}", `{"userName":"` + instance.Email + `"}`, 409, []string{`"scimType":"uniqueness"`}},
	{"unchanged", "GET", scimUsers + "/{id}", "", 200, []string{`"userName":"Off@acme.example"`, `"active":false`}},
}

func TestSCIMUsers(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	idp := admin.provisioner(server, "idp")
	for _, rows := range [][]scimRow{entraUsers, oktaUsers, refusedUsers, inactive} {
		idp.run(rows)
	}
	var list api.SCIMList
	seen := map[string]bool{}
	for at := 1; at == 1 || at <= int(list.TotalResults); at++ {
		idp.get(fmt.Sprintf("%s?startIndex=%d&count=1", scimUsers, at), &list)
		if list.ItemsPerPage != 1 || len(list.Resources) != 1 || list.StartIndex != at {
			t.Errorf("page %d: %+v", at, list)
		}
		seen[fmt.Sprint(list.Resources)] = true
	}
	if len(seen) != 3 || list.TotalResults != 3 { // the administrator, and two that were not deleted
		t.Errorf("%d users of %d", len(seen), list.TotalResults)
	}
	for query, want := range map[string]int{"?count=0": 0, "?count=-1": 0, "?startIndex=-5": 3, "?startIndex=4": 0, "?count=9999": 3} {
		if idp.get(scimUsers+query, &list); list.ItemsPerPage != want || list.TotalResults != 3 {
			t.Errorf("%s: %+v", query, list)
		}
	}
	for _, path := range []string{"ServiceProviderConfig", "ResourceTypes", "Schemas"} {
		idp.do("GET", "/scim/v2/"+path, "").Want(http.StatusOK)
	}
	idp.do("GET", "/scim/v2/Bulk", "").Want(http.StatusNotFound)
}

// Whom an identity provider deactivates is out at once, with sessions and keys, and comes back as the same user.
func TestSCIMDeactivates(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	idp := admin.provisioner(server, "idp")
	uid := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, tokens := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	key := withKey(t, server, mate.newKey("mine", "").APIKey)
	key.do("GET", "/v1/users/info", "").Want(http.StatusOK)
	set := func(active string, status int, uid string) {
		t.Helper()
		idp.do("PATCH", scimUsers+"/"+uid, patchOp+`{"op":"Replace","path":"active","value":`+active+`}]}`).Want(status)
	}
	set(`"False"`, http.StatusOK, uid)
	mate.do("GET", "/v1/users/info", "").Want(http.StatusUnauthorized)
	key.do("GET", "/v1/users/info", "").Want(http.StatusUnauthorized)
	server.Client(t).Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusUnauthorized)
	login := instance.Credentials("mate@acme.example", instance.Org, matePassword)
	server.Client(t).Do("POST", "/v1/auth", login).Want(http.StatusUnauthorized)
	set(`"True"`, http.StatusOK, uid)
	key.do("GET", "/v1/users/info", "").Want(http.StatusOK)
	var me api.UserInfo
	again, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	if again.get("/v1/users/info", &me); me.UserUID != uid {
		t.Errorf("came back as %s, was %s", me.UserUID, uid)
	}
	mate.do("GET", "/v1/users/info", "").Want(http.StatusUnauthorized) // the session stays ended

	records := admin.records("?action=user.disable")
	if len(records.Items) != 1 || records.Items[0].Spec.Resource.Target == "" || records.Items[0].Spec.Resource.UID != uid {
		t.Errorf("recorded as %+v", records.Items)
	}

	// Neither the owner of the key nor the last administrator with a password can be locked out.
	admin.get("/v1/users/info", &me)
	set("false", http.StatusForbidden, me.UserUID)
	idp.do("DELETE", scimUsers+"/"+me.UserUID, "").Want(http.StatusForbidden)
	robot := admin.make("/v1/users", `{"spec":{"emailId":"robot@acme.example","roles":["admin"]}}`)
	var made api.CreatedAPIKey
	admin.do("POST", "/v1/apiKeys", newKey("robot", robot, tomorrow())).Want(http.StatusCreated).Into(&made)
	idp.credential[1] = "Bearer " + made.APIKey
	set("false", http.StatusConflict, me.UserUID)
	idp.do("DELETE", scimUsers+"/"+me.UserUID, "").Want(http.StatusConflict)
	admin.do("GET", "/v1/users/info", "").Want(http.StatusOK)
}

const coreGroup = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"]`

// Requests of groups, in the forms that the documentation of both publishes.
var groupRows = []scimRow{
	{"entra: by name", "GET", filtered(scimGroups, `displayName eq "Ops"`) + "&excludedAttributes=members", "", 200,
		[]string{`"totalResults":0`}},
	{"entra: create", "POST", scimGroups, `{` + coreGroup + `,"externalId":"8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159","displayName":"Ops",` +
		`"meta":{"resourceType":"Group"}}`, 201, []string{`"members":[]`, `"displayName":"Ops"`}},
	{"entra: create again", "POST", scimGroups, `{"displayName":"Ops"}`, 409, []string{`"scimType":"uniqueness"`}},
	{"entra: add", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"Add","path":"members","value":[{"$ref":null,` +
		`"value":"{a}"}]}]}`, 204, nil},
	{"entra: add more", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"Add","path":"members","value":[{"value":"{b}"},` +
		`{"value":"{a}"}]}]}`,
		204, nil},
	{"entra: get", "GET", scimGroups + "/{id}", "", 200, []string{`{"value":"{a}","display":"a@acme.example","type":"User"}`, `"{b}"`}},
	{"entra: by name", "GET", filtered(scimGroups, `displayName eq "Ops"`), "", 200, []string{`"totalResults":1`, `"members":[{`}},
	{"entra: by externalId", "GET", filtered(scimGroups, `externalId eq "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159"`), "", 200,
		[]string{`"{id}"`}},
	{"entra: member?", "GET", filtered(scimGroups, `id eq "{id}" and members eq "{a}"`) + "&excludedAttributes=members", "", 200,
		[]string{`"totalResults":1`}},
	{"entra: no member", "GET", filtered(scimGroups, `id eq "{id}" and members eq "x"`), "", 200, []string{`"totalResults":0`}},
	{"entra: another case", "GET", filtered(scimGroups, `displayName eq "ops"`), "", 200, []string{`"totalResults":0`}},
	{"a space at the end", "GET", filtered(scimGroups, `displayName eq "Ops "`), "", 200, []string{`"totalResults":0`}},
	{"entra: remove", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"Remove","path":"members","value":[{"$ref":null,` +
		`"value":"{a}"}]}]}`, 204,
		nil},
	{"entra: removed", "GET", scimGroups + "/{id}", "", 200, []string{`"members":[{"value":"{b}"`}},
	{"entra: rename", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"Replace","path":"displayName","value":"Operations"}]}`, 204, nil},
	{"okta: remove and add", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"remove","path":"members[value eq \"{b}\"]"},{"op":"add",` +
		`"path":"members","value":[{"value":"{a}","display":"a@acme.example"}]}]}`, 204, nil},
	{"okta: get", "GET", scimGroups + "/{id}", "", 200, []string{`"displayName":"Operations"`, `"members":[{"value":"{a}"`}},
	{"okta: rename", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"replace","value":{"id":"{id}",` +
		`"displayName":"Test SCIMv2"}}]}`, 204, nil},
	{"okta: put", "PUT", scimGroups + "/{id}", `{` + coreGroup + `,"id":"{id}","displayName":"Test SCIMv2","members":[{"value":"{b}",` +
		`"display":"b@acme.example"}],"meta":{"resourceType":"Group"}}`, 200, []string{`"members":[{"value":"{b}"`, `"externalId":`}},
	{"okta: import", "GET", scimGroups + "?startIndex=1&count=100", "", 200, []string{`"totalResults":1`}},
	{"replace", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"replace","path":"members","value":[{"value":"{a}"}]}]}`, 204, nil},
	{"empty", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"remove","path":"members"}]}`, 204, nil},
	{"emptied", "GET", scimGroups + "/{id}", "", 200, []string{`"members":[]`}},
	{"unknown member", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"add","path":"members","value":[{"value":"` + noUID + `"}]}]}`, 400,
		[]string{"members[0] does not exist"}},
	{"no value", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"add","path":"members","value":["{a}"]}]}`, 400,
		[]string{"members must be"}},
	{"a filter", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"add","path":"members[value eq \"{a}\"]"}]}`, 400,
		[]string{`"scimType":"invalidPath"`}},
	{"no name", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"remove","path":"displayName"}]}`, 400,
		[]string{"displayName is required"}},
	{"no filter", "GET", filtered(scimGroups, `members eq "{a}"`), "", 400, []string{`"scimType":"invalidFilter"`}},
	{"unknown", "PUT", scimGroups + "/" + noUID, `{"displayName":"x"}`, 404, nil},
	{"unknown", "PATCH", scimGroups + "/" + noUID, patchOp + `{"op":"add","path":"displayName","value":"x"}]}`, 404, nil},
	{"unknown", "GET", scimGroups + "/" + noUID, "", 404, nil},
	{"another", "POST", scimGroups, `{"displayName":"Dev","members":[{"value":"{a}"}]}`, 201, []string{`"{a}"`}},
	{"name taken", "PATCH", scimGroups + "/{id}", patchOp + `{"op":"add","path":"displayName","value":"Test SCIMv2"}]}`, 409, nil},
	{"name taken", "PUT", scimGroups + "/{id}", `{"displayName":"Test SCIMv2"}`, 409, nil},
	{"delete", "DELETE", scimGroups + "/{id}", "", 204, nil},
	{"delete again", "DELETE", scimGroups + "/{id}", "", 404, nil},
}

func TestSCIMGroups(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	idp := admin.provisioner(server, "idp")
	a := idp.run([]scimRow{{"a", "POST", scimUsers, `{"userName":"a@acme.example"}`, 201, nil}})
	b := idp.run([]scimRow{{"b", "POST", scimUsers, `{"userName":"b@acme.example"}`, 201, nil}})
	idp.run(groupRows, "{a}", a, "{b}", b)
	without := idp.do("GET", scimGroups+"?excludedAttributes=members", "").Want(http.StatusOK)
	if strings.Contains(without.Body, "members") {
		t.Errorf("with members: %s", without.Body)
	}
}

// A team that an administrator gave a role grants it to whom the identity provider adds, and takes it when that removes them.
func TestSCIMGroupsGrantRoles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	idp := admin.provisioner(server, "idp")
	team := admin.make("/v1/teams", newTeam("Auditors", nil, "auditor"))
	uid := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	mate.do("GET", "/v1/users", "").Want(http.StatusForbidden)
	var found struct{ Resources []struct{ ID string } }
	idp.get(filtered(scimGroups, `displayName eq "Auditors"`), &found)
	if len(found.Resources) != 1 || found.Resources[0].ID != team {
		t.Fatalf("found %+v, want %s", found, team)
	}
	idp.do("PATCH", scimGroups+"/"+team, patchOp+`{"op":"Add","path":"members","value":[{"value":"`+uid+`"}]}]}`).Want(http.StatusNoContent)
	mate.do("GET", "/v1/users", "").Want(http.StatusOK)
	stored := admin.team(team)
	if !slices.Equal(stored.Spec.Roles, []string{"auditor"}) || !slices.Equal(stored.Spec.Users, []string{uid}) {
		t.Errorf("the team is %+v", stored)
	}
	idp.do("PATCH", scimGroups+"/"+team, patchOp+`{"op":"Remove","path":"members[value eq \"`+uid+`\"]"}]}`).Want(http.StatusNoContent)
	mate.do("GET", "/v1/users", "").Want(http.StatusForbidden)
}

// The key of one organization neither sees nor changes anything of another one.
func TestSCIMOfTwoOrganizations(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	theirs := newRival(t, server)
	idp, rivals := admin.provisioner(server, "idp"), theirs.provisioner(server, "idp")
	body := `{"userName":"same@acme.example","externalId":"same"}`
	mine := idp.run([]scimRow{{"mine", "POST", scimUsers, body, 201, nil}})
	other := rivals.run([]scimRow{{"theirs", "POST", scimUsers, body, 201, nil}})
	group := `{"displayName":"Same","externalId":"same","members":[{"value":"%s"}]}`
	myGroup := idp.run([]scimRow{{"mine", "POST", scimGroups, fmt.Sprintf(group, mine), 201, nil}})
	otherGroup := rivals.run([]scimRow{{"theirs", "POST", scimGroups, fmt.Sprintf(group, other), 201, nil}})
	for _, path := range []string{scimUsers, scimGroups, filtered(scimUsers, `externalId eq "same"`),
		filtered(scimGroups, `displayName eq "Same"`),
		filtered(scimUsers, `id eq "`+other+`"`), filtered(scimGroups, `id eq "`+otherGroup+`"`)} {
		got := idp.do("GET", path, "").Want(http.StatusOK).Body
		if strings.Contains(got, other) || strings.Contains(got, otherGroup) || strings.Contains(got, "rival") {
			t.Errorf("%s shows another organization: %s", path, got)
		}
	}
	for _, resource := range []string{scimUsers + "/" + other, scimGroups + "/" + otherGroup} {
		idp.do("GET", resource, "").Want(http.StatusNotFound)
		idp.do("PUT", resource, `{"userName":"x@acme.example","displayName":"x"}`).Want(http.StatusNotFound)
		idp.do("PATCH", resource, patchOp+`{"op":"replace","path":"displayName","value":"x"}]}`).Want(http.StatusNotFound)
		idp.do("DELETE", resource, "").Want(http.StatusNotFound)
	}
	idp.do("PATCH", scimGroups+"/"+myGroup, patchOp+`{"op":"add","path":"members","value":[{"value":"`+other+`"}]}]}`).
		Want(http.StatusBadRequest)
	rivals.do("GET", scimUsers+"/"+other, "").Want(http.StatusOK)
}

// A key with this scope does nothing else, and other keys and tokens of whom has no permission do not provision.
func TestSCIMKeys(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	idp := admin.provisioner(server, "idp")
	key := strings.TrimPrefix(idp.credential[1], "Bearer ")
	withKey(t, server, key).do("GET", scimUsers, "").Want(http.StatusOK)
	withKey(t, server, key).do("POST", "/v1/users", newUser("x@acme.example")).Want(http.StatusForbidden)
	client := server.Client(t)
	client.Do("GET", "/v1/users", "", "Authorization", "Bearer "+key).Want(http.StatusUnauthorized) // only SCIM takes a key so
	client.Do("GET", scimUsers, "", "Authorization", "bearer  "+key).Want(http.StatusOK)
	client.Do("GET", scimUsers, "", "Authorization", "Bearer "+tokens.Authorization).Want(http.StatusOK)
	client.Do("GET", scimUsers, "", "Authorization", "Bearer "+key, "ApiKey", key).Want(http.StatusUnauthorized)
	client.Do("GET", scimUsers, "", "Authorization", "Bearer "+flipped(key)).Want(http.StatusUnauthorized)
	client.Do("GET", scimUsers, "").Want(http.StatusUnauthorized)
	uid := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	mate.provisioner(server, "mate").do("GET", scimUsers, "").Want(http.StatusForbidden)

	// Who may provision, and is no administrator, changes only whom it may change otherwise.
	role := admin.make("/v1/roles", roleBody("Provisioner", "tenant", "user.provision", "user.list", "user.update", "user.disable",
		"user.delete", "team.list", "team.update"))
	admin.do("PUT", "/v1/users/"+uid+"/roles", `{"roles":["`+role+`"]}`).Want(http.StatusNoContent)
	weak := mate.provisioner(server, "weak")
	weak.do("GET", scimUsers, "").Want(http.StatusOK)
	weak.do("POST", scimUsers, `{"userName":"new@acme.example"}`).Want(http.StatusForbidden)
	second := admin.make("/v1/users", newUser("second@acme.example", object{"roles": []string{"admin"}}))
	weak.do("PATCH", scimUsers+"/"+second, patchOp+`{"op":"replace","value":{"active":false}}]}`).Want(http.StatusForbidden)
	weak.do("DELETE", scimUsers+"/"+second, "").Want(http.StatusForbidden)
	team := admin.make("/v1/teams", newTeam("Admins", nil, "admin"))
	weak.do("PATCH", scimGroups+"/"+team, patchOp+`{"op":"add","path":"members","value":[{"value":"`+uid+`"}]}]}`).
		Want(http.StatusForbidden)
}

// The first login at the identity provider leads to the user that it has provisioned, whatever its email is by then.
func TestSCIMUserLogsIn(t *testing.T) {
	t.Parallel()
	p := identityprovider.Start(t)
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	useProvider(t, admin, p)
	idp := admin.provisioner(server, "idp")
	body := `{"userName":"other@acme.example","externalId":"` + identityprovider.Subject + `"}`
	uid := idp.run([]scimRow{{"create", "POST", scimUsers, body,
		201, nil}})
	_, me := loggedInBy(t, server, admin, p)
	if me.UserUID != uid || me.Email != "other@acme.example" {
		t.Errorf("logged in as %+v, want %s", me, uid)
	}
}

// loggedInBy logs in at the provider as a program does.
func loggedInBy(t *testing.T, server *instance.Server, admin person, p *identityprovider.Provider) (who person, me api.UserInfo) {
	t.Helper()
	var set api.SSO
	admin.get("/v1/sso", &set)
	p.Register(set.Status.APICallbackURL, set.Status.LogoutURL)
	b := newBrowser(t, p)
	var asked api.OrgLogin
	_, body := b.get(server.URL + "/v1/auth/org?orgName=" + instance.Org)
	if err := json.Unmarshal([]byte(body), &asked); err != nil {
		t.Fatal(err, body)
	}
	at, _ := b.get(asked.RedirectURL)
	_, body = b.post(p.URL+"/login/username", url.Values{"id": {at.Query().Get("authRequestID")},
		"username": {identityprovider.Username}, "password": {identityprovider.Password}})
	var tokens api.AuthenticateResponse
	if err := json.Unmarshal([]byte(body), &tokens); err != nil || tokens.Authorization == "" {
		t.Fatal(err, body)
	}
	who = person{t, server.Client(t), []string{"Authorization", tokens.Authorization}}
	who.get("/v1/users/info", &me)
	return who, me
}
