// Package alert has the commands that manage alert channels.
package alert

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Commands creates the commands of this package.
type Commands struct{ manage.Program }

// Defaults of the commands for alerts.
const (
	defaultProject   = "Default"
	defaultComponent = "RegistryHealth"
)

// Components are the values of --component.
var Components = []string{defaultComponent, "ApiKeyExpiry"}

// alertPlace has the flags that say of which project and component channels are.
type alertPlace struct{ project, component string }

// channel is a channel of a component.
type channel struct {
	component string
	api.AlertChannel
}

// Alert returns the commands for alert channels.
func (p Commands) Alert() *cobra.Command {
	return command.Group("alert", "Manage alert channels: webhooks and email", p.createAlert(), p.listAlerts(), p.showAlert(),
		p.updateAlert(),
		p.changeAlert("delete CHANNEL", "Delete an alert channel", func(c *manage.Call, project string, of channel) error {
			if err := c.Confirm("Delete the channel to %s?", of.target()); err != nil {
				return err
			}
			err := c.Client.Alerts.Delete(c.Ctx, project, of.component, of.UID)
			return c.Changed(err, "Deleted the channel to %s.", of.target())
		}, manage.Deletes),
		p.mute(), p.mutes(), p.unmute(), p.remind(), p.reminders(),
		p.changeAlert("test CHANNEL", "Send a sample alert, and show the response", testAlert,
			manage.Shows("csv", "name")))
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

func (a *alertPlace) projectUID(c *manage.Call) (string, error) {
	if a.component != "" && !slices.Contains(Components, a.component) {
		return "", command.AsUsage(fmt.Errorf("--component must be one of %s", strings.Join(Components, ", ")))
	}
	project, err := c.Client.Projects.Find(c.Ctx, a.project)
	if err != nil && !c.Cmd.Flag("project").Changed {
		project, err = a.only(c, err)
	}
	if err != nil {
		return "", err
	}
	return project.Metadata.UID, nil
}

// only returns the project of an organization that has one, in place of the default one, which was deleted or renamed.
func (a *alertPlace) only(c *manage.Call, notFound error) (*api.ListedProject, error) {
	all, err := client.Collect(c.Client.Projects.List(c.Ctx))
	switch {
	case err != nil:
		return nil, err
	case len(all) != 1:
		return nil, fmt.Errorf("%w; name another one with --project", notFound)
	}
	a.project = all[0].Metadata.Name
	return &all[0], nil
}

// channels returns the channels of a project.
func (a *alertPlace) channels(c *manage.Call) (project string, all []channel, err error) {
	if project, err = a.projectUID(c); err != nil {
		return "", nil, err
	}
	components := []string{a.component}
	if a.component == "" {
		found, err := c.Client.Alerts.Components(c.Ctx)
		if err != nil {
			return "", nil, err
		}
		components = nil
		for _, component := range found {
			components = append(components, component.Name)
		}
	}
	for _, component := range components {
		list, err := c.Client.Alerts.List(c.Ctx, project, component)
		if err != nil {
			return "", nil, err
		}
		for _, each := range list {
			all = append(all, channel{component, each})
		}
	}
	return project, all, nil
}

// find returns the channel with this uid, name or target.
func (a *alertPlace) find(c *manage.Call, named string) (project string, found channel, err error) {
	project, all, err := a.channels(c)
	if err != nil {
		return "", found, err
	}
	var uids []string
	for _, each := range all {
		if each.UID == named || each.Name != "" && each.Name == named || slices.Contains(each.targets(), named) {
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

func (p Commands) listAlerts() *cobra.Command {
	var in alertPlace
	cmd := p.Command("list", "List alert channels", command.NoArgs, func(c *manage.Call, _ []string) error {
		_, all, err := in.channels(c)
		rows := make([][]any, len(all))
		for i, o := range all {
			rows[i] = o.row()
		}
		return c.List(err, alertColumns(), rows)
	}, manage.Lists)
	in.addTo(cmd, "")
	return cmd
}

// alertColumns are the columns of a channel.
func alertColumns() []output.Column {
	return output.Columns("uid+", "channel*", "target*", "type", "component", "active", "succeeded", "last", "message+", "url+",
		"addresses+", "unconfirmed+", "created+", "after+", "repeat+")
}

// row returns the values of alertColumns.
func (o channel) row() []any {
	var succeeded, webhook any
	var last time.Time
	message := ""
	if o.Status != nil {
		succeeded, last, message = o.Status.IsSucceeded, o.Status.Time, o.Status.Message
	}
	if o.HTTP != nil {
		webhook = o.HTTP.URL
	}
	return []any{o.UID, o.Name, o.target(), o.Type, o.component, o.IsActive, succeeded, last, message, webhook, o.Identifiers,
		append([]string{}, o.Unconfirmed...), o.CreatedAt, duration(o.AfterMinutes, "m"), duration(o.RepeatHours, "h")}
}

// duration is a flag's value, nothing for 0.
func duration(n int64, unit string) any {
	if n == 0 {
		return nil
	}
	return fmt.Sprint(n, unit)
}

func (p Commands) showAlert() *cobra.Command {
	return p.changeAlert("show CHANNEL", "Show an alert channel and its last delivery", func(c *manage.Call, _ string, of channel) error {
		return c.Output.Record(alertColumns(), of.row())
	}, manage.Lists)
}

// changeAlert returns a command for one channel.
func (p Commands) changeAlert(use, short string, do func(*manage.Call, string, channel) error, options ...manage.Option) *cobra.Command {
	var in alertPlace
	cmd := p.Command(use, short, command.OneArg, func(c *manage.Call, args []string) error {
		project, of, err := in.find(c, args[0])
		if err != nil {
			return err
		}
		return do(c, project, of)
	}, options...)
	in.addTo(cmd, "")
	cmd.ValidArgsFunction = p.CompleteNames(in.targetNames)
	return cmd
}

func (a *alertPlace) targetNames(c *manage.Call) ([]string, error) {
	_, all, err := a.channels(c)
	var names []string
	for _, each := range all {
		if names = append(names, each.targets()...); each.Name != "" {
			names = append(names, each.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// testAlert sends a sample. That it was not delivered is the result of the command, and an exit code.
func testAlert(c *manage.Call, project string, to channel) error {
	result, err := c.Client.Alerts.Test(c.Ctx, project, to.component, to.UID)
	if err != nil {
		return err
	}
	done, err := c.Output.Value(result)
	if !done && result.Delivered {
		_, err = fmt.Fprintln(c.Cmd.OutOrStdout(), output.Shown(strings.TrimSpace(fmt.Sprintf("Delivered to %s in %d ms: %s", to.target(),
			result.DurationMS, received(result)))))
	}
	if err == nil && !result.Delivered {
		cause := strings.TrimSpace(result.Error + " " + result.Response)
		err = errors.New(strings.TrimSpace(output.Shown(fmt.Sprintf("the sample was not delivered to %s: %s", to.target(), cause)) + "\n" +
			output.Shown(result.Hint)))
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
