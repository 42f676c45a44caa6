package expirypage

import (
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

const lifetime = 365 * words.Day // of links

// createdCalendar is the only page with a new link.
type createdCalendar struct {
	Name, Link string
	ExpiresAt  time.Time
}

// create is POST /console/expiry: it creates the key of a calendar, and shows its link.
func (h Handlers) create(c people.Call) error {
	created, key, err := h.Expiries.Keys.Create(c.Context(), c.Principal, c.Origin, auth.NewAPIKey{Name: c.PostFormValue("name"),
		ExpiresAt: h.Expiries.Now().Add(lifetime), Limit: access.Limit{Scope: access.ScopeCalendar}})
	if err != nil {
		page, readErr := h.read(c)
		if readErr != nil {
			return readErr
		}
		page.Form.Refuse(c, err)
		return c.ShowAgain(err, "expiry.html", title, page)
	}
	return c.Show("calendar.html", "Calendar link created", createdCalendar{created.Name, h.base(c) + api.ExpiryCalendar(key.Reveal()),
		created.ExpiresAt})
}

// base returns what precedes the path in links.
func (h Handlers) base(c people.Call) string {
	switch {
	case h.PublicURL != "":
		return strings.TrimSuffix(h.PublicURL, "/")
	case c.TLS != nil:
		return "https://" + c.Host
	}
	return "http://" + c.Host
}
