package console

const pathSettings = "/console/settings"

// Setting is a setting of the service, and where its value comes from.
type Setting struct{ Name, Value, Source string }

// listSettings is GET /console/settings.
func (s *Console) listSettings(c *call) error {
	if err := s.Directory.MayReadSettings(c.Context(), c.principal); err != nil {
		return err
	}
	return c.show("settings.html", "Settings", s.Settings)
}
