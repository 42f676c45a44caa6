package alert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// remind returns the command that sets when alerts about API keys are sent.
func (p Commands) remind() *cobra.Command {
	never := false
	cmd := p.Command("remind [DAYS...]", "Set how many days before an API key expires alerts are sent", cobra.ArbitraryArgs,
		func(c *manage.Call, args []string) error {
			if never == (len(args) > 0) {
				return command.Usage(c.Cmd, errors.New("give the days, such as 30 7 1, or --never"))
			}
			days := make([]int, len(args))
			for i, arg := range args {
				n, err := strconv.Atoi(arg)
				if err != nil {
					return command.Usage(c.Cmd, fmt.Errorf("%q is not a number of days", arg))
				}
				days[i] = n
			}
			err := c.Client.Alerts.SetReminders(c.Ctx, days...)
			if never {
				return c.Changed(err, "No alerts are sent before API keys expire.")
			}
			return c.Changed(err, "Alerts are sent %s days before an API key expires.", strings.Join(args, ", "))
		}, manage.Changes)
	cmd.Flags().BoolVar(&never, "never", false, "send none")
	return cmd
}

// reminders returns the command that shows them.
func (p Commands) reminders() *cobra.Command {
	return p.Command("reminders", "Show how many days before an API key expires alerts are sent", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			days, err := c.Client.Alerts.Reminders(c.Ctx)
			rows := make([][]any, len(days))
			for i, n := range days {
				rows[i] = []any{"API key", n}
			}
			return c.List(err, output.Columns("kind", "days*"), rows)
		}, manage.Lists)
}
