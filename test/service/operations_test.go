package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// protectedOperation is an operation that needs credentials, with a request that none of the refusals below lets through.
type protectedOperation struct {
	method, path, body string
	fields             []string // of {} in place of the body, sorted; nil: {} has no problems
}

const ecrSpec = `{"endpoint":"public.ecr.aws","isPrivate":false}`

var helmSpec = object{"endpoint": "http://127.0.0.1:5000", "auth": object{"type": "noAuth"}}

const (
	noUID  = "00000000-0000-4000-8000-000000000000"
	tenant = "/v1/tenants/" + noUID
)

var operations = []protectedOperation{
	{method: "POST", path: "/v1/auth/logout"},
	{method: "POST", path: validate, body: `{"endpoint":"http://127.0.0.1:5000","auth":{}}`, fields: []string{"auth", "endpoint"}},
	{method: "POST", path: diagnose, body: `{"endpoint":"http://127.0.0.1:5000","auth":{}}`, fields: []string{"auth", "endpoint"}},
	{method: "POST", path: registriesPath, body: newRegistry("new", spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil)),
		fields: []string{"metadata.name", "spec.auth", "spec.endpoint"}},
	{method: "GET", path: at(noUID)},
	{method: "PUT", path: at(noUID), body: newRegistry("new", spec("http://127.0.0.1:5000", object{"type": "noAuth"}, nil))},
	{method: "DELETE", path: at(noUID)},
	{method: "POST", path: at(noUID) + "/sync"},
	{method: "POST", path: "/v1/registries/oci/" + noUID + "/check"},
	{method: "GET", path: at(noUID) + "/sync/status"},
	{method: "GET", path: at(noUID) + "/content"},
	{method: "GET", path: "/v1/registries/oci/summary"},
	{method: "GET", path: "/v1/registries/oci/summary/health"},
	{method: "GET", path: "/v1/registries/oci/" + noUID},
	{method: "GET", path: "/v1/registries/oci/" + noUID + "/ecr"},
	{method: "GET", path: "/v1/registries/metadata"},
	{method: "GET", path: "/v1/registries/helm"},
	{method: "GET", path: "/v1/registries/helm/summary"},
	{method: "GET", path: "/v1/registries/pack"},
	{method: "GET", path: "/v1/registries/pack/summary"},
	{method: "DELETE", path: "/v1/registries/" + noUID},
	{method: "POST", path: "/v1/registries/oci/ecr/validate", body: ecrSpec,
		fields: []string{"credentials.accessKey", "credentials.secretKey", "endpoint", "endpoint", "isPrivate"}},
	{method: "POST", path: "/v1/registries/oci/ecr", body: `{"metadata":{"name":"new"},"spec":` + ecrSpec + `}`,
		fields: []string{"metadata.name", "spec.credentials.accessKey", "spec.credentials.secretKey", "spec.endpoint",
			"spec.endpoint", "spec.isPrivate"}},
	{method: "PUT", path: "/v1/registries/oci/" + noUID + "/ecr", body: `{"metadata":{"name":"new"},"spec":` + ecrSpec + `}`},
	{method: "DELETE", path: "/v1/registries/oci/" + noUID + "/ecr"},
	{method: "POST", path: "/v1/registries/oci/" + noUID + "/ecr/sync"},
	{method: "GET", path: "/v1/registries/oci/" + noUID + "/ecr/sync/status"},
	{method: "GET", path: "/v1/clouds/aws/account/sts"},
	{method: "POST", path: "/v1/registries/helm/validate", body: `{"endpoint":"http://127.0.0.1:5000","auth":{}}`,
		fields: []string{"auth", "endpoint"}},
	{method: "POST", path: "/v1/registries/helm", body: newRegistry("new", helmSpec),
		fields: []string{"metadata.name", "spec.auth", "spec.endpoint"}},
	{method: "GET", path: "/v1/registries/helm/" + noUID},
	{method: "PUT", path: "/v1/registries/helm/" + noUID, body: newRegistry("new", helmSpec)},
	{method: "DELETE", path: "/v1/registries/helm/" + noUID},
	{method: "POST", path: "/v1/registries/helm/" + noUID + "/sync"},
	{method: "GET", path: "/v1/registries/helm/" + noUID + "/sync/status"},
	{method: "GET", path: alerts},
	{method: "GET", path: at(noUID) + "/history"},
	{method: "GET", path: channelsOf(noUID)},
	{method: "PUT", path: channelsOf(noUID), body: `{"channels":[]}`, fields: []string{"channels"}},
	{method: "POST", path: channelsOf(noUID), body: hook("http://127.0.0.1:5000/")},
	{method: "DELETE", path: channelsOf(noUID)},
	{method: "GET", path: channelsOf(noUID) + "/" + noUID},
	{method: "PUT", path: channelsOf(noUID) + "/" + noUID, body: hook("http://127.0.0.1:5000/")},
	{method: "DELETE", path: channelsOf(noUID) + "/" + noUID},
	{method: "POST", path: channelsOf(noUID) + "/" + noUID + "/test"},
	{method: "GET", path: "/v1/expiry"},
	{method: "POST", path: "/v1/registries/oci/bulk", body: `{"action":"check","filter":{}}`},
	{method: "GET", path: "/v1/alerts/reminders"},
	{method: "PUT", path: "/v1/alerts/reminders", body: `{"spec":{"apiKeyDays":[30,7,1]}}`},
	{method: "GET", path: "/v1/alerts/mutes"},
	{method: "POST", path: "/v1/alerts/mutes", body: `{"spec":{"until":"` + tomorrow() + `"}}`, fields: []string{"spec.until"}},
	{method: "DELETE", path: "/v1/alerts/mutes/" + noUID},
	{method: "GET", path: "/v1/orgs"},
	{method: "POST", path: "/v1/orgs", body: `{"metadata":{"name":"Blue"}}`, fields: []string{"metadata.name"}},
	{method: "PUT", path: "/v1/orgs/" + noUID, body: `{"metadata":{"name":"Blue"}}`, fields: []string{"metadata.name"}},
	{method: "DELETE", path: "/v1/orgs/" + noUID},
	{method: "GET", path: "/v1/orgs/" + noUID + "/contents"},
	{method: "GET", path: "/v1/projects"},
	{method: "POST", path: "/v1/projects", body: `{"metadata":{"name":"Blue"}}`, fields: []string{"metadata.name"}},
	{method: "GET", path: "/v1/projects/" + noUID},
	{method: "PUT", path: "/v1/projects/" + noUID, body: `{"metadata":{"name":"Blue"}}`, fields: []string{"metadata.name"}},
	{method: "DELETE", path: "/v1/projects/" + noUID},
	{method: "GET", path: "/v1/projects/" + noUID + "/contents"},
	{method: "GET", path: "/v1/dashboard/projects/metadata"},
	{method: "GET", path: "/v1/users"},
	{method: "POST", path: "/v1/users", body: newUser("new@acme.example"), fields: []string{"spec.emailId"}},
	{method: "GET", path: "/v1/users/info"},
	{method: "GET", path: "/v1/service"},
	{method: "POST", path: "/v1/users/summary", body: `{"filter":{"emailId":{"eq":"x@acme.example"}}}`},
	{method: "GET", path: "/v1/users/" + noUID},
	{method: "PUT", path: "/v1/users/" + noUID, body: `{"spec":{"firstName":"Ada"}}`},
	{method: "DELETE", path: "/v1/users/" + noUID},
	{method: "PUT", path: "/v1/users/" + noUID + "/password", body: `{"password":"nine geese across the marsh"}`},
	{method: "POST", path: "/v1/users/" + noUID + "/invitation"},
	{method: "GET", path: "/v1/users/" + noUID + "/roles"},
	{method: "GET", path: "/v1/users/" + noUID + "/projects"},
	{method: "GET", path: "/v1/users/" + noUID + "/resourceRoles"},
	{method: "GET", path: "/v1/workspaces/users/" + noUID + "/roles"},
	{method: "PUT", path: "/v1/users/" + noUID + "/state", body: `{"isActive":true}`, fields: []string{"isActive"}},
	{method: "PUT", path: "/v1/users/" + noUID + "/roles", body: `{"roles":["member"]}`, fields: []string{"roles"}},
	{method: "PUT", path: "/v1/users/" + noUID + "/projects", body: `{"projects":[]}`, fields: []string{"projects"}},
	{method: "PATCH", path: "/v1/users/me/password", body: `{"currentPassword":"a","newPassword":"nine geese across the marsh"}`,
		fields: []string{"currentPassword", "newPassword"}},
	{method: "GET", path: "/v1/users/me/mfa"},
	{method: "POST", path: "/v1/users/me/mfa", body: `{"currentPassword":"a"}`, fields: []string{"currentPassword"}},
	{method: "POST", path: "/v1/users/me/mfa/confirm", body: `{"code":"1"}`, fields: []string{"code"}},
	{method: "POST", path: "/v1/users/me/mfa/remove", body: `{"currentPassword":"a","code":"1"}`,
		fields: []string{"code", "currentPassword"}},
	{method: "POST", path: "/v1/users/me/mfa/recoveryCodes", body: `{"currentPassword":"a","code":"1"}`,
		fields: []string{"code", "currentPassword"}},
	{method: "GET", path: "/v1/users/me/sessions"},
	{method: "DELETE", path: "/v1/users/me/sessions/" + noUID},
	{method: "POST", path: "/v1/users/auth/tokens/revoke", body: `{"tokens":["x"]}`, fields: []string{"tokens"}},
	{method: "GET", path: "/v1/apiKeys"},
	{method: "POST", path: "/v1/apiKeys", body: newKey("ci", "", tomorrow()), fields: []string{"metadata.name", "spec.expiry"}},
	{method: "GET", path: "/v1/apiKeys/" + noUID},
	{method: "PUT", path: "/v1/apiKeys/" + noUID, body: newKey("ci", "", tomorrow()), fields: []string{"metadata.name"}},
	{method: "PATCH", path: "/v1/apiKeys/" + noUID, body: `{"isActive":false}`},
	{method: "DELETE", path: "/v1/apiKeys/" + noUID},
	{method: "PUT", path: "/v1/apiKeys/" + noUID + "/state", body: `{"isActive":false}`},
	{method: "GET", path: "/v1/trustRules"},
	{method: "POST", path: "/v1/trustRules", body: `{"metadata":{"name":"ci"},"spec":{"issuer":"https://issuer.example.com",` +
		`"audience":"a","claims":{"sub":"x"}}}`, fields: []string{"metadata.name", "spec.audience", "spec.claims", "spec.issuer"}},
	{method: "GET", path: "/v1/trustRules/" + noUID},
	{method: "DELETE", path: "/v1/trustRules/" + noUID},
	{method: "GET", path: "/v1/teams"},
	{method: "POST", path: "/v1/teams", body: `{"metadata":{"name":"new"}}`, fields: []string{"metadata.name"}},
	{method: "POST", path: "/v1/teams/summary", body: `{"filter":{"name":{"eq":"new"}}}`},
	{method: "GET", path: "/v1/teams/" + noUID},
	{method: "PUT", path: "/v1/teams/" + noUID, body: `{"metadata":{"name":"new"}}`, fields: []string{"metadata.name"}},
	{method: "PATCH", path: "/v1/teams/" + noUID, body: `[{"op":"replace","path":"/metadata/name","value":"newer"}]`,
		fields: []string{"body"}},
	{method: "GET", path: "/v1/teams/" + noUID + "/roles"},
	{method: "PUT", path: "/v1/teams/" + noUID + "/roles", body: `{"roles":["viewer"]}`, fields: []string{"roles"}},
	{method: "GET", path: "/v1/teams/" + noUID + "/projects"},
	{method: "PUT", path: "/v1/teams/" + noUID + "/projects", body: `{"projects":[]}`, fields: []string{"projects"}},
	{method: "GET", path: "/v1/teams/" + noUID + "/resourceRoles"},
	{method: "GET", path: "/v1/workspaces/teams/" + noUID + "/roles"},
	{method: "PUT", path: "/v1/workspaces/teams/" + noUID + "/roles", body: `{"workspaces":[]}`},
	{method: "DELETE", path: "/v1/teams/" + noUID},
	{method: "GET", path: "/v1/roles"},
	{method: "POST", path: "/v1/roles", body: roleBody("new", "project", "registry.get"),
		fields: []string{"metadata.name", "spec.permissions", "spec.scope"}},
	{method: "GET", path: "/v1/roles/admin"},
	{method: "PUT", path: "/v1/roles/" + noUID, body: roleBody("newer", "project", "registry.get"),
		fields: []string{"metadata.name", "spec.permissions", "spec.scope"}},
	{method: "POST", path: "/v1/roles/" + noUID + "/clone", body: `{"metadata":{"name":"clone"}}`, fields: []string{"metadata.name"}},
	{method: "DELETE", path: "/v1/roles/" + noUID},
	{method: "GET", path: "/v1/permissions"},
	{method: "GET", path: "/v1/sso"},
	{method: "PUT", path: "/v1/sso", body: `{"spec":{"issuer":"https://issuer.example.com","clientId":"a"}}`,
		fields: []string{"spec.clientId", "spec.issuer"}},
	{method: "DELETE", path: "/v1/sso"},
	{method: "GET", path: "/v1/auth/orgs"},
	{method: "GET", path: tenant + "/oidc/config"},
	{method: "POST", path: tenant + "/oidc/config", body: `{"issuerUrl":"https://issuer.example.com","clientId":"a"}`},
	{method: "GET", path: tenant + "/saml/config"},
	{method: "POST", path: tenant + "/saml/config", body: `{"identityProvider":"Okta"}`},
	{method: "GET", path: tenant + "/domains"},
	{method: "POST", path: tenant + "/domains", body: `{"domains":["acme.example"]}`},
	{method: "GET", path: tenant + "/sso/auth/providers"},
	{method: "POST", path: tenant + "/sso/auth/providers", body: `{"isEnabled":true,"ssoLogins":["github"]}`},
	{method: "GET", path: tenant + "/password/policy"},
	{method: "POST", path: tenant + "/password/policy", body: `{"minLength":15}`},
	{method: "GET", path: tenant + "/authTokenSettings"},
	{method: "PUT", path: tenant + "/authTokenSettings", body: `{"expiryTimeMinutes":60}`, fields: []string{"expiryTimeMinutes"}},
	{method: "GET", path: tenant + "/mfa"},
	{method: "PUT", path: tenant + "/mfa", body: `{"isRequired":false}`, fields: []string{"isRequired"}},
	{method: "DELETE", path: "/v1/users/" + noUID + "/mfa"},
	{method: "GET", path: "/v1/users/" + noUID + "/identity"},
	{method: "PUT", path: "/v1/users/" + noUID + "/identity", body: `{"subject":"a"}`},
	{method: "GET", path: scimUsers},
	{method: "POST", path: scimUsers, body: `{"userName":"scim@acme.example"}`, fields: []string{"userName"}},
	{method: "GET", path: scimUsers + "/" + noUID},
	{method: "PUT", path: scimUsers + "/" + noUID, body: `{"userName":"scim@acme.example"}`, fields: []string{"userName"}},
	{method: "PATCH", path: scimUsers + "/" + noUID, body: `{"Operations":[{"op":"replace","value":{"active":false}}]}`,
		fields: []string{"Operations"}},
	{method: "DELETE", path: scimUsers + "/" + noUID},
	{method: "GET", path: scimGroups},
	{method: "POST", path: scimGroups, body: `{"displayName":"scim"}`, fields: []string{"displayName"}},
	{method: "GET", path: scimGroups + "/" + noUID},
	{method: "PUT", path: scimGroups + "/" + noUID, body: `{"displayName":"scim"}`, fields: []string{"displayName"}},
	{method: "PATCH", path: scimGroups + "/" + noUID, body: `{"Operations":[{"op":"replace","path":"members","value":[]}]}`,
		fields: []string{"Operations"}},
	{method: "DELETE", path: scimGroups + "/" + noUID},
	{method: "GET", path: "/scim/v2/ServiceProviderConfig"},
	{method: "GET", path: "/scim/v2/ResourceTypes"},
	{method: "GET", path: "/scim/v2/Schemas"},
	{method: "GET", path: "/v1/audits"},
	{method: "GET", path: "/v1/audits/" + noUID},
}

