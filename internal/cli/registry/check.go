package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// registryCheck are the flags of "registry check".
type registryCheck struct {
	timeout         time.Duration
	noWait, noColor bool
	output          string
}

// Bounds of --timeout: a server waits for a requested check for a minute.
const (
	minCheckWait = 100 * time.Millisecond
	maxCheckWait = time.Minute
)

// registryCheck returns the command that requests a check by a server. The result becomes the health of the registry, so the egress
// settings of the server must apply.
func (p Commands) registryCheck() *cobra.Command {
	f := registryCheck{timeout: maxCheckWait}
	var chosen selection
	cmd := p.Command("check [NAME]", "Have a server check stored registries now", chosen.oneArg, func(c *manage.Call,
		args []string) error {
		if many, err := chosen.of(c, args); many != nil || err != nil {
			return c.Unchecked(bulk(c, many, "check", "Requested checks of %s.", err))
		}
		show := command.ReportOutput{Cmd: c.Cmd, Format: f.output, NoColor: f.noColor}
		return c.Unchecked(f.run(c, show, args[0]))
	}, manage.Changes, manage.Checks(new(true)))
	chosen.addTo(cmd)
	flags := cmd.Flags()
	flagvalue.Duration(flags, &f.timeout, "timeout", f.timeout, minCheckWait, maxCheckWait, "", "maximum wait for the report, at most 60s")
	flags.BoolVar(&f.noWait, "no-wait", false, "request the check, and do not wait for the report")
	flags.BoolVar(&f.noColor, "no-color", false, "disable color on terminals")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (f registryCheck) run(c *manage.Call, show command.ReportOutput, name string) error {
	found, err := c.Client.Registries.Find(c.Ctx, name)
	if err != nil {
		return err
	}
	if f.noWait {
		err := c.Client.Registries.Check(c.Ctx, found.Metadata.UID)
		return c.Changed(err, "Requested a check of %s.", found.Metadata.Name)
	}
	c.Note("Waiting up to %s for a server to check %s.", flagvalue.DurationText(f.timeout), found.Metadata.Name)
	ctx, cancel := context.WithTimeout(c.Ctx, f.timeout)
	defer cancel()
	report, err := c.Client.Registries.CheckAndWait(ctx, found.Metadata.UID)
	pending, ok := errors.AsType[*client.PendingError](err)
	switch {
	case ok:
		return notChecked(c, name, output.Shown(pending.Message))
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return notChecked(c, name, late(c, f.timeout))
	case err != nil:
		return err
	}
	return show.Show(found.Spec.Endpoint, report)
}

// late is the reason why a check has no result when the wait of the command ended first.
func late(c *manage.Call, timeout time.Duration) string {
	if c.Login != nil {
		return fmt.Sprintf("The check has not ended within %s.", flagvalue.DurationText(timeout))
	}
	return fmt.Sprintf("No server has finished the check within %s: no server uses this store, all are busy, or their "+
		"--watch-interval is 0s.", flagvalue.DurationText(timeout))
}

// notChecked returns the error of a requested check that has not ended, with the next step.
func notChecked(c *manage.Call, name, reason string) error {
	if c.Login != nil {
		return fmt.Errorf("%s The request stays pending.\nTo see the result later: regwarden registry show %q", reason, name)
	}
	org := "ORG"
	if caller, err := c.Client.Whoami(c.Ctx); err == nil {
		org = caller.OrgName
	}
	return fmt.Errorf("%s The request stays pending.\nTo check it without a server: regwarden check --registry %q --org %q", reason, name,
		org)
}
