package console

import (
	"cmp"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

type loginPage struct {
	Form     *forms.Form
	Next     string
	Provider *providerLink // nil: none is known
	Find     *forms.Form   // asks for the organization; nil if none has a provider
	Missed   bool          // the organization has none
}

// providerLink begins a login at a provider. A form cannot, since its policy is about where it leads in the end.
type providerLink struct{ Name, Path string }

func newLoginForm() *forms.Form {
	return forms.New("Log in", pathLogin,
		forms.Field{Name: "org", Label: "Organization", Autocomplete: "organization"},
		forms.Field{Name: "emailId", Label: "Email", Type: "email", Autocomplete: "username"},
		forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password"})
}

// loginHandlers has the login, and what works without one.
type loginHandlers struct {
	auth  *auth.Service
	sso   *federation.SSO // nil: passwords only
	count func(error)
	now   func() time.Time
}

// showLogin is GET /console/login.
func (h loginHandlers) showLogin(c *call) error {
	if _, err := h.auth.Authenticator.AuthenticateConsole(c.Context(), secret.String(c.cookie(sessionCookie))); err == nil {
		return c.redirect(c.next(), "")
	}
	form := newLoginForm()
	company := c.FormValue("company")
	remembered, _ := url.QueryUnescape(c.cookie(orgCookie)) // empty if the browser sends something else
	form.Fields[0].Value = cmp.Or(company, remembered)
	return c.show("login.html", "Log in", h.page(c, form, company, c.next()))
}

// page returns the login page for an organization. Without the store, it is that for a password, whose refusal says so.
func (h loginHandlers) page(c *call, form *forms.Form, org, next string) loginPage {
	page := loginPage{Form: form, Next: next}
	if h.sso == nil {
		return page
	}
	offer, some, err := h.sso.Offer(c.Context(), org)
	switch {
	case err != nil:
	case offer.Name != "":
		page.Provider = &providerLink{offer.Name, pathSSO + "?" + url.Values{"org": {offer.Org}, "next": {next}}.Encode()}
	case some:
		page.Find = forms.New("Continue", pathLogin, forms.Field{Name: "company", Label: "Company", Hint: "The name that it has here.",
			Autocomplete: "organization", Value: org})
		page.Missed = org != ""
	}
	return page
}

// login is POST /console/login. Each login has a reference of its own, so that one which was known before is of no use.
func (h loginHandlers) login(c *call) error {
	org := c.PostFormValue("org")
	reference, end, err := h.auth.Logins.LoginConsole(c.Context(), c.origin,
		auth.Credentials{Org: org, Email: c.PostFormValue("emailId"), Password: secret.String(c.PostFormValue("password")),
			NewPassword: secret.String(c.PostFormValue("newPassword"))})
	if pending := auth.AsCodeRequired(err); pending != nil {
		return h.ask(c, pending)
	}
	if fault.KindOf(err) != fault.Invalid { // an invalid request is not counted as a login
		h.count(err)
	}
	if err != nil {
		form := newLoginForm()
		if c.PostFormValue("newPassword") != "" || fault.Visible(err).Reason == auth.ReasonPasswordExpired {
			form.Fields = append(form.Fields, forms.Field{Name: "newPassword", Label: "New password", Type: "password",
				Hint: auth.PasswordHint, Autocomplete: "new-password"})
		}
		return c.showAgain(err, "login.html", "Log in", h.page(c, form.Refuse(c, err), "", c.next()))
	}
	h.begin(c, reference, end)
	return c.redirect(c.next(), "")
}

// begin gives the browser its new session, in place of a former one.
func (h loginHandlers) begin(c *call, reference secret.String, end time.Time) {
	if p, err := h.auth.Authenticator.AuthenticateConsole(c.Context(), secret.String(c.cookie(sessionCookie))); err == nil {
		_ = h.auth.Sessions.Logout(c.Context(), p, c.origin) // the new session counts; the former one ends by itself
	}
	c.setCookie(sessionCookie, reference.Reveal(), end)
	if p, err := h.auth.Authenticator.AuthenticateConsole(c.Context(), reference); err == nil {
		c.setCookie(orgCookie, url.QueryEscape(p.OrgName), h.now().AddDate(1, 0, 0))
	}
}

// maxNext is the length of an address that a cookie holds while a browser is at the provider.
const maxNext = 1024

// beginSSO is GET /console/sso: it sends the browser to the provider of an organization.
func (h loginHandlers) beginSSO(c *call) error {
	next := c.next()
	if len(next) > maxNext {
		next = pathOverview
	}
	if h.sso == nil {
		return pathNotFound()
	}
	begun, err := h.sso.Begin(c.Context(), c.origin, c.FormValue("org"), next)
	if err != nil {
		return h.refuseSSO(c, err)
	}
	c.setCookie(ssoCookie, begun.Cookie.Reveal(), begun.Ends)
	return c.redirect(begun.URL, "")
}

// completeSSO is GET /console/sso/{org}/callback, where the provider sends the browser.
func (h loginHandlers) completeSSO(c *call) error {
	if h.sso == nil {
		return pathNotFound()
	}
	begun := secret.String(c.cookie(ssoCookie))
	c.setCookie(ssoCookie, "", time.Time{}) // of use once
	done, err := h.sso.Complete(c.Context(), c.origin, c.PathValue("org"), c.URL.Query(), begun)
	h.count(err)
	if err != nil {
		return h.refuseSSO(c, err)
	}
	h.begin(c, done.Reference, done.Ends)
	// Browsers do not send the new cookie after a redirect from another site, but after a page of this one.
	return c.show("continue.html", "Logged in", ownPage(done.Next))
}

// refuseSSO shows the login with why a login at the provider is refused.
func (h loginHandlers) refuseSSO(c *call, err error) error {
	form := newLoginForm()
	form.AddProblems(err)
	return c.showAgain(err, "login.html", "Log in", h.page(c, form, "", pathOverview))
}

// logout is POST /console/logout. After a login by a provider the browser is logged out there too.
func (h loginHandlers) logout(c *call) error {
	there := ""
	if h.sso != nil {
		there = h.sso.LogoutAt(c.Context(), c.principal.SessionUID)
	}
	if err := h.auth.Sessions.Logout(c.Context(), c.principal, c.origin); err != nil {
		return err
	}
	c.setCookie(sessionCookie, "", time.Time{})
	if there != "" {
		c.principal = auth.Principal{}
		return c.show("continue.html", "Logged out", there)
	}
	return c.redirect(pathLogin, "loggedOut")
}

// themes are the values of the cookie; without one, the setting of the system counts.
var themes = map[string]bool{"light": true, "dark": true}

// setTheme is POST /console/theme.
func (h loginHandlers) setTheme(c *call) error {
	theme := c.PostFormValue("theme")
	if !themes[theme] {
		theme = ""
	}
	c.setCookie(themeCookie, theme, h.now().AddDate(1, 0, 0))
	return c.redirect(c.next(), "")
}
