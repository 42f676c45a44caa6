// Package expirypage has the page of what expires, without HTTP itself.
package expirypage

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

// Page is what the template shows.
type Page struct {
	Items []View
	Empty views.Empty // shown without any
}

// View is something that ends, on a page.
type View struct {
	expiries.Expiry
	now time.Time
}

// What names the kind.
func (v View) What() string {
	return map[expiries.Kind]string{expiries.Certificate: "Certificate", expiries.Credentials: "Credentials",
		expiries.APIKey: "API key", expiries.Password: "Your password"}[v.Kind]
}

// Path is the address of the page of the registry or key, or of that where the password is changed.
func (v View) Path() string {
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

// Read returns the page of a user.
func Read(ctx context.Context, from expiries.Service, p auth.Principal) (Page, error) {
	page := Page{Empty: views.Empty{Text: "No certificate, credentials, API key or password is known to expire within 400 days."}}
	found, err := from.List(ctx, p)
	for _, e := range found {
		page.Items = append(page.Items, View{e, from.Now()})
	}
	return page, err
}
