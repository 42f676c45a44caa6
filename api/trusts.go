package api

import "time"

// TrustRules is the response of GET PathTrustRules.
type TrustRules struct {
	Items []TrustRule `json:"items"`
}

// TrustRule is a rule by which the organization accepts tokens of another issuer. A list leaves out the projects.
type TrustRule struct {
	Metadata Metadata        `json:"metadata"`
	Spec     TrustRuleSpec   `json:"spec"`
	Status   TrustRuleStatus `json:"status"`
}

// TrustRuleSpec is what a token must have, and what who presents it may do. Projects are uids or names in a request, uids in a response.
type TrustRuleSpec struct {
	Issuer   string            `json:"issuer"`             // exactly the claim iss
	Audience string            `json:"audience"`           // one of the claim aud
	Claims   map[string]string `json:"claims"`             // required values; one that ends in /* or :* is a prefix
	Role     string            `json:"role,omitempty"`     // as of a user; empty means member
	Projects []string          `json:"projects,omitempty"` // of a member
	CA       string            `json:"ca,omitempty"`       // PEM, trusted for the issuer in addition to the system's
	JWKS     string            `json:"jwks,omitempty"`     // JSON Web Key Set; empty: read from the issuer
	Reusable bool              `json:"reusable"`           // a token is accepted more than once
}

// TrustRuleStatus has the time of the newest token that was issued by the rule.
type TrustRuleStatus struct {
	LastUsed time.Time `json:"lastUsed,omitzero"`
}

// TrustRuleRequest is the body of POST PathTrustRules.
type TrustRuleRequest struct {
	Metadata Named         `json:"metadata"`
	Spec     TrustRuleSpec `json:"spec"`
}

// Parameters of POST PathToken, a form (RFC 8693 section 2.1).
const (
	ParamGrantType        = "grant_type"
	ParamSubjectToken     = "subject_token"
	ParamSubjectTokenType = "subject_token_type"
	ParamOrg              = "org"  // name of the organization; an extension
	ParamRule             = "rule" // name of a trust rule, where several accept the token; an extension

	GrantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	TokenTypeJWT       = "urn:ietf:params:oauth:token-type:jwt"
	TokenTypeID        = "urn:ietf:params:oauth:token-type:id_token"
	TokenTypeAccess    = "urn:ietf:params:oauth:token-type:access_token"
)

// IssuedToken is the response of POST PathToken (RFC 8693 section 2.2). The token is not masked, since the client needs it.
type IssuedToken struct {
	AccessToken     string `json:"access_token"`
	IssuedTokenType string `json:"issued_token_type"`
	TokenType       string `json:"token_type"`
	ExpiresIn       int64  `json:"expires_in"`              // seconds
	RefreshToken    string `json:"refresh_token,omitempty"` // for a device
}
