// Package expiry has the command that lists what ends.
package expiry

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
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
			_, err := fmt.Fprint(c.Cmd.OutOrStdout(), ics(list, now))
			return err
		}
		rows := make([][]any, len(list))
		for i, e := range list {
			rows[i] = []any{e.UID, e.Kind, e.Name, e.NotAfter, days(e.NotAfter, now), e.Owner}
		}
		return c.List(nil, output.Columns("uid+", "kind", "name*", "expires", "daysLeft", "owner+"), rows)
	}, manage.Lists)
	flagvalue.Duration(cmd.Flags(), &within, "within", 30*flagvalue.Day, 0, 400*flagvalue.Day, "", "leave out what expires later")
	cmd.Flags().BoolVar(&calendar, "ics", false, "print a calendar (RFC 5545) with a day for each")
	return cmd
}

// days returns the number of whole days that are left, negative for what has expired.
func days(at, now time.Time) int {
	left := at.Sub(now)
	if left < 0 {
		return int(left/flagvalue.Day) - 1
	}
	return int(left / flagvalue.Day)
}

// ics returns a calendar with an event on the day of each expiry.
func ics(list []api.Expiry, now time.Time) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(fold(text) + "\r\n") }
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//regwarden//expiry//EN")
	for _, e := range list {
		line("BEGIN:VEVENT")
		line("UID:" + e.Kind + "-" + e.UID + "@regwarden")
		line("DTSTAMP:" + now.UTC().Format("20060102T150405Z"))
		line("DTSTART;VALUE=DATE:" + e.NotAfter.UTC().Format("20060102"))
		line("SUMMARY:" + escaped(titles[e.Kind]+" "+e.Name+" expires"))
		line("DESCRIPTION:" + escaped(e.Owner+", at "+e.NotAfter.UTC().Format(time.RFC1123)))
		line("TRANSP:TRANSPARENT")
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	return b.String()
}

var titles = map[string]string{"certificate": "Certificate of", "credentials": "Credentials of", "apiKey": "API key",
	"password": "Password of"}

// escaped returns a text for a property: control characters would end it.
func escaped(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`).Replace(text)
}

// fold breaks a line into parts of at most 75 bytes, between characters (RFC 5545 section 3.1).
func fold(text string) string {
	var b strings.Builder
	size := 0
	for _, r := range text {
		if n := len(string(r)); size+n > 75 {
			b.WriteString("\r\n ")
			size = 1
		}
		b.WriteRune(r)
		size += len(string(r))
	}
	return b.String()
}
