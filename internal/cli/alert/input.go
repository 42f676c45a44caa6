package alert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alertbodies"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/secret"
)

// EnvURL is the variable with the URL of a webhook.
const EnvURL = command.EnvPrefix + "ALERT_URL"

const (
	typeHTTP  = "http"
	typeEmail = "email"

	// longestPlain is the maximum length of a part of a URL's path that an argument may have: longer ones are the secrets of webhooks.
	longestPlain = 20
	maxChannel   = 1 << 20
)

// Templates are the values of --template.
var Templates = []string{"slack", "teams"}

// alertInput has the flags that describe a channel.
type alertInput struct {
	alertPlace
	file, url, template string
	name                string
	urlStdin            bool
	email               []string
	allUsers, active    bool
	after, repeat       time.Duration
}

func (f *alertInput) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.urlStdin, "url-stdin", false, "read the URL of the webhook from standard input, or at a prompt")
	flags.StringVar(&f.url, "url", "", "URL of a webhook, if it contains no secret")
	flags.StringVar(&f.name, "name", "", "name of the channel in lists and messages")
	flags.StringVar(&f.template, "template", "", "send what this service understands: slack or teams (default: the JSON of the alert)")
	flags.StringSliceVar(&f.email, "email", nil, "send email to this address; may be repeated")
	flags.BoolVar(&f.allUsers, "all-users", false, "send email to the users of the project and all administrators")
	flags.BoolVar(&f.active, "active", true, "send alerts")
	flagvalue.Duration(flags, &f.after, "after", 0, time.Minute, flagvalue.Day, "at once",
		"alert of a registry that has failed so long, such as 15m; at most 1d; 0s: at once")
	flagvalue.Duration(flags, &f.repeat, "repeat", 0, time.Hour, flagvalue.Week, "not again",
		"alert again so often while a registry fails, such as 6h; at most 1w; 0s: not again")
	flags.StringVarP(&f.file, "file", "f", "", "JSON file of the channel, such as with headers; - for standard input")
}

func (p Commands) createAlert() *cobra.Command {
	var f alertInput
	cmd := p.Command("create", "Create an alert channel; print its uid", command.NoArgs, func(c *manage.Call, _ []string) error {
		channel, err := f.channel(c, api.AlertChannelRequest{}, true)
		if err != nil {
			return err
		}
		project, err := f.projectUID(c)
		if err != nil {
			return err
		}
		created, err := c.Client.Alerts.Create(c.Ctx, project, f.component, channel)
		if err != nil {
			return err
		}
		if f.template == "" && created.SigningSecret != "" { // Slack and Teams verify no signature
			c.Note("Signing secret, which is shown only here: %s", created.SigningSecret)
		}
		if created.Warning != "" {
			fmt.Fprintln(c.Cmd.ErrOrStderr(), "warning: "+output.Shown(warningOf(created.Warning, c.Login == nil)))
		}
		return c.Created(nil, created.UID, "Created a channel for %s in the project %s.", f.component, f.project)
	}, manage.Changes)
	f.addTo(cmd)
	f.alertPlace.addTo(cmd, defaultComponent)
	return cmd
}

// warningOf returns the warning about the URL of a channel. On a local store it depends on the settings of this command: the server, which
// sends the alerts, may have others.
func warningOf(warning string, local bool) string {
	if local {
		warning += " This is by the settings of this command: the server of the store may have others."
	}
	return warning
}

func (p Commands) updateAlert() *cobra.Command {
	var f alertInput
	cmd := p.changeAlert("update CHANNEL", "Change an alert channel", func(c *manage.Call, project string, of channel) error {
		if !slices.ContainsFunc([]string{"name", "url-stdin", "url", "template", "email", "all-users", "active", "after", "repeat", "file"},
			c.Cmd.Flags().Changed) {
			return command.Usage(c.Cmd, errors.New("give what to change"))
		}
		channel, err := f.channel(c, stored(of.AlertChannel), false)
		if err != nil {
			return err
		}
		err = c.Client.Alerts.Update(c.Ctx, project, of.component, of.UID, channel)
		return c.Changed(err, "Changed the channel to %s.", of.target())
	}, manage.Changes)
	f.addTo(cmd)
	return cmd
}

// stored returns a request that changes nothing. The server replaces masks by the stored values.
func stored(o api.AlertChannel) api.AlertChannelRequest {
	request := api.AlertChannelRequest{Type: o.Type, IsActive: o.IsActive, AlertAllUsers: o.AlertAllUsers,
		Identifiers: o.Identifiers}
	if o.HTTP != nil {
		request.HTTP = &api.AlertChannelHTTPRequest{URL: secret.String(o.HTTP.URL), Method: o.HTTP.Method, Headers: o.HTTP.Headers,
			Body: o.HTTP.Body, Secret: o.HTTP.Secret}
	}
	return request
}

