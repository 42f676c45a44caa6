package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/secret"
)

// sourceFlags are the flags of commands that read definitions from files of other programs. They are registry.Sources.
type sourceFlags struct {
	format, as string
	helpers    scan.Helpers
	allowFiles bool
	exclude    []string
	since      string
	stdin      bytes.Buffer // a copy of standard input
	explain    bool         // keep how credentials were chosen
	all        bool         // directories
	known      bool         // leave out named files that no known program reads
	complete   func(*model.Result)
}

func (f *sourceFlags) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", "", "format of all files (default: detected from the content of each)")
	f.addConsumer(flags)
	flags.StringArrayVar(&f.exclude, "exclude", nil, "pattern of paths that are not read, as in .gitignore; repeatable")
	flags.BoolVar(&f.all, "all", false, "read directories of test data, documentation and vendored code too")
	flags.BoolVar(&f.allowFiles, "allow-files", false, "read files that the scanned files name outside of their directory")
}

// addConsumer adds the flags for choosing credentials.
func (f *sourceFlags) addConsumer(flags *pflag.FlagSet) {
	flags.StringVar(&f.as, "as", "", "consumer by whose rules credentials are chosen: docker, podman, kubelet, flux, argocd, helm or "+
		"containerd (default: the format's)")
	f.helpers.AddTo(flags)
}

// options returns how to read, and a usage error for values that do not exist. formatFlag is the flag of the format.
func (f *sourceFlags) options(ctx context.Context, formatFlag string) (o model.Options, err error) {
	o.FileTime = model.DefaultFileTime
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
	o.Explain, o.All, o.SkipUnknown = f.explain, f.all, f.known
	if f.allowFiles {
		o.ReadFile = scan.ReadFile
	}
	return o, nil
}

// Read reads the files, directories or standard input of the arguments.
func (f *sourceFlags) Read(cmd *cobra.Command, args []string) (model.Result, error) {
	ctx := cmd.Context()
	options, err := f.options(ctx, "--format")
	if err != nil {
		return model.Result{}, err
	}
	if at := slices.Index(args, scan.Stdin); at >= 0 && slices.Contains(args[at+1:], scan.Stdin) {
		return model.Result{}, command.AsUsage(errors.New("standard input can be given only once"))
	}
	read := scan.ReadOptions{Options: options, Exclude: f.exclude, Since: f.since, Stdin: &f.stdin, Complete: f.complete}
	result, err := scan.Read(ctx, args, cmd.InOrStdin(), read)
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
