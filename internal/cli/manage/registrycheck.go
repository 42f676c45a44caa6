package manage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
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
func (p Program) registryCheck() *cobra.Command {
	f := registryCheck{timeout: maxCheckWait}
	cmd := p.command("check NAME", "Have a server check a stored registry now", command.OneArg, func(c *call, args []string) error {
		asJSON, err := command.WantsStructured(f.output)
		if err != nil {
			return err
		}
		show := command.ReportOutput{Cmd: c.cmd, JSON: asJSON, NoColor: f.noColor}
		return command.Unchecked(c.ctx, f.run(c, show, args[0]))
	}, changes)
	flags := cmd.Flags()
	flagvalue.Duration(flags, &f.timeout, "timeout", f.timeout, minCheckWait, maxCheckWait, "", "maximum wait for the report, at most 60s")
	flags.BoolVar(&f.noWait, "no-wait", false, "request the check, and do not wait for the report")
	flags.BoolVar(&f.noColor, "no-color", false, "disable color on terminals")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (f registryCheck) run(c *call, show command.ReportOutput, name string) error {
	found, err := c.client.Registries.Find(c.ctx, name)
	if err != nil {
		return err
	}
	if f.noWait {
		err := c.client.Registries.Check(c.ctx, found.Metadata.UID)
		if err == nil {
			c.changed("Requested a check of %s.", found.Metadata.Name)
		}
		return err
	}
	c.changed("Waiting up to %s for a server to check %s.", flagvalue.DurationText(f.timeout), found.Metadata.Name)
	ctx, cancel := context.WithTimeout(c.ctx, f.timeout)
	defer cancel()
	report, err := c.client.Registries.CheckAndWait(ctx, found.Metadata.UID)
	pending, ok := errors.AsType[*client.PendingError](err)
	switch {
	case ok:
		return c.notChecked(name, Shown(pending.Message))
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return c.notChecked(name, late(c, f.timeout))
	case err != nil:
		return err
	}
	return show.Show(found.Spec.Endpoint, report)
}

// late is the reason why a check has no result when the wait of the command ended first.
func late(c *call, timeout time.Duration) string {
	if c.login != nil {
		return fmt.Sprintf("The check has not ended within %s.", flagvalue.DurationText(timeout))
	}
	return fmt.Sprintf("No server has finished the check within %s: no server uses this store, all are busy, or their "+
		"--watch-interval is 0s.", flagvalue.DurationText(timeout))
}

// notChecked returns the error of a requested check that has not ended, with the next step.
func (c *call) notChecked(name, reason string) error {
	if c.login != nil {
		return fmt.Errorf("%s The request stays pending.\nTo see the result later: regwarden registry show %q", reason, name)
	}
	org := "ORG"
	if caller, err := c.client.Whoami(c.ctx); err == nil {
		org = caller.OrgName
	}
	return fmt.Errorf("%s The request stays pending.\nTo check it without a server: regwarden check --registry %q --org %q", reason, name,
		org)
}
