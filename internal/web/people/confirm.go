package people

import (
	"bytes"
	"html/template"
	"net/http"
	"sync"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/alerts"
)

// confirmationPage is for people who followed a link. It has no style and no script, as the Content-Security-Policy requires.
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

// confirmationHandlers handles the links by which people agree to alerts.
type confirmationHandlers struct{ alerts *alerts.Confirmations }

func (h confirmationHandlers) operations() []Operation {
	return []Operation{
		{Method: "GET", Path: api.PathAlertConfirmation, Handle: h.show, Public: true},
		{Method: "POST", Path: api.PathAlertConfirmation, Handle: h.confirm, Public: true},
	}
}

// show is GET /v1/alerts/confirmations/{token}.
func (h confirmationHandlers) show(c Call) (int, any, error) {
	return confirmationText(h.alerts.Confirmation(c.Context(), c.PathValue("token")))
}

// confirm is POST /v1/alerts/confirmations/{token}.
func (h confirmationHandlers) confirm(c Call) (int, any, error) {
	return confirmationText(h.alerts.Confirm(c.Context(), c.Origin, c.PathValue("token")))
}

func confirmationText(shown alerts.Confirmation, err error) (int, any, error) {
	var page bytes.Buffer
	if err == nil {
		err = confirmationPage().Execute(&page, shown)
	}
	return http.StatusOK, Text{Type: "text/html; charset=utf-8", Bytes: page.Bytes()}, err
}
