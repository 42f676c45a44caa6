// Package mutehandlers has the operations of the API on times without alerts.
package mutehandlers

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

var fields = fieldnames.Names{"registryUid": "spec.registryUid", "label": "spec.label", "from": "spec.from", "until": "spec.until",
	"reason": "spec.reason"}

// Handlers translates between the API and the domain.
type Handlers struct{ *mutes.Mutes }

// List is GET /v1/alerts/mutes.
func (h Handlers) List(ctx context.Context, p auth.Principal) (api.Mutes, error) {
	found, err := h.Mutes.List(ctx, p)
	list := api.Mutes{Items: []api.Mute{}}
	for _, m := range found {
		list.Items = append(list.Items, api.Mute{
			Metadata: api.Metadata{UID: m.UID, CreationTimestamp: m.CreatedAt},
			Spec: api.MuteSpec{RegistryUID: m.RegistryUID, Label: m.Label, From: m.From.Format(time.RFC3339),
				Until: m.Until.Format(time.RFC3339), Reason: m.Reason},
			Status: api.MuteStatus{IsActive: m.Active, CreatedBy: m.CreatedBy, RegistryName: m.RegistryName}})
	}
	return list, err
}

// Create is POST /v1/alerts/mutes.
func (h Handlers) Create(ctx context.Context, p auth.Principal, origin audit.Origin, body api.MuteRequest) (api.Created, error) {
	from, problems := fieldnames.Moment("spec.from", body.Spec.From)
	until, more := fieldnames.Moment("spec.until", body.Spec.Until)
	if problems = append(problems, more...); len(problems) > 0 {
		return api.Created{}, fault.InvalidFields(problems...)
	}
	uid, err := h.Mutes.Create(ctx, p, origin, mutes.Input{RegistryUID: body.Spec.RegistryUID, Label: body.Spec.Label, From: from,
		Until: until, Reason: body.Spec.Reason})
	return api.Created{UID: uid}, fields.Err(err)
}
