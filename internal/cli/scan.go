package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/regcheck"
)

// scanFlags are the flags of "regwarden scan".
type scanFlags struct {
	sources                      sourceFlags
	engine                       engineFlags
	list, showSecrets, showUsers bool
	explain                      bool
	output, failOn               string
	reports                      []string
	concurrency                  int
}

func newScan() *cobra.Command {
	f := scanFlags{}
	cmd := &cobra.Command{
		Use:   "scan PATH…|-",
		Short: "Check the registry definitions in files of other programs",
		Long: `Scan finds registry definitions in the files that teams already have: configurations of docker and podman, Kubernetes Secrets, Flux,
Argo CD, Helm, containerd, Terraform and others. It chooses credentials as the program that uses the file would, checks each
definition by using the registry, and reports file and line. PATH is a file or a directory; - is standard input. The format is
detected from the content.

Each definition is valid, not valid, or unresolved: its credentials exist, but not in what was read. Only credentials of the scanned
files are used, and each is sent only to the host that the file gives it to. With --list no registry is contacted.

Exit codes: 0 nothing that --fail-on names, 1 at least one, 2 the command line or a path cannot be used, 3 a definition could not be
checked, 130 interrupted, 143 terminated.`,
		Example: `  regwarden scan ./manifests
  kubectl get secrets,helmrepositories,ocirepositories -A -o yaml | regwarden scan -
  regwarden scan ~/.docker/config.json --as kubelet
  regwarden scan . --list`,
		Args: somePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.run(cmd, args)
			if _, ended := errors.AsType[command.Interrupted](err); ended {
				return err
			}
			return command.Unchecked(cmd.Context(), err)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.list, "list", false, "show what was found and what was skipped, and contact no registry")
	f.sources.AddTo(flags)
	flags.StringVar(&f.failOn, "fail-on", string(scan.NotValid), "exit code 1 for: notValid, warning (and notValid), unresolved (and warning), or never")
	flags.StringArrayVar(&f.reports, "report", nil, "write a report: KIND=FILE, or github for annotations on standard output; repeatable; kinds: "+strings.Join(scanreport.Kinds(), ", "))
	flagvalue.Number(flags, &f.concurrency, "concurrency", scan.DefaultConcurrency, 1, 64, "number of concurrent checks, 1–64")
	flags.BoolVar(&f.explain, "explain", false, "show how the consumer chooses the credentials")
	flags.BoolVar(&f.showUsers, "show-users", false, "show usernames")
	flags.BoolVar(&f.showSecrets, "show-secrets", false, "show secrets in the JSON of --list, for conversion")
	f.engine.addTo(flags)
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (f *scanFlags) run(cmd *cobra.Command, args []string) error {
	asJSON, err := command.WantsStructured(f.output)
	if err != nil {
		return err
	}
	failOn, err := scan.ParseLevel(f.failOn)
	if err != nil {
		return command.AsUsage(fmt.Errorf("--fail-on %w", err))
	}
	if f.showSecrets && !(f.list && asJSON) {
		return command.AsUsage(errors.New("--show-secrets requires --list and --output json"))
	}
	if f.explain && asJSON {
		return command.AsUsage(errors.New("--explain cannot be combined with --output json"))
	}
	reports, err := scan.ParseReports(f.reports, asJSON)
	if err != nil {
		return command.AsUsage(fmt.Errorf("--report %w", err))
	}
	checker, err := f.engine.checker()
	if err != nil {
		return err
	}
	f.sources.explain = f.explain
	result, err := f.sources.Read(cmd, args)
	if err != nil {
		return err
	}
	if !f.list {
		f.check(cmd.Context(), checker, &result)
	}
	if err := f.show(cmd, asJSON, result); err != nil {
		return err
	}
	options := scanreport.Options{Version: currentVersion().Version, ShowUsers: f.showUsers}
	if err := scan.WriteReports(cmd.OutOrStdout(), reports, os.Getenv("GITHUB_STEP_SUMMARY"), result, options); err != nil {
		return err
	}
	return scanError(cmd.Context(), failOn, result)
}

// check checks what was found, with the progress on a terminal.
func (f *scanFlags) check(ctx context.Context, checker *regcheck.Checker, result *model.Result) {
	checks := scan.Checks{Concurrency: f.concurrency, Check: func(ctx context.Context, d regcheck.Definition) (*regcheck.Report, error) {
		plan, err := d.Plan()
		if err != nil {
			return nil, err
		}
		return checker.Check(ctx, plan, nil)
	}}
	if terminal := command.PrinterTo(os.Stderr, f.engine.noColor); command.IsTerminal(os.Stderr) && os.Getenv("TERM") != "dumb" {
		var remove func()
		checks.Progress, remove = scan.ProgressLine(os.Stderr, terminal.Width)
		defer remove()
	}
	checks.Run(ctx, result)
}

// show writes the result to standard output.
func (f *scanFlags) show(cmd *cobra.Command, asJSON bool, result model.Result) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return scan.WriteJSON(out, result, f.showSecrets)
	}
	terminal := command.PrinterTo(out, f.engine.noColor)
	return scan.Text{Color: terminal.Color, Width: terminal.Width, List: f.list, Users: f.showUsers, Steps: f.explain}.Write(out, result)
}

// scanError returns the error for the exit code of a scan whose result was shown.
func scanError(ctx context.Context, failOn scan.Level, result model.Result) error {
	notDone := scan.NotChecked(result)
	switch err := ended(ctx, fmt.Sprintf("not checked: %d", notDone)); {
	case err != nil:
		return err
	case scan.FailsAt(failOn, result):
		return command.ErrNotValid
	case notDone > 0:
		return command.NotChecked{Err: fmt.Errorf("definitions that could not be checked: %d", notDone)}
	}
	return nil
}
