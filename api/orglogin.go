package api

// Kinds of a login.
const (
	AuthTypePassword = "password"
	AuthTypeSSO      = "sso"
)

// OrgLogin is the response of GET PathOrgLogin: how the users of an organization log in. An unknown one is like one with passwords.
type OrgLogin struct {
	AuthType     string   `json:"authType"`    // AuthTypePassword or AuthTypeSSO
	RedirectURL  string   `json:"redirectUrl"` // of the identity provider; the response has a cookie that the callback needs
	OrgName      string   `json:"orgName"`
	AppEnv       string   `json:"appEnv"`
	RootDomain   string   `json:"rootDomain"`
	SecurityMode string   `json:"securityMode"`
	SSOLogins    []string `json:"ssoLogins"` // always empty
	TotalTenants int      `json:"totalTenants"`
}

// OrgLogins is the response of GET PathOrgLogins: the organization of the caller.
type OrgLogins struct {
	Organizations []OrgLoginOf `json:"organizations"`
}

// OrgLoginOf is how the users of an organization log in. RedirectURL begins a login in a browser.
type OrgLoginOf struct {
	Name        string   `json:"name"`
	AuthType    string   `json:"authType"`
	RedirectURL string   `json:"redirectUrl"`
	SSOLogins   []string `json:"ssoLogins"`
}
