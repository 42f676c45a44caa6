// Package expiryhandlers has the operations of the API that list what ends.
package expiryhandlers

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/icalendar"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/web/people"
	"github.com/regwarden/regwarden/secret"
)

// Handlers translates between the API and the domain.
type Handlers struct{ expiries.Service }

// Operations lists the operations.
func (h Handlers) Operations() []people.Operation {
	return []people.Operation{
		{Method: "GET", Path: api.PathExpiry, Handle: h.list},
		{Method: "GET", Path: api.PathExpiryCalendar, Handle: h.calendar, Public: true},
	}
}

// list is GET /v1/expiry.
func (h Handlers) list(c people.Call) (int, any, error) {
	found, err := h.List(c.Context(), c.Principal)
	return http.StatusOK, api.Expiries{Items: shown(found)}, err
}

// calendar is GET /v1/expiry/{key}/calendar.ics. Calendars send no headers, so the key in the path is their only credential.
func (h Handlers) calendar(c people.Call) (int, any, error) {
	found, err := h.OfCalendar(c.Context(), c.Origin, secret.String(c.PathValue("key")))
	return http.StatusOK, people.Text{Type: icalendar.Type, Bytes: icalendar.Write(shown(found), h.Now())}, err
}

func shown(found []expiries.Expiry) []api.Expiry {
	list := make([]api.Expiry, len(found))
	for i, e := range found {
		list[i] = api.Expiry{Kind: string(e.Kind), UID: e.UID, Name: e.Name, Owner: e.Owner, NotAfter: e.At.UTC()}
		if e.Role != "" {
			list[i].Certificate = &api.ExpiryCertificate{Role: e.Role, Subject: e.Subject, Fingerprint: e.Fingerprint,
				Registries: e.Registries}
		}
	}
	return list
}
