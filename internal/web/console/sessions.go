package console

import (
	"errors"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/secret"
)

const pathSessions = "/console/sessions"

type sessionsPage struct {
	Sessions []auth.Session
	Password *forms.Form
}

// accountHandlers has the page of the caller's sessions and password.
type accountHandlers struct{ auth *auth.Service }

// Others reports whether there are sessions apart from that of the page.
func (p sessionsPage) Others() bool { return len(p.Sessions) > 1 }

func (h accountHandlers) sessionsPage(c *call) (sessionsPage, error) {
	password := forms.New("Change the password", pathSessions+"/password",
		forms.Field{Name: "currentPassword", Label: "Current password", Type: "password", Autocomplete: "current-password", Required: true},
		forms.Field{Name: "newPassword", Label: "New password", Type: "password", Autocomplete: "new-password",
			Hint: auth.PasswordHint + " Your other sessions end.", Required: true})
	sessions, err := h.auth.Sessions.List(c.Context(), c.principal)
	return sessionsPage{sessions, password}, err
}

// listSessions is GET /console/sessions.
func (h accountHandlers) listSessions(c *call) error {
	page, err := h.sessionsPage(c)
	return c.showRead(err, "sessions.html", "Account", page)
}

// endOtherSessions is POST /console/sessions/end-others.
func (h accountHandlers) endOtherSessions(c *call) error {
	err := h.auth.Sessions.EndOthers(c.Context(), c.principal, c.origin)
	return c.done(err, pathSessions, "othersEnded")
}

// changePassword is POST /console/sessions/password. The session gets a new reference, since the password may have been changed because
// others know the former one.
func (h accountHandlers) changePassword(c *call) error {
	reference, end, err := h.auth.Logins.ChangePasswordConsole(c.Context(), c.principal, c.origin,
		secret.String(c.PostFormValue("currentPassword")), secret.String(c.PostFormValue("newPassword")))
	if err == nil {
		c.setCookie(sessionCookie, reference.Reveal(), end)
		return c.redirect(pathSessions, "passwordChanged")
	}
	page, readErr := h.sessionsPage(c)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	page.Password.Refuse(c, err)
	return c.showAgain(err, "sessions.html", "Account", page)
}
