package console

import (
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/web/console/expirypage"
)

const pathExpiry = "/console/expiry"

// expiryHandlers has the page of what ends.
type expiryHandlers struct{ expiries expiries.Service }

// listExpiries is GET /console/expiry.
func (h expiryHandlers) listExpiries(c *call) error {
	page, err := expirypage.Read(c.Context(), h.expiries, c.principal)
	if err != nil {
		return err
	}
	return c.show("expiry.html", "Expiry", page)
}
