package console

import (
	"errors"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/secret"
)

const pathSessions = "/console/sessions"

type sessionsPage struct {
	Sessions []auth.Session
	Password *form
}

// Others reports whether there are sessions apart from that of the page.
func (p sessionsPage) Others() bool { return len(p.Sessions) > 1 }

func (s *Console) sessionsPage(c *call) (sessionsPage, error) {
	password := newForm("Change the password", pathSessions+"/password",
		field{Name: "currentPassword", Label: "Current password", Type: "password", Autocomplete: "current-password", Required: true},
		field{Name: "newPassword", Label: "New password", Type: "password", Autocomplete: "new-password", Hint: auth.PasswordHint + " Your other sessions end.", Required: true})
	sessions, err := s.Auth.Sessions.List(c.Context(), c.principal)
	return sessionsPage{sessions, password}, err
}

// listSessions is GET /console/sessions.
func (s *Console) listSessions(c *call) error {
	page, err := s.sessionsPage(c)
	if err != nil {
		return err
	}
	return c.show("sessions.html", "Account", page)
}

// endSession is POST /console/sessions/{uid}/end.
func (s *Console) endSession(c *call) error {
	if err := s.Auth.Sessions.End(c.Context(), c.principal, c.origin, c.PathValue("uid")); err != nil {
		return err
	}
	return c.redirect(pathSessions, "sessionEnded")
}

// endOtherSessions is POST /console/sessions/end-others.
func (s *Console) endOtherSessions(c *call) error {
	if err := s.Auth.Sessions.EndOthers(c.Context(), c.principal, c.origin); err != nil {
		return err
	}
	return c.redirect(pathSessions, "othersEnded")
}

// changePassword is POST /console/sessions/password. The session gets a new reference, since the password may have been changed because
// others know the former one.
func (s *Console) changePassword(c *call) error {
	reference, end, err := s.Auth.Logins.ChangePasswordConsole(c.Context(), c.principal, c.origin,
		secret.String(c.PostFormValue("currentPassword")), secret.String(c.PostFormValue("newPassword")))
	if err == nil {
		c.setCookie(sessionCookie, reference.Reveal(), end)
		return c.redirect(pathSessions, "passwordChanged")
	}
	page, readErr := s.sessionsPage(c)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	page.Password.refused(c, err)
	return c.showAgain(err, "sessions.html", "Account", page)
}
