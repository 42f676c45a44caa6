package console

import "github.com/regwarden/regwarden/internal/service/directory"

const pathSettings = "/console/settings"

// Setting is a setting of the service, where its value comes from, and what it means.
type Setting struct{ Name, Value, Source, Meaning string }

// settingsHandlers has the page of the settings of the service.
type settingsHandlers struct {
	directory *directory.Directory
	settings  []Setting
}

// listSettings is GET /console/settings.
func (h settingsHandlers) listSettings(c *call) error {
	if err := h.directory.MayReadSettings(c.Context(), c.principal); err != nil {
		return err
	}
	return c.show("settings.html", "Settings", h.settings)
}
