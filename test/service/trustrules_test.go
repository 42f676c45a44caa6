package service_test

import (
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
)

const exchangePath = "/v1/auth/token"

var formType = []string{"Content-Type", "application/x-www-form-urlencoded"}

// exchangeForm is the body of an exchange of a token.
func exchangeForm(token string) string {
	return url.Values{api.ParamGrantType: {api.GrantTokenExchange}, api.ParamSubjectTokenType: {api.TokenTypeJWT},
		api.ParamSubjectToken: {token}, api.ParamOrg: {instance.Org}}.Encode()
}

// newTrustRule is the body that creates a rule for jobs of acme.
func newTrustRule(t *testing.T, name, audience string, p *jobtokens.Issuer) string {
	t.Helper()
	ca, err := os.ReadFile(p.CA)
	if err != nil {
		t.Fatal(err)
	}
	return instance.JSON(object{"metadata": object{"name": name}, "spec": object{"issuer": p.URL, "audience": audience, "ca": string(ca),
		"claims": object{"repository": "acme/*"}}})
}

// An administrator manages the rules of the organization; a member does not even see them.
func TestTrustRules(t *testing.T) {
	t.Parallel()
	server, p := instance.Start(t, instance.Options{}), jobtokens.Start(t)
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	rule := newTrustRule(t, "ci", server.URL, p)
	uid := admin.make("/v1/trustRules", rule)
	admin.refused("POST", "/v1/trustRules", newTrustRule(t, " CI ", server.URL, p), 409, "TrustRuleAlreadyExists")
	mate.refused("POST", "/v1/trustRules", rule, 403, "OperationForbidden")
	mate.refused("GET", "/v1/trustRules", "", 403, "OperationForbidden")
	mate.refused("GET", "/v1/trustRules/"+uid, "", 403, "OperationForbidden")
	mate.refused("DELETE", "/v1/trustRules/"+uid, "", 403, "OperationForbidden")

	var list items
	admin.get("/v1/trustRules", &list)
	if len(list.Items) != 1 || list.Items[0].Metadata != (meta{uid, "ci"}) {
		t.Errorf("the rules are %+v", list)
	}
	var one api.TrustRule
	admin.get("/v1/trustRules/"+uid, &one)
	if one.Spec.Issuer != p.URL || one.Spec.Claims["repository"] != "acme/*" || one.Spec.Role != "member" {
		t.Errorf("the rule is %+v", one)
	}
	admin.do("DELETE", "/v1/trustRules/"+uid, "").Want(http.StatusNoContent)
	admin.refused("GET", "/v1/trustRules/"+uid, "", 404, "ResourceNotFound")
}

// An exchange over HTTP: what it returns, and what is refused.
func TestTokenExchange(t *testing.T) {
	t.Parallel()
	server, p, stopped := instance.Start(t, instance.Options{}), jobtokens.Start(t), jobtokens.Start(t)
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make("/v1/trustRules", newTrustRule(t, "ci", server.URL, p))
	admin.make("/v1/trustRules", newTrustRule(t, "stopped", server.URL, stopped))
	stopped.Close()
	good := exchangeForm(p.Token(t, "acme/app", server.URL, "1"))
	var issued api.IssuedToken
	admin.client.Do("POST", exchangePath, good, formType...).Want(http.StatusOK).Into(&issued)
	job := person{t, server.Client(t), []string{"Authorization", issued.AccessToken}}
	job.do("GET", alerts, "").Want(http.StatusOK)

	large := exchangeForm(string(make([]byte, 1<<20)))
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		code       string
	}{
		{"used", good, formType, 401, "AuthenticationFailed"},
		{"other repository", exchangeForm(p.Token(t, "evil/app", server.URL, "2")), formType, 401, "AuthenticationFailed"},
		{"other audience", exchangeForm(p.Token(t, "acme/app", "other", "3")), formType, 401, "AuthenticationFailed"},
		{"no token", exchangeForm(""), formType, 400, "InvalidRequest"},
		{"too large", large, formType, 413, "RequestTooLarge"},
		{"JSON", `{}`, nil, 415, "UnsupportedMediaType"},
		{"issuer stopped", exchangeForm(stopped.Token(t, "acme/app", server.URL, "4")), formType, 503, "Unavailable"},
	} {
		f := admin.client.Do("POST", exchangePath, tt.body, tt.headers...).Want(tt.status).Fault()
		if f.Code != tt.code {
			t.Errorf("%s: %s, want %s", tt.name, f.Code, tt.code)
		}
	}
	admin.do("DELETE", "/v1/trustRules/"+uid, "").Want(http.StatusNoContent)
	job.refused("GET", alerts, "", 401, "UnAuthorizedAccess")
}

// Exchanges are limited per source. The limit refills while the requests are sent, so their number is not exact.
func TestTokenExchangesAreLimited(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	body := exchangeForm("malformed")
	response := client.Do("POST", exchangePath, body, formType...)
	for tries := 0; response.Status == http.StatusUnauthorized && tries < 3000; tries++ {
		response = client.Do("POST", exchangePath, body, formType...)
	}
	if f := response.Want(http.StatusTooManyRequests).Fault(); f.Code != "TooManyRequests" {
		t.Errorf("%s, want TooManyRequests", f.Code)
	}
	wantRetryAfter(t, response)
}
