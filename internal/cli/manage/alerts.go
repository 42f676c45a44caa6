package manage

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// Defaults of the commands for alerts.
const (
	defaultProject   = "Default"
	defaultComponent = "RegistryHealth"
)

// AlertComponents are the values of --component.
var AlertComponents = []string{defaultComponent, "ApiKeyExpiry"}

// alertPlace has the flags that say of which project and component channels are.
type alertPlace struct{ project, component string }

// channel is a channel of a component.
type channel struct {
	component string
	api.AlertChannel
}

// Alert returns the commands for alert channels.
func (p Program) Alert() *cobra.Command {
	return command.Group("alert", "Manage alert channels: webhooks and email", p.createAlert(), p.listAlerts(), p.updateAlert(),
		p.changeAlert("delete CHANNEL", "Delete an alert channel", func(c *call, project string, of channel) error {
			if err := c.confirm("Delete the channel to %s?", of.target()); err != nil {
				return err
			}
			err := c.client.Alerts.Delete(c.ctx, project, of.component, of.UID)
			if err == nil {
				c.changed("Deleted the channel to %s.", of.target())
			}
			return err
		}, deletes),
		p.changeAlert("test CHANNEL", "Send a sample alert, and show the response", testAlert, lists))
}

// addTo adds the flags to a command. Without defaultOf, the channels of all components are meant.
func (a *alertPlace) addTo(cmd *cobra.Command, defaultOf string) {
	cmd.Flags().StringVar(&a.project, "project", defaultProject, "name of the project")
	if defaultOf == "" {
		cmd.Flags().StringVar(&a.component, "component", "", "what raises the alerts: RegistryHealth or ApiKeyExpiry (default: both)")
		return
	}
	cmd.Flags().StringVar(&a.component, "component", defaultOf, "what raises the alerts: RegistryHealth or ApiKeyExpiry")
}

func (a *alertPlace) projectUID(c *call) (string, error) {
	if a.component != "" && !slices.Contains(AlertComponents, a.component) {
		return "", command.AsUsage(fmt.Errorf("--component must be one of %s", strings.Join(AlertComponents, ", ")))
	}
	project, err := c.client.Projects.Find(c.ctx, a.project)
	if err != nil {
		return "", err
	}
	return project.Metadata.UID, nil
}

// channels returns the channels of a project.
func (a *alertPlace) channels(c *call) (project string, all []channel, err error) {
	if project, err = a.projectUID(c); err != nil {
		return "", nil, err
	}
	components := []string{a.component}
	if a.component == "" {
		found, err := c.client.Alerts.Components(c.ctx)
		if err != nil {
			return "", nil, err
		}
		components = nil
		for _, component := range found {
			components = append(components, component.Name)
		}
	}
	for _, component := range components {
		list, err := c.client.Alerts.List(c.ctx, project, component)
		if err != nil {
			return "", nil, err
		}
		for _, each := range list {
			all = append(all, channel{component, each})
		}
	}
	return project, all, nil
}

// find returns the channel with this uid or target.
func (a *alertPlace) find(c *call, named string) (project string, found channel, err error) {
	project, all, err := a.channels(c)
	if err != nil {
		return "", found, err
	}
	var uids []string
	for _, each := range all {
		if each.UID == named || slices.Contains(each.targets(), named) {
			found, uids = each, append(uids, each.UID)
		}
	}
	switch len(uids) {
	case 1:
		return project, found, nil
	case 0:
		return "", found, fmt.Errorf("there is no channel %q in the project %s; see: regwarden alert list", named, a.project)
	}
	return "", found, command.AsUsage(fmt.Errorf("%q are several channels; give one of the uids %s", named, strings.Join(uids, ", ")))
}

// targets returns what a channel sends to: the host of the webhook, or the addresses.
func (o channel) targets() []string {
	if o.HTTP == nil {
		return o.Identifiers
	}
	u, err := url.Parse(o.HTTP.URL)
	if err != nil {
		return nil
	}
	return []string{u.Host}
}

// target is targets in short.
func (o channel) target() string {
	targets := o.targets()
	if o.AlertAllUsers && o.HTTP == nil {
		targets = slices.Concat(targets, []string{"all users"})
	}
	switch len(targets) {
	case 0:
		return ""
	case 1:
		return targets[0]
	}
	return fmt.Sprintf("%s +%d", targets[0], len(targets)-1)
}

func (p Program) listAlerts() *cobra.Command {
	var in alertPlace
	cmd := p.command("list", "List alert channels", command.NoArgs, func(c *call, _ []string) error {
		_, all, err := in.channels(c)
		rows := make([][]any, len(all))
		for i, o := range all {
			var succeeded, webhook any
			var last time.Time
			message := ""
			if o.Status != nil {
				succeeded, last, message = o.Status.IsSucceeded, o.Status.Time, o.Status.Message
			}
			if o.HTTP != nil {
				webhook = o.HTTP.URL
			}
			rows[i] = []any{o.UID, o.target(), o.Type, o.component, o.IsActive, succeeded, last, message, webhook, o.Identifiers, append([]string{}, o.Unconfirmed...), o.CreatedAt}
		}
		return c.list(err, columns("uid+", "target", "type", "component", "active", "succeeded", "last", "message+", "url+", "addresses+", "unconfirmed+", "created+"), rows)
	}, lists)
	in.addTo(cmd, "")
	return cmd
}

// changeAlert returns a command for one channel.
func (p Program) changeAlert(use, short string, do func(*call, string, channel) error, options ...option) *cobra.Command {
	var in alertPlace
	cmd := p.command(use, short, command.OneArg, func(c *call, args []string) error {
		project, of, err := in.find(c, args[0])
		if err != nil {
			return err
		}
		return do(c, project, of)
	}, options...)
	in.addTo(cmd, "")
	cmd.ValidArgsFunction = p.completeNames(in.targetNames)
	return cmd
}

func (a *alertPlace) targetNames(c *call) ([]string, error) {
	_, all, err := a.channels(c)
	var names []string
	for _, each := range all {
		names = append(names, each.targets()...)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// testAlert sends a sample. That it was not delivered is the result of the command, and an exit code.
func testAlert(c *call, project string, to channel) error {
	result, err := c.client.Alerts.Test(c.ctx, project, to.component, to.UID)
	if err != nil {
		return err
	}
	done, err := c.output.value(result)
	if !done && result.Delivered {
		_, err = fmt.Fprintln(c.cmd.OutOrStdout(), Shown(strings.TrimSpace(fmt.Sprintf("Delivered to %s in %d ms: %s", to.target(), result.DurationMS, received(result)))))
	}
	if err == nil && !result.Delivered {
		err = errors.New(strings.TrimSpace(Shown(fmt.Sprintf("the sample was not delivered to %s: %s %s", to.target(), result.Error, result.Response)) + "\n" + Shown(result.Hint)))
	}
	return err
}

// received describes the response of a receiver.
func received(r *api.AlertTest) string {
	if r.Status == 0 {
		return r.Response
	}
	return fmt.Sprintf("%d %s", r.Status, r.Response)
}
