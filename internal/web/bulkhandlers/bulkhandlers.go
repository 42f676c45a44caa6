// Package bulkhandlers has the operation of the API on many registries.
package bulkhandlers

import (
	"context"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/registries"
)

// Handlers translates between the API and the domain.
type Handlers struct{ *bulk.Service }

// Change is POST /v1/registries/oci/bulk.
func (h Handlers) Change(ctx context.Context, p auth.Principal, origin audit.Origin,
	body api.RegistryBulk) (api.RegistryBulkResult, error) {
	input := bulk.Input{Action: bulk.Action(body.Action), UIDs: body.UIDs, SameCredentialsAs: body.SameCredentialsAs, Labels: body.Labels,
		Auth: body.Auth, DryRun: body.DryRun}
	if f := body.Filter; f != nil {
		input.Filter = &registries.Query{Name: f.Name, Health: registries.Health(f.Health), Expiry: registries.Expiry(f.Expiry),
			Label: f.Label, Project: f.Project}
	}
	outcomes, err := h.Do(ctx, p, origin, input)
	result := api.RegistryBulkResult{Items: make([]api.RegistryBulkItem, len(outcomes))}
	for i, o := range outcomes {
		item := api.RegistryBulkItem{UID: o.UID, Name: o.Name, Result: api.BulkDone}
		if body.DryRun {
			item.Result = api.BulkMatched
		}
		if o.Err != nil {
			item.Result, item.Code, item.Message = api.BulkRefused, o.Err.Code, o.Message()
		}
		result.Items[i] = item
	}
	return result, err
}
