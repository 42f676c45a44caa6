package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// exampleServer has the responses of a server with one registry.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case api.PathAuthenticate, "/v1/auth/refresh/stored-refresh-token":
			respond(w, http.StatusOK, `{"Authorization":"new-token","refreshToken":"new-refresh-token"}`)
		case api.PathOCIRegistrySummary:
			respond(w, http.StatusOK, `{"items":[{"metadata":{"uid":"4f1c","name":"harbor"},`+
				`"spec":{"endpoint":"https://harbor.example.com"}}]}`)
		case api.PathDiagnose:
			respond(w, http.StatusOK, `{"valid":false,"code":"RegistryAuthFailed","field":"auth.password","hint":"Set auth.password."}`)
		case api.PathProjects:
			respond(w, http.StatusConflict, `{"code":"ProjectAlreadyExists","message":"The project exists.","details":{},"ref":"ref-1"}`)
		default:
			if r.Header.Get(api.HeaderAuthorization) != "new-token" {
				respond(w, http.StatusUnauthorized,
					`{"code":"UnAuthorizedAccess","message":"The token has expired.","details":{},"ref":"ref-2"}`)
				return
			}
			respond(w, http.StatusOK, `{"orgName":"acme","userUid":"77ad"}`)
		}
	}))
}

// A program with an API key lists the stored registries.
func Example() {
	server := exampleServer()
	defer server.Close()

	c, err := client.New(server.URL, client.Config{APIKey: "the key"})
	if err != nil {
		panic(err)
	}
	for registry, err := range c.Registries.List(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(registry.Metadata.Name, registry.Spec.Endpoint)
	}
	// Output: harbor https://harbor.example.com
}

// Diagnose reports why a definition is not valid.
func ExampleClient_Diagnose() {
	server := exampleServer()
	defer server.Close()

	c, err := client.New(server.URL, client.Config{APIKey: "the key"})
	if err != nil {
		panic(err)
	}
	report, err := c.Diagnose(context.Background(), api.OCIRegistryDefinition{Definition: regcheck.Definition{
		Endpoint: "https://harbor.example.com",
		Auth:     &regcheck.Auth{Username: "robot", Password: "wrong"},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Valid, report.Code, report.Field)
	fmt.Println(report.Hint)
	// Output:
	// false RegistryAuthFailed auth.password
	// Set auth.password.
}

// A program that stores its tokens replaces them when they are refreshed.
func ExampleConfig() {
	server := exampleServer()
	defer server.Close()

	stored := map[string]secret.String{"token": "expired", "refreshToken": "stored-refresh-token"}
	c, err := client.New(server.URL, client.Config{
		Token:        stored["token"],
		RefreshToken: stored["refreshToken"],
		OnRefresh: func(token, refreshToken secret.String) {
			stored["token"], stored["refreshToken"] = token, refreshToken
		},
	})
	if err != nil {
		panic(err)
	}
	caller, err := c.Whoami(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(caller.OrgName, stored["refreshToken"].Reveal())
	// Output: acme new-refresh-token
}

// An error of the API has a code that programs can compare, and a ref that is also in the log of the server.
func ExampleClient_errors() {
	server := exampleServer()
	defer server.Close()

	c, err := client.New(server.URL, client.Config{Email: "ada@example.com", Org: "acme", Password: "her password"})
	if err != nil {
		panic(err)
	}
	_, err = c.Projects.Create(context.Background(), api.ProjectRequest{Metadata: api.ProjectRequestMetadata{Name: "charts"}})
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Code == "ProjectAlreadyExists" {
		fmt.Println("it exists:", refused.Ref)
	}
	// Output: it exists: ref-1
}
