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
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Local runs the API on a local store.
type Local interface {
	// AddFlags adds the flags that name the store.
	AddFlags(*pflag.FlagSet)
	// Source returns what names the store: "flag", "environment" or "default".
	Source() string
	// Where names the store in messages.
	Where() string
	// Open opens the store as an administrator of the named organization; of the only one if org is empty. If anyOrg is true and org
	// is empty, the administrator belongs to no organization. The caller calls the function that it returns at the end.
	Open(ctx context.Context, org string, anyOrg bool) (http.RoundTripper, func(), error)
}

// Program creates the commands.
type Program struct {
	NewLocal func() Local // for one command
	Version  string       // of the program, for the header User-Agent

	PasswordRules string // printed before a new password is typed
}

// Call is one run of a command.
type Call struct {
	Cmd    *cobra.Command
	Ctx    context.Context
	Client *client.Client
	Login  *logins.Context // nil for the local store
	Output output.Writer
	Quiet  bool
	Asks   bool // deletes something or ends access to it
	DryRun bool // shows what would be deleted

	checks *bool // an error means that there is no result of a check; nil for commands that do not check
	yes    bool
	where  string // what it acts on, where that was not named and is not the only possibility; printed once
}

// Option changes a command.
type Option func(*Call, *target)

// Lists is the option of commands that show something. It adds --output.
func Lists(c *Call, _ *target) { c.Output.AddFlag(c.Cmd) }

// Shows is Lists for commands that do not have all formats, since they show something that is not a row of a table.
func Shows(without ...string) Option {
	return func(c *Call, _ *target) { c.Output.AddFlag(c.Cmd, without...) }
}

// Changes is the option of commands that change something. It adds --quiet.
func Changes(c *Call, _ *target) {
	c.Cmd.Flags().BoolVarP(&c.Quiet, "quiet", "q", false, "print nothing about what was changed")
}

// Deletes is the option of commands that delete something or end access to it. They ask on a terminal; without one, --yes is required.
func Deletes(c *Call, t *target) {
	Changes(c, t)
	c.Asks = true
	c.Cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask; required where there is no terminal")
}

// MayDelete is the option of commands that delete something if a flag says so: Confirm then requires --yes without a terminal.
func MayDelete(c *Call, _ *target) {
	c.Cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask before a deletion; required where there is no terminal")
}

// DryRuns is the option of commands that can show what they would delete.
func DryRuns(c *Call, _ *target) {
	c.Output.AddFlag(c.Cmd)
	c.Cmd.Flags().BoolVar(&c.DryRun, "dry-run", false, "show what would be deleted, and delete nothing; --output is for this list")
}

// Checks is the option of commands that check while a flag is true, and exit with another code if they could not.
func Checks(flag *bool) Option { return func(c *Call, _ *target) { c.checks = flag } }

// Unchecked returns an error for the exit code of a check without a result, if the command checks.
func (c *Call) Unchecked(err error) error {
	if c.checks == nil || !*c.checks {
		return err
	}
	return command.Unchecked(c.Ctx, c.ExplainServer(err))
}

// InAnyOrg is the option of commands that on the local store need no organization.
func InAnyOrg(_ *Call, t *target) {
	t.anyOrg, t.allOrgs = func([]string) bool { return true }, true
}

// AboutOrgs is the option of commands that are not about one organization.
func AboutOrgs(c *Call, t *target) {
	InAnyOrg(c, t)
	t.noOrg = true
}

// Command returns a command that runs do with a client.
func (p Program) Command(use, short string, args cobra.PositionalArgs, do func(*Call, []string) error, options ...Option) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	run, t := &Call{Cmd: cmd}, &target{local: p.NewLocal()}
	for _, option := range options {
		option(run, t)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if run.Asks && !run.DryRun {
			if err := run.canAsk(); err != nil {
				return err
			}
		}
		end, err := run.connect(cmd.Context(), t, args)
		if err == nil {
			defer end()
			err = do(run, args)
		}
		return Explain(cmd, run.ExplainServer(err))
	}
	cmd.Flags().SortFlags = false
	t.addFlags(cmd.PersistentFlags()) // help lists them after the command's own
	return cmd
}

// connect creates the client of a call.
func (c *Call) connect(ctx context.Context, t *target, args []string) (end func(), err error) {
	c.Ctx = ctx
	chosen, err := t.choose()
	if err != nil {
		return nil, c.Unchecked(err)
	}
	c.where = t.unnamed(chosen)
	if chosen == nil {
		transport, end, err := t.local.Open(ctx, t.org, t.needsNoOrg(args))
		if err != nil {
			return nil, err
		}
		c.Client, err = client.New("http://localhost", client.Config{Transport: transport, OnWait: c.AnnounceWait})
		return end, err
	}
	c.Login = chosen
	if c.Client, err = chosen.Client(c.AnnounceWait); err != nil {
		return nil, c.Unchecked(err)
	}
	return func() {}, c.Unchecked(c.checkOrg(t.org))
}

