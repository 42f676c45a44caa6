package service_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/test/contract"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
)

// inOneShape are operations in the shapes of public clients. The Go client has all kinds of registries in one shape.
var inOneShape = regexp.MustCompile(`/(ecr|helm)(/|$)`)

// withoutMethod lists the operations that the Go client does not send, and why.
var withoutMethod = map[string]string{
	"POST /v1/auth":                        "the same as /v1/auth/authenticate",
	"DELETE /v1/registries/{uid}":          "the same as DELETE …/basic",
	"GET /v1/registries/pack":              "for public clients; always empty",
	"GET /v1/registries/pack/summary":      "for public clients; always empty",
	"GET /v1/users/{uid}/resourceRoles":    "for public clients; always empty",
	"GET /v1/workspaces/users/{uid}/roles": "for public clients; always empty",
	"GET /v1/teams/{uid}/resourceRoles":    "for public clients; always empty",
	"GET /v1/workspaces/teams/{uid}/roles": "for public clients; always empty",
	"PUT /v1/workspaces/teams/{uid}/roles": "for public clients; always empty",
	"GET /v1/auth/sso/logins":              "for public clients; always empty",
	"GET /v1/auth/sso/providers":           "for public clients; always empty",
	"GET /v1/auth/sso/idps":                "for public clients; always empty",
	"GET /v1/auth/org/{org}/oidc/callback": "for what follows redirects with cookies",
	"GET /v1/auth/org/{org}/oidc/logout":   "for identity providers",

	"POST /v1/auth/org/{org}/oidc/backchannel-logout": "for identity providers",

	"GET /scim/v2/Users":                 "for identity providers",
	"POST /scim/v2/Users":                "for identity providers",
	"GET /scim/v2/Users/{uid}":           "for identity providers",
	"PUT /scim/v2/Users/{uid}":           "for identity providers",
	"PATCH /scim/v2/Users/{uid}":         "for identity providers",
	"DELETE /scim/v2/Users/{uid}":        "for identity providers",
	"GET /scim/v2/Groups":                "for identity providers",
	"POST /scim/v2/Groups":               "for identity providers",
	"GET /scim/v2/Groups/{uid}":          "for identity providers",
	"PUT /scim/v2/Groups/{uid}":          "for identity providers",
	"PATCH /scim/v2/Groups/{uid}":        "for identity providers",
	"DELETE /scim/v2/Groups/{uid}":       "for identity providers",
	"GET /scim/v2/ServiceProviderConfig": "for identity providers",
	"GET /scim/v2/ResourceTypes":         "for identity providers",
	"GET /scim/v2/Schemas":               "for identity providers",

	"GET /v1/teams/{uid}/roles":             "Teams.Get returns more",
	"GET /v1/registries/oci/{uid}":          "Registries.Get returns more",
	"GET /v1/registries/metadata":           "Registries.List returns more",
	"GET /v1/dashboard/projects/metadata":   "Projects.List returns more",
	"GET /v1/users/{uid}/roles":             "Users.Get returns more",
	"PATCH /v1/apiKeys/{uid}":               "the same as PUT …/state",
	"GET /v1/expiry/{key}/calendar.ics":     "for calendars, which send no headers",
	"GET /v1/alerts/confirmations/{token}":  "a page for a browser",
	"POST /v1/alerts/confirmations/{token}": "a page for a browser",
	"GET /v1/openapi.json":                  "package api contains it",
	"GET /.well-known/jwks.json":            "for programs that verify tokens",
	"GET /healthz":                          "Health requests /readyz",
}

// clientCall is one call of a method of the client.
type clientCall struct {
	method string // as in Users.Get
	call   func(context.Context)
}

// clientStory has what the calls share.
type clientStory struct {
	*client.Client
	t                            *testing.T
	method, url                  string
	config                       client.Config
	endpoint, hook               string
	project, user, key, registry string
	team                         string
	channel, own                 string
}

// TestClientCoversTheAPI calls every method of the client on a real server, and compares each response with the API description. Each
// operation has a method, or an entry in withoutMethod.
func TestClientCoversTheAPI(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--aws-account", "123456789012"}})
	registry := httptest.NewServer(&account{password: adaPassword})
	t.Cleanup(registry.Close)
	receiver := httptest.NewServer(&hooks{})
	t.Cleanup(receiver.Close)
	described, err := contract.Load("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	config := client.Config{Email: instance.Email, Org: instance.Org, Password: instance.Password, Transport: described.Transport(t, base)}
	c, err := client.New(server.URL, config)
	if err != nil {
		t.Fatal(err)
	}
	s := &clientStory{Client: c, t: t, url: server.URL, config: config, endpoint: registry.URL, hook: receiver.URL}
	called := map[string]bool{}
	for _, one := range slices.Concat(s.projectCalls(), s.userCalls(), s.registryCalls(), s.alertCalls(), s.otherCalls(),
		s.trustCalls(jobtokens.Start(t)),
		s.roleCalls(),
		s.ssoCalls(), s.mfaCalls(),
		s.deletions(), s.sessionCalls()) {
		called[one.method], s.method = true, one.method
		one.call(t.Context())
	}
	for _, method := range clientMethods(reflect.TypeOf(c)) {
		if !called[method] {
			t.Errorf("client method %s was not called", method)
		}
	}
	wantOperations(t, described)
}

// clientMethods lists the methods of the client, and those of its fields.
func clientMethods(of reflect.Type) (names []string) {
	for method := range of.Methods() {
		names = append(names, method.Name)
	}
	for field := range of.Elem().Fields() {
		if field.IsExported() {
			for method := range field.Type.Methods() {
				names = append(names, field.Name+"."+method.Name)
			}
		}
	}
	return names
}

func wantOperations(t *testing.T, described *contract.Contract) {
	t.Helper()
	operation := func(response string) string { return response[:strings.LastIndex(response, " ")] }
	seen := map[string]bool{}
	for _, response := range described.Seen() {
		seen[operation(response)] = true
	}
	for _, response := range described.Described() {
		name := operation(response)
		_, excepted := withoutMethod[name]
		if excepted = excepted || inOneShape.MatchString(name); seen[name] == excepted && !strings.HasPrefix(name, "HEAD ") {
			t.Errorf("%s: sent by the client: %t, in withoutMethod: %t", name, seen[name], excepted)
			seen[name] = !seen[name] // report it once
		}
	}
}

func (s *clientStory) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", s.method, err)
	}
}

func (s *clientStory) refused(err error, code string) {
	s.t.Helper()
	refused, ok := errors.AsType[*api.Error](err)
	s.want(ok && refused.Code == code, true)
}

func (s *clientStory) want(got, want any) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s: got %v, want %v", s.method, got, want)
	}
}
