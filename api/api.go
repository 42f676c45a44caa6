// Package api has the types, paths and error body of the HTTP API, and its OpenAPI description.
//
// It has no logic: the server encodes these types, the client decodes them.
package api

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// OpenAPI is the description of the interface (OpenAPI 3.1, YAML). The server serves it as JSON.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Paths of the API. A name in braces is one path segment; %2F in it is part of the name.
const (
	PathAuthenticate         = "/v1/auth/authenticate"
	PathAuth                 = "/v1/auth" // same as PathAuthenticate; the text of the API specification uses this path
	PathRefresh              = "/v1/auth/refresh/{token}"
	PathLogout               = "/v1/auth/logout"
	PathMFAVerify            = "/v1/auth/mfa/verify"
	PathMFAEnroll            = "/v1/auth/mfa/enroll"
	PathToken                = "/v1/auth/token" // #nosec G101 -- a path, not a credential
	PathDevice               = "/v1/auth/device"
	PathValidate             = "/v1/registries/oci/basic/validate"
	PathDiagnose             = "/v1/registries/oci/basic/diagnose"
	PathScan                 = "/v1/registries/oci/basic/scan"
	PathOCIRegistryImport    = "/v1/registries/oci/basic/import"
	PathOCIRegistryBulk      = "/v1/registries/oci/bulk"
	PathOCIRegistries        = "/v1/registries/oci/basic"
	PathOCIRegistry          = "/v1/registries/oci/{uid}/basic"
	PathOCIRegistryOfAnyType = "/v1/registries/oci/{uid}"
	PathECRValidate          = "/v1/registries/oci/ecr/validate"
	PathECRRegistries        = "/v1/registries/oci/ecr"
	PathOCIRegistryECR       = "/v1/registries/oci/{uid}/ecr"
	PathECRRegistrySync      = "/v1/registries/oci/{uid}/ecr/sync"
	PathECRRegistrySyncState = "/v1/registries/oci/{uid}/ecr/sync/status"
	PathAWSAccount           = "/v1/clouds/aws/account/sts"
	PathRegistry             = "/v1/registries/{uid}"
	PathOCIRegistryHistory   = "/v1/registries/oci/{uid}/basic/history"
	PathOCIRegistrySync      = "/v1/registries/oci/{uid}/basic/sync"
	PathOCIRegistrySyncState = "/v1/registries/oci/{uid}/basic/sync/status"
	PathOCIRegistryContent   = "/v1/registries/oci/{uid}/basic/content"
	PathOCIRegistryCheck     = "/v1/registries/oci/{uid}/check"
	PathOCIRegistrySummary   = "/v1/registries/oci/summary"
	PathOCIRegistryHealth    = "/v1/registries/oci/summary/health"
	PathRegistryNames        = "/v1/registries/metadata"
	PathHelmRegistries       = "/v1/registries/helm"
	PathHelmRegistrySummary  = "/v1/registries/helm/summary"
	PathHelmValidate         = "/v1/registries/helm/validate"
	PathHelmRegistry         = "/v1/registries/helm/{uid}"
	PathHelmRegistrySync     = "/v1/registries/helm/{uid}/sync"
	PathHelmSyncState        = "/v1/registries/helm/{uid}/sync/status"
	PathPackRegistries       = "/v1/registries/pack"
	PathPackRegistrySummary  = "/v1/registries/pack/summary"
	PathOrgs                 = "/v1/orgs"
	PathOrg                  = "/v1/orgs/{uid}"
	PathOrgContents          = "/v1/orgs/{uid}/contents"
	PathProjects             = "/v1/projects"
	PathProject              = "/v1/projects/{uid}"
	PathProjectContents      = "/v1/projects/{uid}/contents"
	PathProjectNames         = "/v1/dashboard/projects/metadata"
	PathProjectAlerts        = "/v1/projects/alerts"
	PathAlert                = "/v1/projects/{uid}/alerts/{component}"
	PathAlertChannel         = "/v1/projects/{uid}/alerts/{component}/{alertUid}"
	PathAlertChannelTest     = "/v1/projects/{uid}/alerts/{component}/{alertUid}/test"
	PathExpiry               = "/v1/expiry"
	PathExpiryCalendar       = "/v1/expiry/{key}/calendar.ics"
	PathMutes                = "/v1/alerts/mutes"
	PathMute                 = "/v1/alerts/mutes/{uid}"
	PathReminders            = "/v1/alerts/reminders"
	PathAlertConfirmation    = "/v1/alerts/confirmations/{token}"
	PathUsers                = "/v1/users"
	PathUserInfo             = "/v1/users/info"
	PathUserSummary          = "/v1/users/summary"
	PathUser                 = "/v1/users/{uid}"
	PathUserPassword         = "/v1/users/{uid}/password"
	PathUserIdentity         = "/v1/users/{uid}/identity"
	PathUserInvitation       = "/v1/users/{uid}/invitation"
	PathPasswordActivation   = "/v1/auth/password/{passwordToken}/activate"
	PathUserState            = "/v1/users/{uid}/state"
	PathUserRoles            = "/v1/users/{uid}/roles"
	PathUserProjects         = "/v1/users/{uid}/projects"
	PathUserResourceRoles    = "/v1/users/{uid}/resourceRoles"
	PathUserWorkspaceRoles   = "/v1/workspaces/users/{uid}/roles"
	PathMyPassword           = "/v1/users/me/password"
	PathMyMFA                = "/v1/users/me/mfa"
	PathMyMFAConfirm         = "/v1/users/me/mfa/confirm"
	PathMyMFARemove          = "/v1/users/me/mfa/remove"
	PathMyMFACodes           = "/v1/users/me/mfa/recoveryCodes"
	PathUserMFA              = "/v1/users/{uid}/mfa"
	PathMySessions           = "/v1/users/me/sessions"
	PathMySession            = "/v1/users/me/sessions/{uid}"
	PathRevokeTokens         = "/v1/users/auth/tokens/revoke"
	PathAPIKeys              = "/v1/apiKeys"
	PathAPIKey               = "/v1/apiKeys/{uid}"
	PathAPIKeyState          = "/v1/apiKeys/{uid}/state"
	PathAPIKeyRevocation     = "/v1/apiKeys/revoke"
	PathTrustRules           = "/v1/trustRules"
	PathTrustRule            = "/v1/trustRules/{uid}"
	PathTeams                = "/v1/teams"
	PathTeamSummary          = "/v1/teams/summary"
	PathTeam                 = "/v1/teams/{uid}"
	PathTeamRoles            = "/v1/teams/{uid}/roles"
	PathTeamProjects         = "/v1/teams/{uid}/projects"
	PathTeamResourceRoles    = "/v1/teams/{uid}/resourceRoles"
	PathTeamWorkspaceRoles   = "/v1/workspaces/teams/{uid}/roles"
	PathRoles                = "/v1/roles"
	PathRole                 = "/v1/roles/{uid}"
	PathRoleClone            = "/v1/roles/{uid}/clone"
	PathPermissions          = "/v1/permissions"
	PathSSO                  = "/v1/sso"
	PathOrgLogin             = "/v1/auth/org"
	PathOrgLogins            = "/v1/auth/orgs"
	PathOrgForgotten         = "/v1/auth/user/org/forgot"
	PathOrgLoginCallback     = "/v1/auth/org/{org}/oidc/callback"
	PathOrgLoginLogout       = "/v1/auth/org/{org}/oidc/logout"
	PathBackChannelLogout    = "/v1/auth/org/{org}/oidc/backchannel-logout"
	PathSSOLogins            = "/v1/auth/sso/logins"
	PathSSOProviders         = "/v1/auth/sso/providers"
	PathSSOIDPs              = "/v1/auth/sso/idps"
	PathTenantOIDC           = "/v1/tenants/{uid}/oidc/config"
	PathTenantSAML           = "/v1/tenants/{uid}/saml/config"
	PathTenantDomains        = "/v1/tenants/{uid}/domains"
	PathTenantLogins         = "/v1/tenants/{uid}/sso/auth/providers"
	PathTenantPasswords      = "/v1/tenants/{uid}/password/policy"   // #nosec G101 -- a path, not a credential
	PathTenantTokens         = "/v1/tenants/{uid}/authTokenSettings" // #nosec G101 -- a path, not a credential
	PathTenantMFA            = "/v1/tenants/{uid}/mfa"
	PathAudits               = "/v1/audits"
	PathAudit                = "/v1/audits/{uid}"
	PathOpenAPI              = "/v1/openapi.json"
	PathJWKS                 = "/.well-known/jwks.json"
	PathHealth               = "/healthz"
	PathService              = "/v1/service"
	PathReady                = "/readyz"
)

