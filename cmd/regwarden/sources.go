package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/scan"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// sourceFlags are the flags of commands that read definitions from files of other programs.
type sourceFlags struct {
	format, as string
	helpers    scan.Helpers
	allowFiles bool
}

func (f *sourceFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", "", "format of all files (default: detected from the content of each)")
	f.addConsumer(flags)
	flags.BoolVar(&f.allowFiles, "allow-files", false, "read files that the scanned files name outside of their directory")
}

// addConsumer adds the flags for choosing credentials.
func (f *sourceFlags) addConsumer(flags *pflag.FlagSet) {
	flags.StringVar(&f.as, "as", "", "consumer by whose rules credentials are chosen: docker, podman, kubelet, flux, argocd, helm or containerd (default: the format's)")
	flags.StringArrayVar(&f.helpers.Allowed, "allow-exec", nil, "credential helper that may be started, such as docker-credential-pass; repeatable")
}

// options returns how to read, and a usage error for values that do not exist. formatFlag is the flag of the format.
func (f *sourceFlags) options(ctx context.Context, formatFlag string) (o model.Options, err error) {
	if f.format != "" {
		if o.Format, err = definitions.KnownFormat(f.format); err != nil {
			return o, command.AsUsage(fmt.Errorf("%s: %w", formatFlag, err))
		}
	}
	if o.As = model.Consumer(f.as); f.as != "" && !slices.Contains(model.Consumers, o.As) {
		return o, command.AsUsage(fmt.Errorf("--as must be one of %s, not %q", strings.Join(model.ConsumerNames(), ", "), f.as))
	}
	if err := f.helpers.Check(); err != nil {
		return o, command.AsUsage(fmt.Errorf("--allow-exec %w", err))
	}
	if len(f.helpers.Allowed) > 0 {
		o.Helper = func(program, host string) (string, secret.String, error) { return f.helpers.Get(ctx, program, host) }
	}
	if f.allowFiles {
		o.ReadFile = scan.ReadFile
	}
	return o, nil
}

// read reads the files, directories or standard input of the arguments.
func (f *sourceFlags) read(cmd *cobra.Command, args []string) (model.Result, error) {
	ctx := cmd.Context()
	options, err := f.options(ctx, "--format")
	if err != nil {
		return model.Result{}, err
	}
	if at := slices.Index(args, scan.Stdin); at >= 0 && slices.Contains(args[at+1:], scan.Stdin) {
		return model.Result{}, command.AsUsage(errors.New("standard input can be given only once"))
	}
	result, err := scan.Read(ctx, args, command.UntilDone{Ctx: ctx, Source: cmd.InOrStdin()}, options)
	if err != nil && ctx.Err() == nil {
		err = command.AsUsage(err)
	}
	return result, err
}

// somePaths requires at least one path.
func somePaths(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.Usage(cmd, fmt.Errorf("%s requires files or directories, or - for standard input", command.ShortPath(cmd)))
	}
	return nil
}

// ended returns the error of a command that a signal ended, nil if none did.
func ended(ctx context.Context, text string) error {
	if cause, ok := errors.AsType[command.Interrupted](context.Cause(ctx)); ok {
		return fmt.Errorf("%w; %s", cause, text)
	}
	return nil
}

func newImport() *cobra.Command {
	var org string
	var sources sourceFlags
	dryRun := false
	cmd := adminCommand("import PATH… --org ORG", "Store the registry definitions in files of other programs", somePaths, true, func(a *admin, args []string) error {
		found, err := sources.read(a.cmd, args)
		if err != nil {
			return err
		}
		stored := registries.New(a.db, registries.Limits{}, time.Now)
		imported, err := stored.Import(a.ctx, a.operator, a.origin, org, found.Registries, dryRun)
		if err != nil && len(imported) == 0 {
			return err
		}
		return errors.Join(err, printImported(a, found, imported))
	})
	cmd.Long = `Import stores the definitions that "regwarden scan PATH…" finds, with encrypted secrets and an audit record each. Names are derived
from host and path. A definition that the organization already stores is not stored again. Unresolved definitions are listed and not
stored: their credentials are not in the files.`
	cmd.Example = `  regwarden import ./manifests --org Acme --dry-run
  regwarden import ./manifests --org Acme`
	flags := cmd.Flags()
	sources.addTo(flags)
	flags.BoolVar(&dryRun, "dry-run", false, "show what would be stored, and store nothing")
	orgFlag(&org, cmd)
	return cmd
}

// shownText returns a text of a file so that it controls neither a terminal nor a pipeline.
func shownText(text string) string { return regcheck.WithoutPipelineCommand(scan.Clean(text)) }

// printImported prints what happened to each definition, and problems of the files on standard error.
func printImported(a *admin, found model.Result, imported []registries.Imported) error {
	rows := make([][]any, len(imported))
	for i, r := range imported {
		of := found.Registries[i]
		rows[i] = []any{string(r.Result), shownText(r.Name), shownText(model.Address(of.Definition)), shownText(scan.Place(of.Sources[0])), r.UID, shownText(r.Detail)}
	}
	for _, p := range found.Problems {
		fmt.Fprintln(a.cmd.ErrOrStderr(), shownText(scan.Place(p.Source)+": "+p.Message))
	}
	return a.table([]string{"result", "name", "registry", "source", "uid", "detail"}, rows)
}
