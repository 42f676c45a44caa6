package server

import (
	"html/template"
	"net/http"
	"sync"

	"github.com/regwarden/regwarden/internal/service/alerts"
)

var htmlType = []string{"text/html; charset=utf-8"}

// page is a response for people who followed a link. It has no style and no script, as the Content-Security-Policy
// requires.
type page alerts.Confirmation

var confirmationPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("confirmation").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Alerts of regwarden</title></head>
<body>
<h1>Alerts of regwarden</h1>
{{if .Confirmed}}<p>{{.Address}} gets the alerts of the organization {{.Organization}}.</p>
{{else}}<p>The organization {{.Organization}} wants to send its alerts to {{.Address}}.</p>
<form method="post"><button type="submit">Send alerts to this address</button></form>
{{end}}</body>
</html>
`))
})

func (p page) writeTo(out *outgoing) error {
	out.contentType = htmlType
	return confirmationPage().Execute(out, p)
}

// confirmationHandlers handles the links by which people agree to alerts.
type confirmationHandlers struct{ alerts *alerts.Confirmations }

// showConfirmation is GET /v1/alerts/confirmations/{token}.
func (h confirmationHandlers) showConfirmation(c *call) (response, error) {
	confirmation, err := h.alerts.Confirmation(c.Context(), c.PathValue("token"))
	return response{http.StatusOK, page(confirmation)}, err
}

// confirmAddress is POST /v1/alerts/confirmations/{token}.
func (h confirmationHandlers) confirmAddress(c *call) (response, error) {
	confirmed, err := h.alerts.Confirm(c.Context(), c.origin, c.PathValue("token"))
	return response{http.StatusOK, page(confirmed)}, err
}
