package serve

import (
	"cmp"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/web/console/people"
)

// confirmationLinks returns the prefix of links that confirm an email address for alerts, empty without public-url.
func confirmationLinks(c *settings.Config) string {
	if c.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(c.PublicURL, "/") + strings.TrimSuffix(api.PathAlertConfirmation, "{token}")
}

// consolePages returns the URL below which the console is, empty without console or public-url.
func consolePages(c *settings.Config) string {
	if !c.Console || c.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(c.PublicURL, "/") + "/console/"
}

// invitationLinks returns the prefix of links by which users set their password, empty without console, or if its URL is not known.
func invitationLinks(c *settings.Config, address string) string {
	base := cmp.Or(c.PublicURL, address)
	if !c.Console || base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + people.PathInvitation
}
