// Package expirypage has the page of what expires, and links of calendars that show it.
package expirypage

import (
	"cmp"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

// Page is what the template shows.
type Page struct {
	Items     []View
	Pager     views.Pager
	Empty     views.Empty // shown without any
	Calendars []expiries.Calendar
	Form      *forms.Form // creates a calendar
}

// View is something that ends, on a page.
type View struct {
	expiries.Expiry
	now    time.Time
	caller auth.Principal
}

// What names the kind, and the role of a certificate.
func (v View) What() string {
	roles := map[string]string{"server": "Server certificate", "ca": "CA certificate", "client": "Client certificate"}
	return cmp.Or(roles[v.Role], map[expiries.Kind]string{expiries.Certificate: "Certificate", expiries.Credentials: "Credentials",
		expiries.APIKey: "API key", expiries.Password: "Your password"}[v.Kind])
}

// Others says how many other registries need the certificate, "" for none.
func (v View) Others() string {
	if v.Registries < 2 {
		return ""
	}
	return "and " + words.Count(v.Registries-1, "more registry")
}

// Path is the address of the page of the registry or key, or of that where the password is changed. It is empty for a key of another user
// that the caller may list and not change.
func (v View) Path() string {
	if v.Kind == expiries.APIKey && v.Owner != v.caller.Email && !v.caller.Can(access.ManageAllAPIKeys) {
		return ""
	}
	uid := url.PathEscape(v.UID)
	pages := map[expiries.Kind]string{expiries.APIKey: "/console/api-keys/" + uid, expiries.Password: "/console/sessions"}
	return cmp.Or(pages[v.Kind], "/console/registries/"+uid)
}

// Left is how much time is left, in whole days.
func (v View) Left() string {
	left := v.At.Sub(v.now)
	if left < 0 {
		return "expired"
	}
	return words.Count(int(left/words.Day), "day")
}

// Handlers has the pages. Without PublicURL, links begin with the address at which the browser reaches the service.
type Handlers struct {
	Expiries  expiries.Service
	PublicURL string
}

const path = "/console/expiry"

// Pages lists the pages.
func (h Handlers) Pages() []people.Page {
	return []people.Page{
		{Method: "GET", Path: path, Handle: h.list, Label: "Expiry", Icon: "expiry"},
		{Method: "POST", Path: path, Handle: h.create},
	}
}

// list is GET /console/expiry.
func (h Handlers) list(c people.Call) error {
	page, err := h.read(c)
	return c.ShowRead(err, "expiry.html", title, page)
}

const title = "Expiry"

func (h Handlers) read(c people.Call) (Page, error) {
	page := Page{Empty: views.Empty{Text: "No certificate, credentials, API key or password is known to expire within 400 days."},
		Form: forms.New("Create a link", path, forms.Field{Name: "name", Label: "Name", Required: true,
			Hint: "For example the calendar that uses the link."})}
	all, err := h.Expiries.List(c.Context(), c.Principal)
	var shown []expiries.Expiry
	shown, page.Pager = views.Part(c.URL, all)
	for _, e := range shown {
		page.Items = append(page.Items, View{e, h.Expiries.Now(), c.Principal})
	}
	if err == nil {
		page.Calendars, err = h.Expiries.Calendars(c.Context(), c.Principal)
	}
	return page, err
}
