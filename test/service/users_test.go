package service_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// A user is created without a password, as public clients do it: it logs in once an administrator has set one.
func TestUserWithoutPassword(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	const email = "new@acme.example"
	uid := admin.make("/v1/users",
		`{"metadata":{"name":"Ada Lovelace"},"spec":{"emailId":"`+email+`","firstName":"Ada","lastName":"Lovelace","password":""}}`)
	login := func(password string, status int) instance.Response {
		t.Helper()
		return admin.client.Do("POST", "/v1/auth", instance.Credentials(email, instance.Org, password)).Want(status)
	}
	unknown := admin.client.Do("POST", "/v1/auth",
		instance.Credentials("unknown@acme.example", instance.Org, matePassword)).Want(http.StatusUnauthorized)
	for _, password := range []string{matePassword, "-"} {
		if refused := login(password, http.StatusUnauthorized); withoutRef(refused) != withoutRef(unknown) {
			t.Errorf("%s, of an unknown user %s", refused.Body, unknown.Body)
		}
	}
	var user struct {
		Status struct {
			LastLogin string `json:"lastSignIn"`
		}
	}
	if admin.get("/v1/users/"+uid, &user); user.Status.LastLogin != "" {
		t.Errorf("a refused login is noted: %+v", user)
	}
	var key struct{ APIKey string }
	admin.do("POST", "/v1/apiKeys", newKey("ci", uid, tomorrow())).Want(http.StatusCreated).Into(&key)
	withKey(t, server, key.APIKey).get("/v1/users/me", &user)

	admin.do("PUT", "/v1/users/"+uid+"/password", `{"password":"`+matePassword+`"}`).Want(http.StatusNoContent)
	tokens := login(matePassword, http.StatusOK).Tokens()
	admin.do("PUT", "/v1/users/"+email+"/password", `{"password":"`+matePassword+` again"}`).Want(http.StatusNoContent)
	login(matePassword, http.StatusUnauthorized)
	person{t, admin.client, []string{"Authorization", tokens.Authorization}}.refused("GET", "/v1/users/me", "", 401, "UnAuthorizedAccess")
	var records items
	var own struct{ Metadata meta }
	admin.get("/v1/users/me", &own)
	admin.refused("PUT", "/v1/users/"+own.Metadata.UID+"/password", `{"password":"`+matePassword+`"}`, 403, "OperationForbidden")
	if admin.get("/v1/audits?outcome=succeeded&action=user.setPassword&resourceUid="+uid, &records); len(records.Items) != 2 {
		t.Errorf("%d records of two passwords", len(records.Items))
	}
	if cli := instance.Run(t, "\n", "user", "create", "--org", instance.Org, "--email", "x@acme.example", "--password-stdin", "--data-dir",
		server.DataDir); cli.Code == 0 {
		t.Errorf("the command line creates a user of an empty password: %q", cli.Out)
	}
}

