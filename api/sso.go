package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// SSO is the response of GET PathSSO: the identity provider of the organization. Without one, its issuer is empty.
type SSO struct {
	Spec   SSOSpec   `json:"spec"`
	Status SSOStatus `json:"status"`
}

// SSOSpec are the settings of an identity provider (OpenID Connect).
type SSOSpec struct {
	Issuer         string            `json:"issuer"`
	ClientID       string            `json:"clientId"`
	ClientSecret   secret.String     `json:"clientSecret,omitempty"` // masked in a response; empty or masked in a request: unchanged
	Name           string            `json:"name,omitempty"`         // for people; empty: the host of the issuer
	Scopes         []string          `json:"scopes,omitempty"`       // empty: openid, profile, email, and perhaps offline_access
	EmailDomains   []string          `json:"emailDomains,omitempty"` // of new users, whose address is verified then; empty: all
	EmailsVerified bool              `json:"emailsVerified"`         // addresses without email_verified are verified too
	Claims         map[string]string `json:"claims,omitempty"`       // names of claims by email, firstName, lastName, groups and externalId
	SyncSSOTeams   bool              `json:"syncSsoTeams"`           // a group without a team gets one
	DefaultTeams   []string          `json:"defaultTeams,omitempty"` // of a person whose groups have no team; uids in a response
	CA             string            `json:"ca,omitempty"`           // PEM, trusted in addition to the system's
	Disabled       bool              `json:"disabled"`               // no login, and sessions end at their next check
}

// SSOStatus has what is registered at the provider, and the time of the newest change.
type SSOStatus struct {
	CallbackURL string `json:"callbackUrl"`
	LogoutURL   string `json:"logoutUrl"`
	// BackChannelLogoutURL is where the provider sends logout tokens.
	BackChannelLogoutURL string `json:"backChannelLogoutUrl,omitempty"`
	// APICallbackURL is for programs that log in by PathOrgLogin.
	APICallbackURL string    `json:"apiCallbackUrl,omitempty"`
	LastModified   time.Time `json:"lastModified,omitzero"`
}

// SSORequest is the body of PUT PathSSO.
type SSORequest struct {
	Spec SSOSpec `json:"spec"`
}

// UserIdentity is who a user is at the identity provider, for GET and PUT PathUserIdentity. A request with an empty subject removes it; the
// issuer is that of the organization.
type UserIdentity struct {
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject"`
}
