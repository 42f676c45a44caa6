package console

import (
	"cmp"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

const pathExpiry = "/console/expiry"

type expiryPage struct {
	Items []expiryView
	Empty views.Empty // shown without any
}

// expiryView is something that ends, on a page.
type expiryView struct {
	expiries.Expiry
	now time.Time
}

// What names the kind.
func (v expiryView) What() string {
	return map[expiries.Kind]string{expiries.Certificate: "Certificate", expiries.Credentials: "Credentials",
		expiries.APIKey: "API key", expiries.Password: "Your password"}[v.Kind]
}

// Path is the address of the page of the registry or key.
func (v expiryView) Path() string {
	pages := map[expiries.Kind]string{expiries.APIKey: pathKeys + "/" + url.PathEscape(v.UID), expiries.Password: pathSessions}
	return cmp.Or(pages[v.Kind], pathRegistries+"/"+url.PathEscape(v.UID))
}

// Left is how much time is left, in whole days.
func (v expiryView) Left() string {
	left := v.At.Sub(v.now)
	if left < 0 {
		return "expired"
	}
	return words.Count(int(left/words.Day), "day")
}

// expiryHandlers has the page of what ends.
type expiryHandlers struct{ expiries expiries.Service }

// listExpiries is GET /console/expiry.
func (h expiryHandlers) listExpiries(c *call) error {
	found, err := h.expiries.List(c.Context(), c.principal)
	if err != nil {
		return err
	}
	page := expiryPage{Empty: views.Empty{Text: "No certificate, credentials or API key is known to expire within 400 days."}}
	for _, e := range found {
		page.Items = append(page.Items, expiryView{e, h.expiries.Now()})
	}
	return c.show("expiry.html", "Expiry", page)
}
