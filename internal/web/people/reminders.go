package people

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

var reminderFields = fieldnames.Names{"days": "spec.apiKeyDays"}

type reminderHandlers struct{ settings *tenants.Tenants }

func (h reminderHandlers) operations() []Operation {
	return []Operation{{Method: "GET", Path: api.PathReminders, Handle: h.get},
		{Method: "PUT", Path: api.PathReminders, Handle: h.set, Announced: true}}
}

// get is GET /v1/alerts/reminders.
func (h reminderHandlers) get(c Call) (int, any, error) {
	days, err := h.settings.KeyReminders(c.Context(), c.Principal)
	return http.StatusOK, api.Reminders{Spec: api.RemindersSpec{APIKeyDays: append([]int{}, days...)}}, err
}

// set is PUT /v1/alerts/reminders.
func (h reminderHandlers) set(c Call) (int, any, error) {
	var body api.Reminders
	err := c.Read(&body, func() []fault.Field { return nil })
	if err == nil {
		err = reminderFields.Err(h.settings.SetKeyReminders(c.Context(), c.Principal, c.Origin, body.Spec.APIKeyDays))
	}
	return http.StatusNoContent, nil, err
}
