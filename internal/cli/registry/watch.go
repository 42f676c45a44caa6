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
	"github.com/regwarden/regwarden/internal/loop"
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
			shown, more := onScreen(rows, command.Height(out))
			err = c.Output.Table(registryColumns(), shown)
			fmt.Fprintf(out, "\n%s%s; Ctrl-C ends this.\n", more, time.Now().Format(time.TimeOnly))
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
		if loop.Sleep(c.Ctx, watchInterval) != nil {
			return context.Cause(c.Ctx)
		}
	}
}

// belowList is the number of rows of a terminal that the list has not: its heads, and what follows it with the cursor.
const belowList = 4

// onScreen returns the rows that a terminal of this height shows at once, and how to see the others: what scrolls away is not seen again.
func onScreen(rows [][]any, height int) (shown [][]any, more string) {
	room := max(1, height-belowList)
	if height == 0 || len(rows) <= room {
		return rows, ""
	}
	return rows[:room], fmt.Sprintf("%d more: see --health, --name, --sort. ", len(rows)-room)
}