// channel applies file and flags to a channel.
func (f *alertInput) channel(c *manage.Call, channel api.AlertChannelRequest, create bool) (api.AlertChannelRequest, error) {
	if f.url != "" && f.urlStdin || f.file == "-" && f.urlStdin {
		return channel, command.AsUsage(errors.New("the URL can be only one of: --url, --url-stdin; standard input only one of: the " +
			"URL, the channel"))
	}
	if f.file != "" {
		channel = api.AlertChannelRequest{IsActive: true}
		if err := f.read(c.Cmd.InOrStdin(), &channel); err != nil {
			return channel, err
		}
	}
	if create && f.file == "" || c.Cmd.Flag("active").Changed {
		channel.IsActive = f.active
	}
	if c.Cmd.Flag("name").Changed {
		channel.Name = &f.name
	}
	if err := f.times(c.Cmd, &channel); err != nil {
		return channel, err
	}
	if c.Cmd.Flag("email").Changed {
		channel.Identifiers = f.email
	}
	if c.Cmd.Flag("all-users").Changed {
		channel.AlertAllUsers = f.allUsers
	}
	if len(channel.Identifiers) > 0 || channel.AlertAllUsers {
		channel.Type = cmp.Or(channel.Type, typeEmail)
	}
	return channel, f.webhook(c, &channel, create)
}

// times sets when a channel alerts of a registry.
func (f *alertInput) times(cmd *cobra.Command, channel *api.AlertChannelRequest) error {
	for _, t := range []struct {
		flag        string
		value, unit time.Duration
		to          **int64
	}{{"after", f.after, time.Minute, &channel.AfterMinutes}, {"repeat", f.repeat, time.Hour, &channel.RepeatHours}} {
		if !cmd.Flag(t.flag).Changed {
			continue
		}
		if t.value%t.unit != 0 {
			return command.AsUsage(fmt.Errorf("--%s must be a multiple of %s", t.flag, flagvalue.DurationText(t.unit)))
		}
		*t.to = new(int64(t.value / t.unit))
	}
	return nil
}

func (f *alertInput) read(stdin io.Reader, channel *api.AlertChannelRequest) error {
	var data []byte
	var err error
	if f.file == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, maxChannel))
	} else {
		data, err = command.ReadFlagFile("file", f.file)
	}
	if err != nil {
		return command.AsUsage(err)
	}
	wrong, err := strictjson.Decode(data, channel)
	if err != nil {
		return err
	}
	unknown, _ := strictjson.Unknown(data, channel)
	for _, path := range unknown {
		wrong = append(wrong, fault.Field{Field: path, Problem: "is unknown"})
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

// webhook sets what a channel of type http sends.
func (f *alertInput) webhook(c *manage.Call, channel *api.AlertChannelRequest, create bool) error {
	toURL, toUsers := f.url != "" || f.urlStdin || f.template != "", len(f.email) > 0 || f.allUsers
	switch {
	case channel.Type == typeEmail && toURL, channel.Type == typeHTTP && toUsers:
		return command.AsUsage(errors.New("a channel is either a webhook or email, not both"))
	case channel.Type == typeEmail:
		return nil
	}
	channel.Type = cmp.Or(channel.Type, typeHTTP)
	if channel.HTTP == nil {
		channel.HTTP = &api.AlertChannelHTTPRequest{}
	}
	to, err := f.readURL(c.Cmd, create && channel.HTTP.URL == "")
	if err != nil {
		return err
	}
	command.Set(&channel.HTTP.URL, to)
	if f.template == "" {
		return nil
	}
	switch f.template {
	case "slack":
		channel.HTTP.Body = alertbodies.Slack
	case "teams":
		channel.HTTP.Body = alertbodies.Teams
	default:
		return command.AsUsage(fmt.Errorf("--template must be one of %s", strings.Join(Templates, ", ")))
	}
	channel.HTTP.Headers = map[string]secret.String{"Content-Type": "application/json"}
	return nil
}

// readURL returns the URL of a webhook, empty if none was given and none is required.
func (f *alertInput) readURL(cmd *cobra.Command, required bool) (secret.String, error) {
	stdin, env := cmd.InOrStdin(), os.Getenv(EnvURL)
	switch {
	case f.url != "":
		return secret.String(f.url), checkPlainURL(f.url)
	case f.urlStdin:
		return command.ReadSecret(stdin, "URL: ")
	case !required:
		return "", nil
	case env != "":
		return secret.String(env), nil
	case command.IsTerminal(stdin):
		return command.ReadSecret(stdin, "URL: ")
	}
	return "", command.Usage(cmd, fmt.Errorf("give the URL of a webhook with --url-stdin or %s, or addresses with --email", EnvURL))
}

// checkPlainURL refuses a URL with a part that may be a secret: all users of the machine can read arguments.
func checkPlainURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		long := false
		for part := range strings.SplitSeq(u.EscapedPath(), "/") {
			long = long || len(part) > longestPlain
		}
		if !long {
			return nil
		}
	}
	return command.AsUsage(fmt.Errorf("--url seems to contain a secret, and all users of this machine can read arguments; use "+
		"--url-stdin or %s", EnvURL))
}
