package serve

import (
	"context"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/web/console"
)

// addPages adds the console, unless it is off.
func (p *process) addPages(context.Context) (err error) {
	c, s := &p.settings.Config, p.server
	if !c.Console {
		return nil
	}
	s.Console, err = console.New(console.Config{Auth: s.Auth, SSO: s.SSO, Devices: s.Devices, Factors: s.Factors, Directory: s.Directory,
		Roles: s.Roles, Registries: s.Registries, Checks: s.Checks, Watch: s.Watch, ContentSync: s.ContentSync, Alerts: s.Alerts,
		Mutes: s.Mutes.Mutes, Invitations: s.Invitations, Tenants: s.Settings, Bulk: s.Bulk.Service, Expiry: s.Expiry.Service,
		PublicURL: c.PublicURL, ScanBytes: s.ScanBytes, Secure: s.TLS || strings.HasPrefix(c.PublicURL, "https:"),
		CountLogin: s.Metrics.Login, CountValidation: s.Metrics.Validation, Reserve: s.Responses.Reserve, Requests: s.Requests,
		Settings: shownSettings(p.settings), Now: time.Now})
	return err
}

// shownSettings returns the settings as the console shows them, without secrets.
func shownSettings(s *settings.Settings) []console.Setting {
	rows := s.List()
	shown := make([]console.Setting, len(rows))
	for i, row := range rows {
		name := command.Cell(row[0])
		shown[i] = console.Setting{Name: name, Value: command.Cell(row[1]), Source: command.Cell(row[2]),
			Meaning: s.Flags.Lookup(name).Usage}
	}
	return shown
}