// Header names of the API.
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

	NewPassword secret.String `json:"newPassword,omitempty"` // replaces the password, also one that has expired; empty: it stays
}

// AuthenticateResponse is the response of PathAuthenticate and PathRefresh. RefreshToken is missing when an
// authorization token was exchanged at the refresh path. Its strings are not masked, since the client needs them. With IsMFA, Authorization
// only completes the login, as MFAAction says.
type AuthenticateResponse struct {
	Authorization string   `json:"Authorization"`
	RefreshToken  string   `json:"refreshToken,omitempty"`
	IsMFA         bool     `json:"isMfa,omitempty"`
	MFAAction     string   `json:"mfaAction,omitempty"`     // MFAVerify or MFAEnroll
	RecoveryCodes []string `json:"recoveryCodes,omitempty"` // of a second factor that the login added; this one time
}

// Metadata is the metadata of every listed resource. Only projects have annotations and labels.
type Metadata struct {
	UID               string            `json:"uid"`
	Name              string            `json:"name"`
	CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// ListMeta has the position of the next page. Continue is empty on the last page.
type ListMeta struct {
	Continue string `json:"continue"`
	Count    int64  `json:"count"`
	Limit    int    `json:"limit"`
	Offset   int    `json:"offset"`
}

// Named is the metadata of a resource to be created or renamed. Public clients send more, which is ignored.
type Named struct {
	Name string `json:"name"`
}

// Created is the response to the creation of a resource.
type Created struct {
	UID string `json:"uid"`
}

// Status is the response of PathHealth and PathReady.
type Status struct {
	Status string `json:"status"`
}

// Service is the response of PathService: the version of the server, and its time.
type Service struct {
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
}

// Error is the body of every response outside 2xx, and the error that the client returns.
type Error struct {
	Status  int             `json:"-"` // HTTP status, not in the body
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"` // always an object; for a 422 the validation report
	Ref     string          `json:"ref"`     // request id, also in the service's log

	OAuthError string `json:"error,omitempty"` // of POST PathToken for a device (RFC 6749 section 5.2)
}

func (e *Error) Error() string {
	text := e.Code + ": " + e.Message
	for _, f := range e.Fields() {
		text += " " + f.Field + " " + f.Problem + "."
	}
	if e.Ref == "" { // a client may make an error too
		return text
	}
	return text + " (" + e.Ref + ")"
}

// ReasonPasswordExpired is the reason of a refused login with the right password: it has to be replaced.
const ReasonPasswordExpired = "passwordExpired" // #nosec G101 -- a word, not a credential

// Reason returns the reason of a refused request, "" if it has none.
func (e *Error) Reason() string {
	var details struct{ Reason string }
	if e.Status == http.StatusUnprocessableEntity || json.Unmarshal(e.Details, &details) != nil {
		return ""
	}
	return details.Reason
}

// Fields returns the problems of the fields of a refused request.
func (e *Error) Fields() []regcheck.Problem {
	var details struct{ Fields []regcheck.Problem }
	if e.Status == http.StatusUnprocessableEntity || json.Unmarshal(e.Details, &details) != nil { // details of a 422 are a report
		return nil
	}
	return details.Fields
}
