package registry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

// watchInterval is the time between two looks at the list.
const watchInterval = 2 * time.Second

// watch prints the list again whenever it has changed: on a terminal in place of the former one, without a terminal below it.
func watch(c *manage.Call, filter client.RegistryFilter) error {
	if c.Output.Format != "text" && c.Output.Format != "wide" {
		return command.Usage(c.Cmd, errors.New("--watch requires --output text or wide"))
	}
	out := c.Cmd.OutOrStdout()
	terminal := command.IsTerminal(out)
	var before [][]any
	for first := true; ; first = false {
		rows, err := listed(c, filter)
		if err != nil {
			return err
		}
		switch changed := first || !reflect.DeepEqual(rows, before); {
		case terminal:
			fmt.Fprint(out, "\x1b[H\x1b[2J") // ages change too
			err = c.Output.Table(registryColumns(), rows)
			fmt.Fprintf(out, "\n%s; Ctrl-C ends this.\n", time.Now().Format(time.TimeOnly))
		case changed:
			if !first {
				fmt.Fprintln(out)
			}
			err = c.Output.Table(registryColumns(), rows)
		}
		if err != nil {
			return err
		}
		before = rows
		select {
		case <-c.Ctx.Done():
			return context.Cause(c.Ctx)
		case <-time.After(watchInterval):
		}
	}
}
