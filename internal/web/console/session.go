package console

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// Names of the cookies. Browsers accept the prefix over TLS only, and never from another host of the domain.
const (
	sessionCookie = "regwarden-session"
	themeCookie   = "regwarden-theme"
	stepsCookie   = "regwarden-first-steps"  // set when they are hidden
	ssoCookie     = "regwarden-sso"          // of a login that has begun at an identity provider
	pendingCookie = "regwarden-login"        // of a login that waits for a code
	orgCookie     = "regwarden-organization" // of the last login, for the next one
	securePrefix  = "__Host-"
)

// setCookie sets a cookie that no script can read and no other site can send. An empty value deletes it.
func (c *call) setCookie(name, value string, end time.Time) {
	if c.console.Secure {
		name = securePrefix + name
	}
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", Expires: end, // #nosec G124 -- Secure is set when browsers use TLS
		Secure: c.console.Secure, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if name == ssoCookie || name == securePrefix+ssoCookie {
		cookie.SameSite = http.SameSiteLaxMode // the provider's site sends the browser back
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c, cookie)
}

// cookie returns the value of a cookie. A cookie that was sent twice may come from another site, so neither counts.
func (c *call) cookie(name string) string {
	if c.console.Secure {
		name = securePrefix + name
	}
	sent := c.CookiesNamed(name)
	if len(sent) != 1 {
		return ""
	}
	return sent[0].Value
}

// identify finds the session of the request. sent reports whether the response was sent instead, which leads to the
// login.
func (s *Console) identify(c *call) (sent bool, err error) {
	reference := c.cookie(sessionCookie)
	if reference == "" && c.cameFromAnotherSite() {
		return true, c.show("reload.html", "Loading", nil)
	}
	if reference == "" {
		return true, c.redirect(c.loginPath(), c.lost(""))
	}
	c.principal, err = s.Auth.Authenticator.AuthenticateConsole(c.Context(), secret.String(reference))
	if fault.KindOf(err) != fault.Unauthenticated {
		return false, err
	}
	c.setCookie(sessionCookie, "", time.Time{})
	return true, c.redirect(c.loginPath(), c.lost("ended"))
}

// checkOpener refuses a form that was opened by another user, who has logged out in another tab of the browser since: what it has would be
// stored in the name of this user, perhaps in another organization. Without JavaScript forms do not name who opened them.
func (c *call) checkOpener() error {
	if opener := c.PostFormValue("openedBy"); opener == "" || c.principal.UserUID == "" || opener == c.principal.UserUID {
		return nil
	}
	return &fault.Error{Kind: fault.Conflict, Code: fault.CodeOperationForbidden, Message: "Another user opened this form. " +
		"This browser is now logged in as " + c.principal.Email + " of " + c.principal.OrgName + ", so nothing was changed."}
}

// lost returns the notice of the login, which also says whether a change was lost.
func (c *call) lost(notice string) string {
	switch {
	case c.Method != http.MethodPost:
		return notice
	case c.URL.Path == pathLogout:
		return "loggedOut"
	case c.URL.Path == pathSessions+"/password":
		return "maybeChanged" // the form may have been sent twice: the first time replaced the cookie
	}
	return "notChanged"
}

// cameFromAnotherSite reports whether a link on another site led here. Browsers leave out a cookie that is SameSite=Strict
// then, and send it when the page loads itself again.
func (c *call) cameFromAnotherSite() bool {
	return c.Method == http.MethodGet && c.Request.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		c.Request.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// loginPath returns the login that leads back to the page of the request, or of its form.
func (c *call) loginPath() string {
	page := c.URL
	if c.Method != http.MethodGet {
		page, _ = url.Parse(c.Referer()) // next refuses other sites
	}
	if page == nil || page.Path == "" || page.Path == pathOverview {
		return pathLogin
	}
	return pathLogin + "?" + url.Values{"next": {withoutNotice(page)}}.Encode()
}

// withoutNotice returns the address of a page without its notice, which is shown once.
func withoutNotice(page *url.URL) string {
	query := page.Query()
	query.Del("notice")
	return (&url.URL{Path: page.Path, RawQuery: query.Encode()}).RequestURI()
}

// next returns the page to show after the login.
func (c *call) next() string { return ownPage(c.FormValue("next")) }

// ownPage returns the address if it is one of a page, else the overview. Its path must be in the shortest form and without encoded
// characters, as those of all pages are: browsers and proxies read others in different ways, such as %2e%2e, // and backslashes.
func ownPage(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.EscapedPath() != u.Path || !isPage(u.Path) ||
		u.Path != path.Clean(u.Path) && u.Path != pathOverview {
		return pathOverview
	}
	return u.RequestURI()
}

// isPage reports whether a path is one of the console, or of the API reference.
func isPage(path string) bool {
	return strings.HasPrefix(path, pathOverview) || path == pathDocs || strings.HasPrefix(path, pathDocs+"/")
}