// What holds for each operation that needs credentials, before it does anything.
func TestEveryOperationRefusesAlike(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	tokens := server.Client(t).Login()
	good := []string{"Authorization", tokens.Authorization}
	for _, op := range operations {
		t.Run(op.method+" "+op.path, func(t *testing.T) {
			client := server.Client(t)
			wants := func(body string, status int, code string, headers ...string) instance.Fault {
				t.Helper()
				f := client.Do(op.method, op.path, body, headers...).Want(status).Fault()
				if f.Code != code {
					t.Errorf("%s, want %s", f.Code, code)
				}
				return f
			}
			if f := wants(op.body, 401, "UnAuthorizedAccess"); f.Details.Reason != "missing" {
				t.Errorf("reason %q, want missing", f.Details.Reason)
			}
			wants(op.body, 401, "UnAuthorizedAccess", "Authorization", flipped(tokens.Authorization))
			wants(op.body, 404, "ProjectNotFoundInTenant", append(good, "ProjectUid", noUID)...)
			wants(op.body, 400, "InvalidRequest", append(good, "ApiKey", "a", "ApiKey", "b")...)
			if op.body == "" {
				return
			}
			wants(op.body, 415, "UnsupportedMediaType", append(good, "Content-Type", "text/plain")...)
			wants(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`, 413, "RequestTooLarge", good...)
			wants(`{"a":1,"a":2}`, 400, "InvalidRequest", good...)
			if op.fields != nil {
				wantFields(t, wants(`{}`, 400, "InvalidRequest", good...), op.fields...)
			}
		})
	}
	server.Client(t).Do(http.MethodGet, alerts, "", good...).Want(http.StatusOK) // nothing above has ended the session
}

// All problems are reported at once, wrong types among them, by the names that the request uses.
func TestEveryProblemOfARequestIsReported(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	tokens := server.Client(t).Login()
	server.Admin(t, matePassword+"\n", "user", "create", "--org", instance.Org, "--email", "mate@acme.example", "--password-stdin")
	for _, tt := range []struct {
		name, method, path, body string
		fields                   []string
	}{
		{"project without a name", "POST", "/v1/projects", `{"metadata":{"name":"  "}}`, []string{"metadata.name"}},
		{"project of wrong types", "POST", "/v1/projects", `{"metadata":{"name":7}}`, []string{"metadata.name"}},
		{"project with an invisible name", "POST", "/v1/projects", `{"metadata":{"name":"a\u202eb"}}`, []string{"metadata.name"}},
		{"project all wrong", "PUT", "/v1/projects/" + noUID, `{"metadata":{"name":"","labels":{"a":7},"annotations":"none"}}`,
			[]string{"metadata.annotations", "metadata.labels.a", "metadata.name"}},
		{"project with large labels", "PUT", "/v1/projects/" + noUID,
			`{"metadata":{"name":"x","labels":{"a":"` + strings.Repeat("x", 16<<10) + `"}}}`, []string{"metadata.labels"}},
		{"project to be deleted with its content", "DELETE", "/v1/projects/" + noUID + "?cleanup=true&cleanupProjectResources=true", "",
			[]string{"cleanup", "cleanupProjectResources"}},
		{"organization deleted in part", "DELETE", "/v1/orgs/" + noUID + "?cascade=some", "", []string{"cascade"}},
		{"user all wrong", "POST", "/v1/users", `{"spec":{"emailId":"x","password":"short","roles":["owner"],"projects":"Default"}}`,
			[]string{"spec.emailId", "spec.password", "spec.projects", "spec.roles"}},
		{"user with names that cannot be shown", "POST", "/v1/users",
			`{"metadata":{"name":"a\u202eb"},"spec":{"emailId":"a@b.example","firstName":"a\n","lastName":7,"teams":"ops"}}`,
			[]string{"metadata.name", "spec.firstName", "spec.lastName", "spec.teams"}},
		{"user changed all wrong", "PUT", "/v1/users/" + noUID,
			`{"metadata":{"name":"a\u202eb"},"spec":{"emailId":"x","lastName":"\u0000"}}`,
			[]string{"metadata.name", "spec.emailId", "spec.lastName"}},
		{"password set to a short one", "PUT", "/v1/users/mate@acme.example/password", `{"password":"short"}`, []string{"password"}},
		{"password set to none", "PUT", "/v1/users/mate@acme.example/password", `{}`, []string{"password"}},
		{"filter of wrong types", "POST", "/v1/users/summary", `{"filter":{"emailId":{"eq":7},"name":"x"}}`,
			[]string{"filter.emailId.eq", "filter.name"}},
		{"roles in a project that there are not", "PUT", "/v1/users/mate@acme.example/projects",
			`{"projects":[{"projectUid":"Default","roles":["member"]},{"projectUid":"Default","roles":["auditor","x"]}]}`,
			[]string{"projects[1].roles"}},
		{"user of two roles, of which one does not exist", "POST", "/v1/users",
			`{"spec":{"emailId":"a@b.example","password":7,"roles":["admin","owner"]}}`,
			[]string{"spec.password", "spec.roles"}},
		{"user in projects that are not there", "POST", "/v1/users",
			`{"spec":{"emailId":"a@b.example","password":"a long way to the sea","projects":["Missing","Default","` + noUID + `"]}}`,
			[]string{"spec.projects[0]", "spec.projects[2]"}},
		{"password of wrong types", "PATCH", "/v1/users/me/password", `{"currentPassword":1,"newPassword":"short"}`,
			[]string{"currentPassword", "newPassword"}},
		{"password with a trailing newline", "PATCH", "/v1/users/me/password",
			`{"currentPassword":"x\n","newPassword":"a long way to the sea"}`, []string{"currentPassword"}},
		{"the same password", "PATCH", "/v1/users/me/password",
			`{"currentPassword":"` + instance.Password + `","newPassword":"` + instance.Password + `"}`, []string{"newPassword"}},
		{"a wrong current password", "PATCH", "/v1/users/me/password",
			`{"currentPassword":"not this one","newPassword":"a long way to the sea"}`, []string{"currentPassword"}},
		{"no tokens", "POST", "/v1/users/auth/tokens/revoke", `{"tokens":[]}`, []string{"tokens"}},
		{"tokens of wrong types", "POST", "/v1/users/auth/tokens/revoke", `{"tokens":[1,"x",true]}`, []string{"tokens[0]", "tokens[2]"}},
		{"tokens that are none", "POST", "/v1/users/auth/tokens/revoke", `{"tokens":["x","` + tokens.Authorization + `","y"]}`,
			[]string{"tokens[0]", "tokens[2]"}},
		{"key all wrong", "POST", "/v1/apiKeys", `{"metadata":{"name":""},"spec":{"expiry":"tomorrow","userUid":7}}`,
			[]string{"metadata.name", "spec.expiry", "spec.userUid"}},
		{"key of the past", "POST", "/v1/apiKeys", newKey("old", "", "2020-01-01T00:00:00Z"), []string{"spec.expiry"}},
		{"key without an end, as a public client says it", "POST", "/v1/apiKeys",
			newKey("zero", "", "0001-01-01T00:00:00.000Z"), []string{"spec.expiry"}},
		{"key change all wrong", "PUT", "/v1/apiKeys/" + noUID, `{"metadata":{"name":"\u200b"},"spec":{"expiry":"2020-01-01T00:00:00Z"}}`,
			[]string{"metadata.name", "spec.expiry"}},
		{"key change of wrong types", "PUT", "/v1/apiKeys/" + noUID, `{"metadata":{"name":7},"spec":{"expiry":"soon"}}`,
			[]string{"metadata.name", "spec.expiry"}},
		{"key state of a wrong type", "PATCH", "/v1/apiKeys/" + noUID, `{"isActive":"no"}`, []string{"isActive"}},
		{"user state of a wrong type", "PUT", "/v1/users/" + noUID + "/state", `{"isActive":"no"}`, []string{"isActive"}},
		{"user role of a wrong type", "PUT", "/v1/users/" + noUID + "/roles", `{"roles":[7]}`, []string{"roles[0]"}},
		{"unknown role", "PUT", "/v1/users/" + noUID + "/roles", `{"roles":["owner"]}`, []string{"roles"}},
		{"registry filters all wrong", "GET",
			"/v1/registries/oci/summary?limit=501&continue=x&health=good&sort=size&name=" + strings.Repeat("x", 257), "",
			[]string{"continue", "health", "limit", "name", "sort"}},
		{"registry filter given twice", "GET", "/v1/registries/oci/summary?health=failing&health=healthy", "", []string{"health"}},
		{"registry page made up", "GET", "/v1/registries/oci/summary?continue=MAoxCg", "", []string{"continue"}},
		{"audit filters all wrong", "GET",
			"/v1/audits?limit=0&continue=x&startTime=now&endTime=then&action=a&actionType=b&resourceKind=c&outcome=d" +
				"&tenantUid=e&projectUid=f", "",
			[]string{"action", "actionType", "continue", "endTime", "limit", "outcome", "projectUid", "resourceKind",
				"startTime", "tenantUid"}},
		{"permissions of a scope that there is not", "GET", "/v1/permissions?scope=world", "", []string{"scope"}},
		{"audit filter given twice", "GET", "/v1/audits?limit=1&limit=2", "", []string{"limit"}},
		{"audit limit too high", "GET", "/v1/audits?limit=501", "", []string{"limit"}},
		{"audit limit of no number", "GET", "/v1/audits?limit=ten", "", []string{"limit"}},
		{"audit place made up", "GET", "/v1/audits?continue=MSAyIDM", "", []string{"continue"}},
		{"audit query not encoded", "GET", "/v1/audits?limit=%zz", "", []string{"query"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := server.Client(t).Do(tt.method, tt.path, tt.body, "Authorization", tokens.Authorization).Want(http.StatusBadRequest).Fault()
			wantFields(t, f, tt.fields...)
		})
	}
}

func wantFields(t *testing.T, f instance.Fault, want ...string) {
	t.Helper()
	var got []string
	for _, p := range f.Details.Fields {
		got = append(got, p.Field)
	}
	slices.Sort(got)
	if f.Code != "InvalidRequest" || !slices.Equal(got, want) {
		t.Errorf("%s, problems with %q, want %q", f.Code, f.Details.Fields, want)
	}
}
