package console

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

// layout returns what is around a page.
func (c *call) layout(title string, data any) views.Layout {
	v := views.Layout{Title: title, Principal: c.principal, Notice: noticeOf(c.URL.Query().Get("notice")), Data: data, Here: pathOverview}
	if theme := c.cookie(themeCookie); themes[theme] {
		v.Theme = theme
	}
	if c.Method == "GET" {
		v.Here = ownPage(withoutNotice(c.URL))
	}
	if c.principal.UserUID == "" {
		return v
	}
	v.Role = c.roleNames()
	for _, r := range c.console.nav {
		if r.permission == "" || c.principal.CanAnywhere(r.permission) {
			target := strings.TrimSuffix(r.path, "{$}")
			v.Nav = append(v.Nav, views.NavEntry{Label: r.label, Path: target, Icon: r.icon, Current: isWithin(c.URL.Path, target)})
		}
	}
	return v
}

// layoutOf is layout with the number of failing registries, except around the error of a store that may not respond.
func (c *call) layoutOf(status int, title string, data any) views.Layout {
	v := c.layout(title, data)
	if status < http.StatusInternalServerError && c.principal.CanAnywhere(access.ReadRegistries) {
		if counts, err := c.countHealth(); err == nil { // else the page itself may still be shown
			v.Failing = int(counts.Failing)
		}
	}
	return v
}

// roleNames returns the roles of the caller, with the names of those that its organization defines.
func (c *call) roleNames() string {
	if !c.principal.Role.HasCustom() {
		return people.Known{}.Names(c.principal.Role)
	}
	known, err := people.ReadKnown(c.Context(), c.console.Roles, c.principal)
	if err != nil {
		return "" // the page itself may still be shown
	}
	return known.Names(c.principal.Role)
}

func noticeOf(name string) string { return cmp.Or(notices[name], people.Notices[name]) }

// isWithin reports whether a page is that of the navigation's entry, or below it.
func isWithin(page, entry string) bool {
	return page == entry || entry != pathOverview && strings.HasPrefix(page, entry+"/")
}

// notices are the messages that a page may show after a redirect, by the name in its address.
var notices = map[string]string{
	"deviceAllowed": "The other program is logged in now. You can close this page.",
	"deviceDenied":  "The other program is not logged in.",

	"ended":        "Your session has ended. Log in again.",
	"loggedOut":    "You are logged out.",
	"notChanged":   "Your session has ended, so nothing was changed. Log in and try again.",
	"maybeChanged": "Your session has ended. Log in with your new password; if it is refused, the password was not changed.",

	"codeTooLate": "The login was not completed in time. Log in again.",

	"keySaved":       "The API key is saved.",
	"keyActivated":   "The API key is active.",
	"keyDeactivated": "The API key is not active any more.",
	"keyDeleted":     "The API key is deleted.",

	"projectCreated": "The project is created.",
	"projectRenamed": "The project has a new name.",
	"projectDeleted": "The project is deleted.",

	"userCreated":     "The user is created.",
	"userSaved":       "The user is saved.",
	"roleSet":         "The roles are set.",
	"projectsSet":     "The projects are set.",
	"userPasswordSet": "The password is set. The sessions of the user have ended.",
	"userDisabled":    "The user is disabled. Its sessions have ended.",
	"userEnabled":     "The user can log in again.",
	"userDeleted":     "The user is deleted.",

	"sessionEnded":    "The session has ended.",
	"othersEnded":     "Your other sessions have ended.",
	"passwordChanged": "Your password is changed. Your other sessions have ended.",

	"registrySaved":   "The registry is stored.",
	"registryChecked": "The check has ended.",
	noticeDue:         "The registry is due for a check, which has not ended yet.",
	"registryDeleted": "The registry is deleted.",
	"nothingChosen":   "Choose at least one registry.",
	"syncRequested":   "The content is synchronized as soon as the limits of your requests allow it.",

	"channelCreated": "The channel is stored. Send a test to try it.",
	"channelChanged": "The channel is changed.",
	"channelDeleted": "The channel is deleted.",

	"remindersSet": "The reminders are set.",

	"muted":   "The alerts are muted. Checks go on, and what still fails afterwards raises an alert then.",
	"unmuted": "The alerts are sent again.",
}
