// Package manage has the commands that manage a service: organizations, projects, users, API keys, stored registries, alerts,
// sessions and audit records. Each is written once, over package client. With a server chosen it talks to that server, without one it
// runs the same API on the local store in this process, as an administrator.
package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// Environment variables for pipelines.
const (
	EnvServer = command.EnvPrefix + "SERVER"
	EnvAPIKey = command.EnvPrefix + "API_KEY"
	EnvCA     = command.EnvPrefix + "CA"

	envInsecureHTTP = command.EnvPrefix + "INSECURE_HTTP" // a setting of the server, too
)

// Local runs the API on a local store.
type Local interface {
	// AddFlags adds the flags that name the store.
	AddFlags(*pflag.FlagSet)
	// Source returns what names the store: "flag", "environment" or "default".
	Source() string
	// Open opens the store as an administrator of the named organization; of the only one if org is empty. If anyOrg is true and org
	// is empty, the administrator belongs to no organization. The caller calls the function that it returns at the end.
	Open(ctx context.Context, org string, anyOrg bool) (http.RoundTripper, func(), error)
}

// Program creates the commands.
type Program struct {
	NewLocal func() Local // for one command
	Version  string       // of the program, for the header User-Agent
}

// call is one run of a command.
type call struct {
	cmd    *cobra.Command
	ctx    context.Context
	client *client.Client
	login  *Context // nil for the local store
	output output
	quiet  bool

	deletes, yes bool
}

// option changes a command.
type option func(*call, *target)

// lists is the option of commands that show something. It adds --output.
func lists(c *call, _ *target) { c.output.addFlag(c.cmd) }

// changes is the option of commands that change something. It adds --quiet.
func changes(c *call, _ *target) {
	c.cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "print nothing about what was changed")
}

// deletes is the option of commands that delete something or end access to it. They ask on a terminal; without one, --yes is required.
func deletes(c *call, t *target) {
	changes(c, t)
	c.deletes = true
	c.cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask; required where there is no terminal")
}

// inAnyOrg is the option of commands that on the local store need no organization.
func inAnyOrg(_ *call, t *target) {
	t.anyOrg, t.allOrgs = func([]string) bool { return true }, true
}

// aboutOrgs is the option of commands that are not about one organization.
func aboutOrgs(c *call, t *target) {
	inAnyOrg(c, t)
	t.noOrg = true
}

// command returns a command that runs do with a client.
func (p Program) command(use, short string, args cobra.PositionalArgs, do func(*call, []string) error, options ...option) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	run, t := &call{cmd: cmd}, &target{local: p.NewLocal()}
	for _, option := range options {
		option(run, t)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := run.output.check(); err != nil {
			return err
		}
		if run.deletes && !run.yes && !command.IsTerminal(cmd.InOrStdin()) {
			return command.Usage(cmd, fmt.Errorf("%s requires --yes, since there is no terminal to ask on", command.ShortPath(cmd)))
		}
		end, err := run.connect(cmd.Context(), t, args)
		if err != nil {
			return explain(cmd, run.explainServer(err))
		}
		defer end()
		return explain(cmd, run.explainServer(do(run, args)))
	}
	cmd.Flags().SortFlags = false
	t.addFlags(cmd.PersistentFlags()) // help lists them after the command's own
	return cmd
}

// connect creates the client of a call.
func (c *call) connect(ctx context.Context, t *target, args []string) (end func(), err error) {
	c.ctx = ctx
	chosen, err := t.choose()
	if err != nil {
		return nil, err
	}
	if chosen == nil {
		transport, end, err := t.local.Open(ctx, t.org, t.needsNoOrg(args))
		if err != nil {
			return nil, err
		}
		c.client, err = client.New("http://localhost", client.Config{Transport: transport, OnWait: c.announceWait})
		return end, err
	}
	c.login = chosen
	if c.client, err = chosen.client(c.announceWait); err != nil {
		return nil, err
	}
	return func() {}, c.checkOrg(t.org)
}

