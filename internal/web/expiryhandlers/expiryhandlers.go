// Package expiryhandlers has the operation of the API that lists what ends.
package expiryhandlers

import (
	"context"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/expiries"
)

// Handlers translates between the API and the domain.
type Handlers struct{ expiries.Service }

// List is GET /v1/expiry.
func (h Handlers) List(ctx context.Context, p auth.Principal) (api.Expiries, error) {
	found, err := h.Service.List(ctx, p)
	list := api.Expiries{Items: make([]api.Expiry, len(found))}
	for i, e := range found {
		list.Items[i] = api.Expiry{Kind: string(e.Kind), UID: e.UID, Name: e.Name, Owner: e.Owner, NotAfter: e.At.UTC()}
	}
	return list, err
}
