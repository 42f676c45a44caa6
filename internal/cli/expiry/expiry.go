// Package expiry has the command that lists what ends.
package expiry

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/icalendar"
)

// Commands creates the command.
type Commands struct{ manage.Program }

// Expiry returns the command that lists certificates, credentials and API keys that end.
func (p Commands) Expiry() *cobra.Command {
	within, calendar := time.Duration(0), false
	cmd := p.Command("expiry", "List certificates, credentials and keys that expire", command.NoArgs, func(c *manage.Call,
		_ []string) error {
		all, err := c.Client.Expiries(c.Ctx)
		if err != nil {
			return err
		}
		now, list := time.Now(), []api.Expiry{}
		for _, e := range all {
			if e.NotAfter.Before(now.Add(within)) {
				list = append(list, e)
			}
		}
		if calendar {
			_, err := c.Cmd.OutOrStdout().Write(icalendar.Write(list, now))
			return err
		}
		rows := make([][]any, len(list))
		for i, e := range list {
			rows[i] = append([]any{e.UID, e.Kind, e.Name, e.NotAfter, days(e.NotAfter, now), e.Owner}, certificate(e)...)
		}
		return c.List(nil, output.Columns("uid+", "kind", "name*", "expires", "daysLeft", "owner+", "role", "registries~", "subject+",
			"fingerprint-"), rows)
	}, manage.Lists)
	flagvalue.Duration(cmd.Flags(), &within, "within", 30*flagvalue.Day, 0, 400*flagvalue.Day, "", "leave out what expires later")
	cmd.Flags().BoolVar(&calendar, "ics", false, "print a calendar (RFC 5545) with a day for each")
	return cmd
}

// certificate returns what only certificates have.
func certificate(e api.Expiry) []any {
	if c := e.Certificate; c != nil {
		return []any{c.Role, c.Registries, c.Subject, c.Fingerprint}
	}
	return []any{"", "", "", ""}
}

// days returns the number of whole days that are left, negative for what has expired.
func days(at, now time.Time) int {
	left := at.Sub(now)
	if left < 0 {
		return int(left/flagvalue.Day) - 1
	}
	return int(left / flagvalue.Day)
}