// shortWait is not worth a word.
const shortWait = 2 * time.Second

// AnnounceWait prints that the service refused a request for now, and when it is repeated.
func (c *Call) AnnounceWait(until time.Time) {
	if wait := time.Until(until); wait > shortWait {
		fmt.Fprintf(c.Cmd.ErrOrStderr(), "The service refuses this for now, such as after wrong logins. Trying again at %s, in %v; "+
			"Ctrl-C ends this.\n", until.Format(time.TimeOnly), wait.Round(time.Second))
	}
}

// checkOrg refuses an organization that is not the caller's. A request would be done in the caller's.
func (c *Call) checkOrg(org string) error {
	if org == "" {
		return nil
	}
	info, err := c.Client.Whoami(c.Ctx)
	if err != nil || strings.EqualFold(strings.TrimSpace(org), info.OrgName) {
		return err
	}
	next := "log in to the other one with: regwarden login " + c.Login.Server + " --org " + command.ShellQuote(org)
	if saved, err := logins.Read(); err == nil {
		if logins := saved.Find(c.Login.Server, strings.TrimSpace(org)); len(logins) > 0 {
			next = "use the login in the other one with: --context " + command.ShellQuote(logins[0].Name)
		}
	}
	return command.AsUsage(fmt.Errorf("--org: you are logged in to the organization %s; %s", output.Shown(info.OrgName), next))
}

// Explain returns the field problems of a refused request as problems of flags. A signal is the error of what it interrupted.
func Explain(cmd *cobra.Command, err error) error {
	if cause, ok := errors.AsType[command.Interrupted](context.Cause(cmd.Context())); ok && err != nil {
		return cause
	}
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		return command.NameFlags(cmd, err)
	}
	problems := make([]error, 0, 1)
	for _, f := range refused.Fields() {
		problems = append(problems, errors.New(output.Shown(flagOf(cmd, f.Field)+" "+f.Problem)))
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

// canAsk returns the usage error of a command that has to ask and has no terminal.
func (c *Call) canAsk() error {
	if c.yes || command.IsTerminal(c.Cmd.InOrStdin()) {
		return nil
	}
	return command.Usage(c.Cmd, fmt.Errorf("%s requires --yes, since there is no terminal to ask on", command.ShortPath(c.Cmd)))
}

// ErrNotConfirmed is the error of a command that asked and must not continue.
var ErrNotConfirmed = errors.New("nothing was changed")

// Confirm asks before something is deleted. Anything but yes is an error.
func (c *Call) Confirm(format string, args ...any) error {
	if err := c.canAsk(); c.yes || err != nil {
		return err
	}
	yes, err := command.Confirm(c.Cmd.InOrStdin(), output.Shown(fmt.Sprintf(format, args...)+c.where))
	if err == nil && !yes {
		err = ErrNotConfirmed
	}
	return err
}

// Note prints what a command did, on standard error: standard output is for scripts.
func (c *Call) Note(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintln(c.Cmd.ErrOrStderr(), output.Shown(fmt.Sprintf(format, args...)+c.where))
		c.where = ""
	}
}

// Changed ends a command whose change came to err: it notes the change, or returns err.
func (c *Call) Changed(err error, format string, args ...any) error {
	if err == nil {
		c.Note(format, args...)
	}
	return err
}

// Created is Changed for what has a uid, which it prints for scripts.
func (c *Call) Created(err error, uid, format string, args ...any) error {
	if err = c.Changed(err, format, args...); err == nil && !c.Quiet {
		_, err = fmt.Fprintln(c.Cmd.OutOrStdout(), output.Shown(uid))
	}
	return err
}

// InAnyOrgByUID is the option of commands that on the local store need an organization only for a name.
func InAnyOrgByUID(_ *Call, t *target) {
	t.anyOrg = func(args []string) bool { return len(args) == 0 || IsUID(args[0]) }
}

// List prints a list that was read with err.
func (c *Call) List(err error, columns []output.Column, rows [][]any) error {
	if err != nil {
		return err
	}
	return c.Output.Table(columns, rows)
}

// Public is the option of commands that need no login while a flag is true.
func Public(flag *bool) Option { return func(_ *Call, t *target) { t.public = flag } }

// RegistriesIn returns the operations on registries, for those of the named project if a name is given, with its uid.
func (c *Call) RegistriesIn(project string) (in client.Registries, uid string, err error) {
	if project == "" {
		return c.Client.Registries, "", nil
	}
	found, err := c.Client.Projects.Find(c.Ctx, project)
	if err != nil {
		return in, "", err
	}
	return c.Client.Registries.InProject(found.Metadata.UID), found.Metadata.UID, nil
}

// NameCascade returns the error of a deletion with the flag of this program in place of the option of the API.
func NameCascade(err error) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	named := *refused
	named.Message = strings.ReplaceAll(refused.Message, "the option cascade", "--cascade")
	return &named
}