// A deleted user is gone with all it logged in with; its audit records stay, and its email is free.
func TestUserLifecycle(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make("/v1/users", newUser("mate@acme.example", object{"projects": []string{"Default"}, "roles": []string{"member"}}))
	mate, tokens := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	var key struct{ APIKey string }
	mate.do("POST", "/v1/apiKeys", newKey("ci", "", tomorrow())).Want(http.StatusCreated).Into(&key)

	admin.do("PUT", "/v1/users/"+uid,
		`{"metadata":{"name":"The `+
			`Mate"},"spec":{"emailId":"first@acme.example","firstName":"The","lastName":"Mate",`+
			`"roles":["admin"]}}`).Want(http.StatusNoContent)
	admin.refused("PUT", "/v1/users/"+uid, `{"spec":{"emailId":"`+instance.Email+`"}}`, 409, "UserAlreadyExists")
	var user struct {
		Metadata meta
		Spec     struct {
			EmailID, FirstName, LastName string
			Roles                        []string
		}
	}
	mate.get("/v1/users/me", &user) // still logged in, under another email
	if user.Metadata != (meta{uid, "The Mate"}) || user.Spec.EmailID != "first@acme.example" || user.Spec.FirstName != "The" ||
		user.Spec.LastName != "Mate" ||
		!slices.Equal(user.Spec.Roles, []string{"member"}) {
		t.Errorf("the user is %+v", user)
	}
	var roles struct{ Roles, Projects []meta }
	for path, want := range map[string]int{"/v1/users/" + uid + "/roles": 1, "/v1/users/me/projects": 1, "/v1/users/me/resourceRoles": 0,
		"/v1/workspaces/users/me/roles": 0} {
		roles.Roles, roles.Projects = nil, nil
		if mate.get(path, &roles); len(roles.Roles)+len(roles.Projects) != want {
			t.Errorf("%s: %+v", path, roles)
		}
	}
	checkSummary(t, admin)

	checkLastAdministrator(t, server, admin)
	admin.do("DELETE", "/v1/users/"+uid, "").Want(http.StatusNoContent)
	for _, gone := range []person{mate, withKey(t, server, key.APIKey)} {
		gone.refused("GET", "/v1/users/me", "", 401, "UnAuthorizedAccess")
	}
	admin.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusUnauthorized)
	for _, try := range []protectedOperation{{method: "GET"}, {method: "PUT", body: `{"spec":{}}`}, {method: "DELETE"}} {
		admin.refused(try.method, "/v1/users/"+uid, try.body, 404, "ResourceNotFound")
	}
	again := admin.make("/v1/users", newUser("mate@acme.example"))
	heir, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	var keys, records items
	var projects struct{ Projects []meta }
	heir.get("/v1/apiKeys", &keys)
	heir.get("/v1/users/me/projects", &projects)
	if again == uid || len(keys.Items) != 0 || len(projects.Projects) != 0 {
		t.Errorf("inherited %+v, %+v", keys, projects)
	}
	var audits struct {
		Items []struct {
			Spec struct {
				Action string
				Actor  struct{ User struct{ UID, EmailID string } }
			}
		}
	}
	admin.get("/v1/audits?userUid="+uid+"&action=apikey.create", &audits)
	if len(audits.Items) != 1 || audits.Items[0].Spec.Actor.User.EmailID != "mate@acme.example" {
		t.Errorf("of what the deleted user did is recorded %+v", audits)
	}
	for _, action := range []string{"user.create", "user.update", "user.delete"} {
		if admin.get("/v1/audits?outcome=succeeded&resourceUid="+uid+"&action="+action, &records); len(records.Items) != 1 {
			t.Errorf("%s: %d records", action, len(records.Items))
		}
	}
	heir.refused("GET", "/v1/audits?userUid="+uid, "", 403, "OperationForbidden") // those of the deleted user are another's
}

// checkLastAdministrator tries in all ways to leave an organization without an administrator who can log in.
func checkLastAdministrator(t *testing.T, server *instance.Server, admin person) {
	t.Helper()
	var own struct{ Metadata meta }
	admin.get("/v1/users/me", &own)
	path := "/v1/users/" + own.Metadata.UID
	machine := admin.make("/v1/users", `{"spec":{"emailId":"terraform@acme.example","roles":["admin"]}}`)
	var key struct{ APIKey string }
	admin.do("POST", "/v1/apiKeys", newKey("terraform", machine, tomorrow())).Want(http.StatusCreated).Into(&key)
	byMachine := withKey(t, server, key.APIKey)
	admin.refused("DELETE", path, "", 409, "LastAdministrator")
	byMachine.refused("DELETE", path, "", 409, "LastAdministrator")
	byMachine.refused("PUT", path+"/state", `{"isActive":false}`, 409, "LastAdministrator")
	byMachine.refused("PUT", path+"/roles", `{"roles":[]}`, 409, "LastAdministrator")
	byMachine.do("DELETE", "/v1/users/"+machine, "").Want(http.StatusNoContent) // itself
	byMachine.refused("GET", "/v1/users/me", "", 401, "UnAuthorizedAccess")
}

// checkSummary filters users by what public clients filter by.
func checkSummary(t *testing.T, admin person) {
	t.Helper()
	for filter, want := range map[string][]string{
		`{}`:              {instance.Email, "The Mate"},
		`{"filter":null}`: {instance.Email, "The Mate"},
		`{"filter":{"emailId":{"eq":"first@acme.example","ne":null},"name":null},"sort":[{"field":"name","order":"asc"}]}`: {"The Mate"},
		`{"filter":{"emailId":{"eq":"FIRST@acme.example"}}}`:                                                               nil,
		`{"filter":{"emailId":{"eq":"FIRST@acme.example","ignoreCase":true}}}`:                                             {"The Mate"},
		`{"filter":{"emailId":{"eq":"unknown@acme.example"}}}`:                                                             nil,
		`{"filter":{"emailId":{"contains":"irst"},"name":{"beginsWith":"The"}}}`:                                           {"The Mate"},
		`{"filter":{"name":{"ne":"The ` +
			`Mate"}}}`: {instance.Email},
	} {
		var list struct {
			Items []struct {
				Metadata meta
				Spec     struct{ Roles []meta }
			}
		}
		admin.do("POST", "/v1/users/summary", filter).Want(http.StatusOK).Into(&list)
		var got []string
		for _, item := range list.Items {
			got = append(got, item.Metadata.Name)
			if len(item.Spec.Roles) != 1 {
				t.Errorf("%s: roles %+v", item.Metadata.Name, item.Spec.Roles)
			}
		}
		if list.Items == nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
}
