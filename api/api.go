// Package api has the shapes, paths and error body of the HTTP interface, and its description.
//
// It holds no logic: the server encodes these types, the client decodes them.
package api

import (
	_ "embed"
	"encoding/json"

	"github.com/regwarden/regwarden/secret"
)

// OpenAPI is the description of the interface (OpenAPI 3.1, YAML). The server serves it as JSON.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Paths of the interface. A name in braces is one path segment; %2F in it is part of the name.
const (
	PathAuthenticate  = "/v1/auth/authenticate"
	PathAuth          = "/v1/auth" // the same as PathAuthenticate: the interface's prose names this one
	PathRefresh       = "/v1/auth/refresh/{token}"
	PathValidate      = "/v1/registries/oci/basic/validate"
	PathDiagnose      = "/v1/registries/oci/basic/diagnose"
	PathProjectAlerts = "/v1/projects/alerts"
	PathOpenAPI       = "/v1/openapi.json"
	PathJWKS          = "/.well-known/jwks.json"
	PathHealth        = "/healthz"
	PathReady         = "/readyz"
)

// Header names of the interface.
const (
	HeaderAuthorization = "Authorization"
	HeaderAPIKey        = "ApiKey"
	HeaderProjectUID    = "ProjectUid"
	HeaderAuditUID      = "AuditUid"
	HeaderRequestID     = "X-Request-Id"
)

// AuthenticateRequest is the body of PathAuthenticate.
type AuthenticateRequest struct {
	EmailID  string        `json:"emailId"`
	Org      string        `json:"org"`
	Password secret.String `json:"password"`
}

// AuthenticateResponse answers PathAuthenticate and PathRefresh. RefreshToken is missing when an
// authorization token was renewed at the refresh path. Its strings are plain because here they must be shown.
type AuthenticateResponse struct {
	Authorization string `json:"Authorization"`
	RefreshToken  string `json:"refreshToken,omitempty"`
}

// AlertComponents answers PathProjectAlerts.
type AlertComponents struct {
	Components []AlertComponent `json:"components"`
}

// AlertComponent is one thing that alerts can be had about.
type AlertComponent struct {
	Name              string   `json:"name"`
	Description       string   `json:"description"`
	SupportedChannels []string `json:"supportedChannels"`
}

// Status answers PathHealth and PathReady.
type Status struct {
	Status string `json:"status"`
}

// Error is the body of every answer outside 2xx, and the error that the client returns.
type Error struct {
	Status  int             `json:"-"` // HTTP status, not in the body
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"` // always an object; a 422's is the validation report
	Ref     string          `json:"ref"`     // request id, also in the service's log
}

func (e *Error) Error() string { return e.Code + ": " + e.Message + " (" + e.Ref + ")" }
