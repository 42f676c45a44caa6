// Command demo runs regwarden next to registries on this machine: some are healthy and some fail, an alert is delivered, and a repository
// is scanned. Ctrl-C ends it and removes everything. Use: demo PATH-OF-REGWARDEN
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/regwarden/regwarden/regcheck/reporttext"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("give the path of regwarden, as make demo does")
	}
	d := &demo{out: os.Stdout, began: time.Now()}
	if d.program, err = filepath.Abs(args[0]); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "regwarden-demo-"); err != nil {
		return err
	}
	defer func() {
		_ = os.RemoveAll(d.dir)
		fmt.Fprintln(d.out, "\nThe demo has ended; its registries, service and data are removed.")
	}()
	defer d.stopService()
	for i, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"Start three registries with a private CA", d.startRegistries},
		{"Start regwarden", d.startService},
		{"Add a webhook for alerts", d.addWebhook},
		{"Store five registries and check them", d.storeRegistries},
		{"Change a password at a registry, and wait for the alert", d.rotate},
		{"Scan a repository with the files of Flux and docker", d.scan},
	} {
		fmt.Fprintf(d.out, "\n%d/6  %s\n", i+1, step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	d.showService()
	d.showAlerts(ctx)
	return nil
}

// demo is what runs, and where.
type demo struct {
	out          io.Writer
	program, dir string
	began        time.Time

	ca                      *authority
	charts, expiring, other *registry
	service                 *exec.Cmd
	url                     string
	hook                    webhook
	stored                  map[string]string // uids of registries by name
	connection
}

// result writes a text below a step, in rows that a narrow terminal does not break within a word.
func (d *demo) result(format string, args ...any) {
	indent := "     "
	for _, row := range reporttext.Wrap(fmt.Sprintf(format, args...), 72) {
		fmt.Fprintln(d.out, indent+row)
		indent = "       "
	}
}

// command runs regwarden as a user would, with its output in the terminal.
func (d *demo) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, d.program, args...) // #nosec G204 -- the program of the demo
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, d.out, os.Stderr
	cmd.Env = withoutSettings(cmd)
	return cmd.Run()
}
