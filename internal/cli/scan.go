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
	past                         pastFlags
	artifact                     depthFlags
	list, showSecrets, showUsers bool
	references, ambient          bool
	summary, verbose             bool
	ca                           string
	output                       string
	failOn                       command.FailOn
	reports                      []string
	concurrency                  int
}

func newScan() *cobra.Command {
	f := scanFlags{}
	cmd := &cobra.Command{
		Use:   "scan PATH…|-",
		Short: "Check the registry definitions in files of other programs",
		Long: `Scan finds registry definitions in the files that teams already have: configurations of docker and podman, Kubernetes
Secrets, Flux, Argo CD, Helm, containerd, Terraform and others. It chooses credentials as the program that uses the file would, checks each
definition by using the registry, and reports file and line. PATH is a file or a directory; - is standard input. The format is
detected from the content.

Each definition is valid, not valid, or unresolved: its credentials exist, but not in what was read. Only credentials of the scanned
files are used, and each is sent only to the host that the file gives it to. With --list no registry is contacted.

Exit codes: 0 nothing that --fail-on names, 1 at least one, 2 the command line or a path cannot be used, 3 a definition could not be
checked, 130 interrupted, 143 terminated, 129 the terminal was closed.`,
		Example: `  regwarden scan ./manifests
  kubectl get secrets,helmrepositories,ocirepositories -A -o yaml | regwarden scan -
  regwarden scan ~/.docker/config.json --as kubelet
  regwarden scan . --list
  regwarden scan . --write-baseline .regwarden-baseline.json
  regwarden scan . --baseline .regwarden-baseline.json --since origin/main`,
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
	flags.BoolVar(&f.references, "references", false, "check images and charts that are used without credentials too")
	f.artifact.addPlatform(flags)
	flags.BoolVar(&f.ambient, "ambient", false,
		"use credentials of the environment where a program has an identity at AWS, Google or Azure")
	f.sources.AddTo(flags)
	f.past.addTo(flags)
	flags.BoolVar(&f.sources.known, "skip-unknown", false, "leave out named files that no known program reads")
	_ = flags.MarkHidden("skip-unknown") // it is for deploy/ci/pre-commit; fails only without the flag
	flags.StringVar(&f.sources.since, "since", "", "revision of git: only what is in files that changed since then, or depends on one")
	command.FailOnFlag(flags, &f.failOn,
		"exit code 1 for: notValid (or error), warning (and notValid), unresolved (and warning), notice (and unresolved), or never",
		command.FailOnNotValid, command.FailOnError, command.FailOnWarning, command.FailOnUnresolved, command.FailOnNotice,
		command.FailOnNever)
	flags.BoolVar(&f.summary, "summary", false, "show causes with their first places only")
	flags.BoolVar(&f.verbose, "verbose", false, "count the files that define nothing, and name the directories that are left out")
	kinds := strings.Join(scanreport.Kinds(), ", ")
	flags.StringArrayVar(&f.reports, "report", nil,
		"write a report: KIND=FILE, or github for annotations on standard output; repeatable; kinds: "+kinds)
	flagvalue.Number(flags, &f.concurrency, "concurrency", scan.DefaultConcurrency, 1, 64, "number of concurrent checks, 1–64")
	flags.BoolVar(&f.sources.explain, "explain", false, "show how the consumer chooses the credentials")
	flags.BoolVar(&f.showUsers, "show-users", false, "show usernames")
	flags.BoolVar(&f.showSecrets, "show-secrets", false, "show secrets in the JSON and YAML of --list, for conversion")
	flags.StringVar(&f.ca, "ca", "", "file of CA certificates (PEM) to trust in addition for all definitions")
	f.engine.addTo(flags, "environment")
	command.OutputFlag(cmd, &f.output)
	_ = cmd.RegisterFlagCompletionFunc("report", completeReport) // fails only without the flag
	return cmd
}

func (f *scanFlags) run(cmd *cobra.Command, args []string) error {
	structured := command.IsStructured(f.output)
	reports, err := f.readFlags(structured)
	if err != nil {
		return command.AsUsage(err)
	}
	checker, err := f.checker()
	if err != nil {
		return err
	}
	ca, err := readCA(f.ca)
	if err != nil {
		return err
	}
	result, err := f.find(cmd, args)
	if err != nil {
		return err
	}
	if !f.list {
		f.check(cmd.Context(), checker, ca, &result)
	}
	past := f.past.apply(cmd, f.sources.stdin.Bytes(), &result)
	if err := f.show(cmd, structured, result); err != nil {
		return errors.Join(past, err)
	}
	options := scanreport.Options{Version: currentVersion().Version, ShowUsers: f.showUsers}
	if err := scan.WriteReports(cmd.OutOrStdout(), reports, os.Getenv("GITHUB_STEP_SUMMARY"), result, options); err != nil {
		return errors.Join(past, err)
	}
	return scanError(cmd.Context(), f.failOn, result, past)
}

// readFlags refuses flags that cannot be combined, and reads the baseline.
func (f *scanFlags) readFlags(structured bool) ([]scan.Report, error) {
	if f.showSecrets && !(f.list && structured) {
		return nil, errors.New("--show-secrets requires --list, and --output json or yaml")
	}
	if (f.sources.explain || f.summary || f.verbose) && structured {
		return nil, fmt.Errorf("--explain, --summary and --verbose cannot be combined with --output %s", f.output)
	}
	reports, err := scan.ParseReports(f.reports, structured)
	if err != nil {
		return nil, fmt.Errorf("--report %w", err)
	}
	return reports, f.past.read()
}

func (f *scanFlags) checker() (*regcheck.Checker, error) {
	checker, err := f.engine.checker()
	if err != nil {
		return nil, err
	}
	checker.Ambient = command.ProcessIdentity(f.ambient)
	return checker, f.artifact.apply(checker, nil)
}

// find reads the files. Flags make more of what they have definitions to check.
func (f *scanFlags) find(cmd *cobra.Command, args []string) (model.Result, error) {
	var use func(*regcheck.Definition) error
	if f.ambient {
		use = command.UseAmbient
	}
	f.sources.complete = func(result *model.Result) {
		scan.Ambient(result, use)
		if f.references {
			scan.CheckReferences(result)
		}
	}
	return f.sources.Read(cmd, args)
}

// check checks what was found, with the progress on a terminal.
func (f *scanFlags) check(ctx context.Context, checker *regcheck.Checker, ca string, result *model.Result) {
	checks := scan.Checks{Concurrency: f.concurrency, Audience: checker.Audience, CA: ca}
	checks.Check = func(ctx context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
		report, err := checker.Check(ctx, plan, nil)
		if err == nil {
			command.AddNotes(report, proxyNote(f.engine.proxySetting(), plan))
		}
		return report, err
	}
	if terminal := command.PrinterTo(os.Stderr, f.engine.noColor); command.IsTerminal(os.Stderr) && os.Getenv("TERM") != "dumb" {
		var remove func()
		checks.Progress, remove = scan.ProgressLine(os.Stderr, terminal.Width)
		defer remove()
	}
	checks.Run(ctx, result)
}

// show writes the result to standard output.
func (f *scanFlags) show(cmd *cobra.Command, structured bool, result model.Result) error {
	if structured {
		return command.PrintStructured(cmd, f.output, scan.Shown(result, f.showSecrets))
	}
	out := cmd.OutOrStdout()
	terminal := command.PrinterTo(out, f.engine.noColor)
	return scan.Text{Color: terminal.Color, Width: terminal.Width, List: f.list, Users: f.showUsers, Steps: f.sources.explain,
		Summary: f.summary, Verbose: f.verbose}.Write(out, result)
}

// scanError returns the error for the exit code of a scan whose result was shown. past is that of the baseline.
func scanError(ctx context.Context, failOn command.FailOn, result model.Result, past error) error {
	notDone := scan.NotChecked(result)
	switch err := ended(ctx, fmt.Sprintf("not checked: %d", notDone)); {
	case err != nil:
		return err
	case past != nil:
		return past
	case failsAt(failOn, result):
		return command.ErrNotValid
	case notDone > 0:
		return command.NotChecked{Err: fmt.Errorf("definitions that could not be checked: %d", notDone)}
	}
	return nil
}
