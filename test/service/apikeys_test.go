package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

func (p person) newKey(name, user string) api.CreatedAPIKey {
	p.t.Helper()
	var made api.CreatedAPIKey
	p.do("POST", "/v1/apiKeys", newKey(name, user, tomorrow())).Want(http.StatusCreated).Into(&made)
	return made
}

// A key's life, in the shapes that public clients use.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	var info struct{ TenantUID string }
	admin.get("/v1/users/info", &info)
	made := admin.newKey("ci", info.TenantUID) // the uid of the tenant: a public client means itself
	key := withKey(t, server, made.APIKey)
	key.do("GET", alerts, "").Want(http.StatusOK)
	admin.refused("POST", "/v1/apiKeys", newKey(" CI ", "", tomorrow()), 409, "ApiKeyAlreadyExists")

	var list items
	admin.get("/v1/apiKeys", &list)
	if len(list.Items) != 1 || list.Items[0].Metadata != (meta{made.UID, "ci"}) || !list.Items[0].Status.IsActive ||
		list.Items[0].Spec.Expiry.IsZero() {
		t.Errorf("keys are %+v", list)
	}
	admin.get("/v1/apiKeys/"+made.UID, new(any))

	second := admin.newKey("deploy", "")
	admin.refused("PUT", "/v1/apiKeys/"+second.UID, newKey("CI", "", tomorrow()), 409, "ApiKeyAlreadyExists")
	const later = "2099-01-02T03:04:05.000Z"
	admin.do("PUT", "/v1/apiKeys/"+made.UID, newKey("build", "", later)).Want(http.StatusNoContent)
	var one struct {
		Metadata meta
		Spec     struct{ Expiry string }
	}
	admin.get("/v1/apiKeys/"+made.UID, &one)
	if one.Metadata.Name != "build" || one.Spec.Expiry != later {
		t.Errorf("the changed key is %+v", one)
	}

	for _, change := range []struct{ body, name, expiry string }{
		{`{"metadata":{"name":"renamed"}}`, "renamed", later},
		{newKey("", "", "2098-01-02T03:04:05Z"), "renamed", "2098-01-02T03:04:05.000Z"},
		{newKey("build", "", "0001-01-01T00:00:00.000Z"), "build", "2098-01-02T03:04:05.000Z"},
	} {
		admin.do("PUT", "/v1/apiKeys/"+made.UID, change.body).Want(http.StatusNoContent)
		if admin.get("/v1/apiKeys/"+made.UID, &one); one.Metadata.Name != change.name || one.Spec.Expiry != change.expiry {
			t.Errorf("%s: the key is %+v", change.body, one)
		}
	}

	// The Go SDK leaves isActive out to say false.
	for _, off := range []struct{ method, path, body string }{
		{"PATCH", "/v1/apiKeys/" + made.UID, `{"isActive":false}`}, {"PATCH", "/v1/apiKeys/" + made.UID, `{}`},
		{"PUT", "/v1/apiKeys/" + made.UID + "/state", `{"isActive":false}`}, {"PUT", "/v1/apiKeys/" + made.UID + "/state", `{}`},
	} {
		admin.do(off.method, off.path, off.body).Want(http.StatusNoContent)
		if f := key.refused("GET", alerts, "", 401, "UnAuthorizedAccess").Fault(); f.Details.Reason != "inactive" {
			t.Errorf("%s %s: reason %q, want inactive", off.method, off.body, f.Details.Reason)
		}
		admin.do(off.method, off.path, `{"isActive":true}`).Want(http.StatusNoContent)
		key.do("GET", alerts, "").Want(http.StatusOK)
	}

	// Public clients send Content-Type with a DELETE that has no body.
	response := admin.client.Do("DELETE", "/v1/apiKeys/"+made.UID, "",
		append(slices.Clone(admin.credential), "Content-Type", "application/json")...)
	response.Want(http.StatusNoContent)
	if f := key.refused("GET", alerts, "", 401, "UnAuthorizedAccess").Fault(); f.Details.Reason != "unknown" {
		t.Errorf("reason %q, want unknown", f.Details.Reason)
	}
	admin.refused("DELETE", "/v1/apiKeys/"+made.UID, "", 404, "ResourceNotFound")
}

// A member has its own keys; an administrator has everyone's.
func TestWhoseAPIKeys(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	mateUID := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	own, others := mate.newKey("own", mateUID), admin.newKey("admin's", "")
	given := admin.newKey("given", mateUID)
	withKey(t, server, given.APIKey).refused("GET", "/v1/users", "", 403, "OperationForbidden") // the key acts for the member

	var mates, all items
	mate.get("/v1/apiKeys", &mates)
	admin.get("/v1/apiKeys", &all)
	if !slices.Equal(mates.names(), []string{"given", "own"}) || len(all.Items) != 3 {
		t.Errorf("the member sees %q, the administrator %q", mates.names(), all.names())
	}
	for _, try := range []protectedOperation{
		{method: "GET", path: others.UID}, {method: "PUT", path: others.UID, body: newKey("x", "", tomorrow())},
		{method: "PATCH", path: others.UID, body: `{"isActive":false}`}, {method: "PUT", path: others.UID + "/state", body: `{}`},
		{method: "DELETE", path: others.UID},
	} {
		mate.refused(try.method, "/v1/apiKeys/"+try.path, try.body, 404, "ResourceNotFound")
	}
	admin.do("PATCH", "/v1/apiKeys/"+own.UID, `{"isActive":false}`).Want(http.StatusNoContent)
	withKey(t, server, own.APIKey).refused("GET", alerts, "", 401, "UnAuthorizedAccess")
	withKey(t, server, others.APIKey).do("GET", alerts, "").Want(http.StatusOK)
}

// A key is revoked by itself, without credentials; the response does not reveal whether a key exists.
func TestAPIKeyIsRevokedByItself(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	made := admin.newKey("leaked", "")
	var one struct{ Spec struct{ Prefix string } }
	if admin.get("/v1/apiKeys/"+made.UID, &one); one.Spec.Prefix != made.APIKey[:10] {
		t.Errorf("the prefix is %q", one.Spec.Prefix)
	}
	finder := server.Client(t)
	const revoke = "/v1/apiKeys/revoke"
	finder.Do("POST", revoke, instance.JSON(object{"apiKey": made.APIKey})).Want(http.StatusNoContent)
	if f := withKey(t, server, made.APIKey).refused("GET", alerts, "", 401, "UnAuthorizedAccess").Fault(); f.Details.Reason != "inactive" {
		t.Errorf("reason %q, want inactive", f.Details.Reason)
	}
	admin.do("DELETE", "/v1/apiKeys/"+made.UID, "").Want(http.StatusNoContent)
	finder.Do("POST", revoke, instance.JSON(object{"apiKey": made.APIKey})).Want(http.StatusNoContent) // unknown now
	wantFields(t, finder.Do("POST", revoke, instance.JSON(object{"apiKey": made.APIKey[:60]})).Want(http.StatusBadRequest).Fault(),
		"apiKey")
	finder.Do("POST", revoke, `{}`, "Content-Type", "text/plain").Want(http.StatusUnsupportedMediaType)
	finder.Do("POST", revoke, `{"apiKey":"`+strings.Repeat("x", 65<<10)+`"}`).Want(http.StatusRequestEntityTooLarge)
	for range 100 {
		if response := finder.Do("POST", revoke, instance.JSON(object{"apiKey": made.APIKey})); response.Status != http.StatusNoContent {
			wantRetryAfter(t, response.Want(http.StatusTooManyRequests))
			return
		}
	}
	t.Error("100 revocations were not limited")
}
