package api

import "github.com/regwarden/regwarden/secret"

// TenantOIDC is the identity provider of an organization, for GET and POST PathTenantOIDC: what PathSSO has, by the names of Palette's API.
// Without one, its issuer is empty.
type TenantOIDC struct {
	IssuerURL       string         `json:"issuerUrl"`
	ClientID        string         `json:"clientId"`
	ClientSecret    secret.String  `json:"clientSecret"` // masked in a response; empty or masked in a request: unchanged
	CallbackURL     string         `json:"callbackUrl"`  // ignored in a request, as LogoutURL is
	LogoutURL       string         `json:"logoutUrl"`
	DefaultTeams    []string       `json:"defaultTeams"` // uids
	IsSSOEnabled    bool           `json:"isSsoEnabled"`
	IssuerTLS       TenantTLS      `json:"issuerTls"`
	RequiredClaims  TenantClaims   `json:"requiredClaims"`
	Scopes          []string       `json:"scopes"`
	ScopesDelimiter string         `json:"scopesDelimiter"` // ignored
	SyncSSOTeams    bool           `json:"syncSsoTeams"`
	UserInfo        TenantUserInfo `json:"userInfo"`
}

// TenantTLS has the authorities that are trusted for an identity provider in addition to the system's: PEM, or base64 of it or of DER, in a
// request; base64 of PEM in a response.
type TenantTLS struct {
	CACertificateBase64 string `json:"caCertificateBase64"`
	InsecureSkipVerify  bool   `json:"insecureSkipVerify"` // only false
}

// TenantClaims are names of claims.
type TenantClaims struct {
	Email     string `json:"Email"`
	FirstName string `json:"FirstName"`
	LastName  string `json:"LastName"`
	Teams     string `json:"SpectroTeam"` // whose values are names of teams
}

// TenantUserInfo has the claims that the userinfo endpoint returns. Those of the ID token count if it does not.
type TenantUserInfo struct {
	UseUserInfo bool         `json:"useUserInfo"`
	Claims      TenantClaims `json:"claims"`
}

// TenantSAML is the SAML configuration of an organization, for GET and POST PathTenantSAML. It is stored and returned alone: there is no
// login by SAML.
type TenantSAML struct {
	Attributes            []TenantSAMLAttribute `json:"attributes"`
	DefaultTeams          []string              `json:"defaultTeams"`
	FederationMetadata    string                `json:"federationMetadata"`
	IdentityProvider      string                `json:"identityProvider"`
	IsSingleLogoutEnabled bool                  `json:"isSingleLogoutEnabled"`
	IsSSOEnabled          bool                  `json:"isSsoEnabled"`
	NameIDFormat          string                `json:"nameIdFormat"`
	SyncSSOTeams          bool                  `json:"syncSsoTeams"`
}

// TenantSAMLAttribute maps an attribute.
type TenantSAMLAttribute struct {
	AttributeValue  string `json:"attributeValue,omitempty"`
	MappedAttribute string `json:"mappedAttribute"`
	Name            string `json:"name"`
	NameFormat      string `json:"nameFormat,omitempty"`
}

// TenantDomains are the domains whose addresses an identity provider may bring, for GET and POST PathTenantDomains; none for all.
type TenantDomains struct {
	Domains []string `json:"domains"`
}

// TenantLogins are logins by services that several organizations share, for GET and POST PathTenantLogins. They are stored and returned
// alone: there is no login by them.
type TenantLogins struct {
	IsEnabled bool     `json:"isEnabled"`
	SSOLogins []string `json:"ssoLogins"`
}

// TenantTokens are for GET and PUT PathTenantTokens: after how long without a refresh a session of the organization ends, if that is
// earlier than the server sets it.
type TenantTokens struct {
	ExpiryTimeMinutes int `json:"expiryTimeMinutes"`
}

// TenantPasswordPolicy is what an organization requires of passwords in addition to the rules for all, for GET and POST
// PathTenantPasswords.
type TenantPasswordPolicy struct {
	IsRegex              bool   `json:"isRegex"`
	Regex                string `json:"regex"` // of RE2; replaces the numbers of characters
	MinLength            int    `json:"minLength"`
	MaxLength            int    `json:"maxLength"`
	MinDigits            int    `json:"minNumOfDigits"`
	MinSmallLetters      int    `json:"minNumOfSmallLetters"`
	MinBlockLetters      int    `json:"minNumOfBlockLetters"`
	MinSpecialCharacters int    `json:"minNumOfSpecialCharacters"`
	ExpiryDurationInDays int    `json:"expiryDurationInDays"` // 0: passwords do not expire
	FirstReminderInDays  int    `json:"firstReminderInDays"`  // days before the expiry; 0: the expiry is always listed
}