// shortWait is not worth a word.
const shortWait = 2 * time.Second

// announceWait prints that the service refused a request for now, and when it is repeated.
func (c *call) announceWait(until time.Time) {
	if wait := time.Until(until); wait > shortWait {
		fmt.Fprintf(c.cmd.ErrOrStderr(), "The service refuses this for now, such as after wrong logins. Trying again at %s, in %v; Ctrl-C ends this.\n",
			until.Format(time.TimeOnly), wait.Round(time.Second))
	}
}

// checkOrg refuses an organization that is not the caller's. A request would be done in the caller's.
func (c *call) checkOrg(org string) error {
	if org == "" {
		return nil
	}
	info, err := c.client.Whoami(c.ctx)
	if err != nil || strings.EqualFold(strings.TrimSpace(org), info.OrgName) {
		return err
	}
	next := "log in to the other one with: regwarden login " + c.login.Server + " --org " + command.ShellQuote(org)
	if saved, err := readContexts(); err == nil {
		if logins := saved.find(c.login.Server, strings.TrimSpace(org)); len(logins) > 0 {
			next = "use the login in the other one with: --context " + command.ShellQuote(logins[0].Name)
		}
	}
	return command.AsUsage(fmt.Errorf("--org: you are logged in to the organization %s; %s", Shown(info.OrgName), next))
}

// explain returns the field problems of a refused request as problems of flags. A signal is the error of what it interrupted.
func explain(cmd *cobra.Command, err error) error {
	if cause, ok := errors.AsType[command.Interrupted](context.Cause(cmd.Context())); ok && err != nil {
		return cause
	}
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		return command.NameFlags(cmd, err)
	}
	problems := make([]error, 0, 1)
	for _, f := range refused.Fields() {
		problems = append(problems, errors.New(Shown(flagOf(cmd, f.Field)+" "+f.Problem)))
	}
	if len(problems) == 0 {
		return err
	}
	return command.Usage(cmd, errors.Join(problems...))
}

// flagOf returns the flag that sets a field of a request, or the field if there is none.
func flagOf(cmd *cobra.Command, field string) string {
	path := strings.TrimPrefix(strings.TrimPrefix(field, "spec."), "metadata.")
	if name := command.DefinitionFlag(path); name != "" && cmd.Flag(strings.TrimPrefix(name, "--")) != nil {
		return name
	}
	name, index, _ := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[") // of a list
	name = cmp.Or(command.RequestFlags[name], name)
	for _, flag := range []string{"new-" + name, name} {
		if found := cmd.Flag(flag); found != nil {
			return "--" + flag + element(found, index)
		}
	}
	return cmp.Or(name, field)
}

// element returns the value at an index such as "0]" of a flag that may be repeated, and nothing for other flags.
func element(flag *pflag.Flag, index string) string {
	list, ok := flag.Value.(pflag.SliceValue)
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	if !ok || err != nil || i < 0 || i >= len(list.GetSlice()) {
		return ""
	}
	return fmt.Sprintf(" %q", list.GetSlice()[i])
}

// confirm asks before something is deleted. Anything but yes is an error.
func (c *call) confirm(format string, args ...any) error {
	if c.yes {
		return nil
	}
	yes, err := command.Confirm(c.cmd.InOrStdin(), Shown(fmt.Sprintf(format, args...)))
	if err == nil && !yes {
		err = errors.New("nothing was changed")
	}
	return err
}

// changed prints what a command changed, on standard error: standard output is for scripts.
func (c *call) changed(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintln(c.cmd.ErrOrStderr(), Shown(fmt.Sprintf(format, args...)))
	}
}

// created prints the uid of what was created for scripts, and what it is for people.
func (c *call) created(uid, format string, args ...any) error {
	if c.quiet {
		return nil
	}
	c.changed(format, args...)
	_, err := fmt.Fprintln(c.cmd.OutOrStdout(), Shown(uid))
	return err
}
