package alert

import (
	"cmp"
	"errors"
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

// mute returns the command that sends no alerts for a time.
func (p Commands) mute() *cobra.Command {
	var mute api.MuteSpec
	registry, all, lasts := "", false, time.Duration(0)
	cmd := p.Command("mute", "Send no alerts for a time, such as during maintenance", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			if err := oneTarget(c, all); err != nil {
				return err
			}
			if (lasts == 0) == (mute.Until == "") {
				return command.Usage(c.Cmd, errors.New("give the end with --for or --until"))
			}
			if registry != "" {
				found, err := c.Client.Registries.Find(c.Ctx, registry)
				if err != nil {
					return err
				}
				mute.RegistryUID = found.Metadata.UID
			}
			if lasts != 0 {
				from, err := time.Parse(time.RFC3339, cmp.Or(mute.From, time.Now().UTC().Format(time.RFC3339)))
				if err != nil {
					return command.Usage(c.Cmd, errors.New("--from must be an RFC 3339 time such as 2027-01-31T12:00:00Z"))
				}
				mute.Until = from.Add(lasts).Format(time.RFC3339)
			}
			created, err := c.Client.Alerts.Mute(c.Ctx, mute)
			if err != nil {
				return err
			}
			return c.Created(nil, created.UID, "Muted the alerts of %s until %s.", targetOf(registry, mute.Label), mute.Until)
		}, manage.Changes)
	cmd.Flags().StringVar(&registry, "registry", "", "name or uid of a registry")
	cmd.Flags().StringVar(&mute.Label, "label", "", "registries with this label: KEY=VALUE, or KEY for every value")
	cmd.Flags().BoolVar(&all, "all", false, "the whole organization")
	flagvalue.Duration(cmd.Flags(), &lasts, "for", 0, time.Minute, 366*flagvalue.Day, "", "how long, such as 2h")
	cmd.Flags().StringVar(&mute.Until, "until", "", "the end, in place of --for, such as 2027-01-31T12:00:00Z")
	cmd.Flags().StringVar(&mute.From, "from", "", "the beginning of a maintenance window (default: now)")
	cmd.Flags().StringVar(&mute.Reason, "reason", "", "why, for the list")
	return cmd
}

// oneTarget returns a usage error unless the flags name what is muted.
func oneTarget(c *manage.Call, all bool) error {
	named := 0
	for _, flag := range []string{"registry", "label"} {
		if c.Cmd.Flags().Changed(flag) {
			named++
		}
	}
	if all {
		named++
	}
	if named != 1 {
		return command.Usage(c.Cmd, errors.New("give one of --registry, --label and --all"))
	}
	return command.NotEmpty(c.Cmd, "registry", "label")
}

func targetOf(registry, label string) string {
	switch {
	case registry != "":
		return "the registry " + registry
	case label != "":
		return "registries with the label " + label
	}
	return "the organization"
}

// mutes returns the command that lists mutes.
func (p Commands) mutes() *cobra.Command {
	return p.Command("mutes", "List the times without alerts", command.NoArgs, func(c *manage.Call, _ []string) error {
		list, err := c.Client.Alerts.Mutes(c.Ctx)
		rows := make([][]any, len(list))
		for i, m := range list {
			from, _ := time.Parse(time.RFC3339, m.Spec.From)
			until, _ := time.Parse(time.RFC3339, m.Spec.Until)
			state := "later"
			if m.Status.IsActive {
				state = "active"
			}
			rows[i] = []any{m.Metadata.UID, targetOf(cmp.Or(m.Status.RegistryName, m.Spec.RegistryUID), m.Spec.Label), state, from, until,
				m.Status.CreatedBy, m.Spec.Reason}
		}
		return c.List(err, output.Columns("uid", "alertsOf*", "state", "from+", "until", "by+", "reason"), rows)
	}, manage.Lists)
}

// unmute returns the command that ends a mute.
func (p Commands) unmute() *cobra.Command {
	return p.Command("unmute UID", "Send alerts again before a mute ends", command.OneArg, func(c *manage.Call, args []string) error {
		list, err := c.Client.Alerts.Mutes(c.Ctx)
		if err != nil {
			return err
		}
		m, err := findMute(list, args[0])
		if err != nil {
			return err
		}
		err = c.Client.Alerts.Unmute(c.Ctx, m.Metadata.UID)
		return c.Changed(err, "The alerts of %s are sent again.", targetOf(cmp.Or(m.Status.RegistryName, m.Spec.RegistryUID), m.Spec.Label))
	}, manage.Changes)
}

// findMute returns the mute with this uid, or the only one whose uid begins so.
func findMute(list []api.Mute, named string) (found api.Mute, err error) {
	if named == "" { // as an unset variable of a script is
		return found, command.AsUsage(errors.New("the uid must not be empty"))
	}
	var uids []string
	for _, m := range list {
		if m.Metadata.UID == named {
			return m, nil
		}
		if strings.HasPrefix(m.Metadata.UID, named) {
			found, uids = m, append(uids, m.Metadata.UID)
		}
	}
	switch len(uids) {
	case 1:
		return found, nil
	case 0:
		return found, fmt.Errorf("there is no mute %q; see: regwarden alert mutes", named)
	}
	return found, command.AsUsage(fmt.Errorf("%q are several mutes; give one of the uids %s", named, strings.Join(uids, ", ")))
}
