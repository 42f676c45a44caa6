// Package scim has the HTTP operations by which an identity provider provisions users and teams: SCIM 2.0 (RFC 7643, 7644) as Entra ID and
// Okta send it.
package scim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/people"
)

// Operations lists the operations on what a directory has.
func Operations(d *directory.Directory) []people.Operation {
	p := directory.Provisioning{Directory: d}
	all := slices.Concat(userHandlers{p}.operations(), groupHandlers{p}.operations(), []people.Operation{
		{Method: "GET", Path: api.PathSCIMConfig, Handle: always(serviceProviderConfig)},
		{Method: "GET", Path: api.PathSCIMResourceTypes, Handle: always(resourceTypes)},
		{Method: "GET", Path: api.PathSCIMSchemas, Handle: always(schemas)},
	})
	for i := range all {
		all[i].SCIM = true
	}
	return all
}

// always returns the same body to everyone who may provision.
func always(body func() any) func(people.Call) (int, any, error) {
	return func(c people.Call) (int, any, error) { return http.StatusOK, body(), c.Principal.May(access.Provision) }
}

// Serves reports whether a path is one of SCIM.
func Serves(path string) bool { return strings.HasPrefix(path, api.PathSCIM) }

// Credentials returns the headers of a request in the form of other requests: identity providers send the API key as a bearer token.
func Credentials(authorization, apiKey string) (string, string) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if token = strings.TrimSpace(token); apiKey == "" && strings.EqualFold(scheme, "bearer") && strings.HasPrefix(token, "rwk_") {
		return "", token
	}
	return authorization, apiKey
}

// Error returns the body of an error of SCIM.
func Error(body *api.Error, f *fault.Error) api.SCIMError {
	detail := body.Message
	for _, field := range f.Fields {
		detail += " " + field.Field + " " + field.Problem + "."
	}
	return api.SCIMError{Error: *body, Schemas: []string{api.SCIMErrorSchema}, StatusText: strconv.Itoa(body.Status), SCIMType: scimType(f),
		Detail: detail}
}

// scimType returns the word of RFC 7644 section 3.12, "" if there is none.
func scimType(f *fault.Error) string {
	switch {
	case slices.Contains([]string{directory.CodeUserExists, directory.CodeTeamExists, directory.CodeExternalIDExists}, f.Code):
		return "uniqueness"
	case f.Code != fault.CodeInvalidRequest || len(f.Fields) == 0:
		return ""
	}
	switch f.Fields[0].Field {
	case "filter":
		return "invalidFilter"
	case "path":
		return "invalidPath"
	case "body":
		return "invalidSyntax"
	}
	return "invalidValue"
}
