package console

import (
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

type loginPage struct {
	Form *forms.Form
	Next string
}

func newLoginForm() *forms.Form {
	return forms.New("Log in", pathLogin,
		forms.Field{Name: "org", Label: "Organization", Autocomplete: "organization"},
		forms.Field{Name: "emailId", Label: "Email", Type: "email", Autocomplete: "username"},
		forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password"})
}

// loginHandlers has the login, and what works without one.
type loginHandlers struct {
	auth  *auth.Service
	count func(error)
	now   func() time.Time
}

// showLogin is GET /console/login.
func (h loginHandlers) showLogin(c *call) error {
	if _, err := h.auth.Authenticator.AuthenticateConsole(c.Context(), secret.String(c.cookie(sessionCookie))); err == nil {
		return c.redirect(c.next(), "")
	}
	return c.show("login.html", "Log in", loginPage{newLoginForm(), c.next()})
}

// login is POST /console/login. Each login has a reference of its own, so that one which was known before is of no use.
func (h loginHandlers) login(c *call) error {
	reference, end, err := h.auth.Logins.LoginConsole(c.Context(), c.origin,
		auth.Credentials{Org: c.PostFormValue("org"), Email: c.PostFormValue("emailId"),
			Password: secret.String(c.PostFormValue("password"))})
	if fault.KindOf(err) != fault.Invalid { // an invalid request is not counted as a login
		h.count(err)
	}
	if err != nil {
		return c.showAgain(err, "login.html", "Log in", loginPage{newLoginForm().Refuse(c, err), c.next()})
	}
	if p, err := h.auth.Authenticator.AuthenticateConsole(c.Context(), secret.String(c.cookie(sessionCookie))); err == nil {
		_ = h.auth.Sessions.Logout(c.Context(), p, c.origin) // the new session counts; the former one ends by itself
	}
	c.setCookie(sessionCookie, reference.Reveal(), end)
	return c.redirect(c.next(), "")
}

// logout is POST /console/logout.
func (h loginHandlers) logout(c *call) error {
	if err := h.auth.Sessions.Logout(c.Context(), c.principal, c.origin); err != nil {
		return err
	}
	c.setCookie(sessionCookie, "", time.Time{})
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
