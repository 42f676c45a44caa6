package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/internal/cli/serve"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// checkFlags are the flags of "regwarden check".
type checkFlags struct {
	command.DefinitionFlags
	engine engineFlags
	depth  depthFlags
	output string
	failOn command.FailOn

	registry, org string // a stored definition

	from    string // the format of a file of another program
	sources sourceFlags

	settings *settings.Settings
}

func newCheck() *cobra.Command {
	f := checkFlags{settings: settings.New()}
	cmd := &cobra.Command{
		Use:   "check REFERENCE…|FILE|-",
		Short: "Check that a registry works, without a server",
		Long: `Check uses a registry as a client would, and reports whether that works. REFERENCE is host[:port][/path][:tag][@digest]:
a registry, a repository, a prefix of repositories, or an artifact, whose manifest and layers must then exist. Several may be given.

FILE, or standard input if it is -, has a registry definition in the JSON format of the HTTP interface, or the same as YAML. An
argument is a file if that exists, if it begins with "." or "/", or if it ends in .json, .yaml or .yml; https://NAME is always a
reference. Flags add to a reference, replace fields of a file, or give all of a definition.

With --kind chartRepository, REFERENCE is the address of a Helm repository, as "helm repo add" takes it, and --content a chart, name or
name:version, that must be downloadable.

Without a scheme, HTTPS is used. On this machine (localhost, 127.0.0.1), plain HTTP follows if the server has no TLS, as docker does;
the report says so. The proxy in HTTPS_PROXY, HTTP_PROXY and NO_PROXY is used; the report says whether it was.

With --registry, the definition is a stored one with its secrets, which are used only with the stored endpoint and auth.tls. The
egress settings of the server then apply, as given in --config or the environment.

With --from, the definition is what a consumer such as docker would use for REFERENCE (host[:port]/path), given its file of
credentials: FILE, or the locations where the consumer looks. --explain shows how it is chosen.

Give the password in ` + command.EnvRegistryPassword + ` or with --password-stdin, the token in ` + command.EnvRegistryToken + ` or with
--token-stdin. They are not arguments, since every user of the machine can read those.

Exit codes: 0 valid, 1 what --fail-on names, 2 the definition or the command line cannot be used, 3 the definition could not be
checked, 130 interrupted, 143 terminated, 129 the terminal was closed.`,
		Example: `  regwarden check ghcr.io/stefanprodan/charts/podinfo:6.7.1
  regwarden check localhost:5000 ghcr.io docker.io/library/alpine:3.20 --depth full
  regwarden check registry.json --output json
  regwarden check harbor.example.com/charts --username 'robot$ci' --password-stdin --fail-on warning < password
  regwarden check https://charts.example.com/stable --kind chartRepository --content nginx:1.2.3
  regwarden check --from docker-config ghcr.io/acme/charts --explain
  regwarden check --registry harbor --org Acme --content charts/podinfo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.from == "" {
				return referencesOrFile(cmd, args)
			}
			return command.Reference(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return command.Unchecked(cmd.Context(), f.run(cmd, args))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.AddTo(flags)
	flags.BoolVar(&f.Ambient, "ambient", false, "obtain the credentials with what the environment has for AWS, Google or Azure")
	f.AddRenewedTo(flags)
	f.engine.addTo(flags, "environment; with --registry the server's")
	f.depth.addTo(flags)
	command.OutputFlag(cmd, &f.output)
	command.FailOnFlag(flags, &f.failOn, "exit code 1 for: notValid, warning (and notValid), or never",
		command.FailOnNotValid, command.FailOnWarning, command.FailOnNever)
	flags.StringVar(&f.registry, "registry", "", "name or uid of a stored registry")
	flags.StringVar(&f.org, "org", "", "name of the organization of --registry (default: the only one)")
	flagvalue.OneOf(flags, &f.from, "from", "", fromFormats,
		"format of a file of credentials: "+strings.Join(fromFormats, ", "))
	f.sources.addConsumer(flags)
	flags.BoolVar(&f.sources.explain, "explain", false, "show how the entry of --from is chosen")
	f.settings.AddTo(flags, settings.StoreFlags...)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	checker, err := f.engine.checker()
	if err != nil {
		return err
	}
	show := command.ReportOutput{Cmd: cmd, Format: f.output, NoColor: f.engine.noColor, FailOn: f.failOn,
		Activity: command.ActivityOn(os.Stderr)}
	if err := f.adjust(checker, show.Activity); err != nil {
		return err
	}
	if f.from != "" {
		return f.runFrom(show, checker, args)
	}
	if f.sources.explain || f.sources.as != "" || len(f.sources.helpers.Allowed) > 0 {
		return command.AsUsage(errors.New("--explain, --as and --allow-exec require --from"))
	}
	if f.registry != "" {
		return f.runStored(show, args)
	}
	if f.org != "" {
		return command.AsUsage(errors.New("--org requires --registry"))
	}
	return f.runGiven(show, checker, args)
}

// adjust sets what the flags say about the depth of the check, and about what the definition may use of the process.
func (f *checkFlags) adjust(checker *regcheck.Checker, activity *command.Activity) (err error) {
	if checker.Ambient, err = f.identity(); err != nil {
		return err
	}
	return f.depth.apply(checker, activity)
}

// identity returns what the definition may use of the process: what the user asks for with flags.
func (f *checkFlags) identity() (*regcheck.Ambient, error) {
	var helpers scan.Helpers
	if name := f.CredentialHelper(); name != "" {
		helpers.Allowed = []string{name}
	}
	if err := helpers.Check(); err != nil {
		return nil, command.AsUsage(fmt.Errorf("--credential-helper %w", err))
	}
	return command.Own(command.ProcessIdentity(f.Ambient), helpers.Get), nil
}

// runStored checks a stored definition, with fields replaced by the flags. It is audited, as every use of stored secrets is, and evaluates
// addresses as the server does: the user who stored the definition may read the report, and could otherwise have the operator
// contact what the server must not.
func (f *checkFlags) runStored(show command.ReportOutput, args []string) error {
	if len(args) > 0 || f.OnStdin() > 1 {
		return command.AsUsage(errors.New("--registry takes no reference and no file, and " +
			"standard input can be only one of: the password, the token, another secret"))
	}
	ctx := show.Cmd.Context()
	db, err := f.openStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	checker, err := f.serverChecker(show.Activity)
	if err != nil {
		return err
	}
	of, err := auth.OperatorOf(ctx, db, f.org)
	if err != nil {
		return err
	}
	stored := registries.New(db, registries.Limits{}, time.Now)
	opened, err := stored.Open(ctx, of, f.registry, func(d *regcheck.Definition) error {
		return command.AsUsage(f.Overlay(d, show.Cmd.InOrStdin()))
	})
	if err != nil {
		return err
	}
	show.Note = proxyNote(cmp.Or(f.engine.proxy, f.settings.EgressProxy), opened.Plan)
	return show.Check(opened.Plan.Endpoint(), func(observe regcheck.Observer) (*regcheck.Report, error) {
		request := checks.Request{Action: audit.RegistryDiagnose, Plan: opened.Plan, OrgUID: opened.Registry.OrgUID, Observe: observe}
		report, _, err := checks.New(db, stored, checker, checks.Limits{}, time.Now).Validate(ctx, operator, audit.CommandLine, request)
		return report, err
	})
}

// openStore opens the store of this machine, unless commands go to a server.
func (f *checkFlags) openStore(ctx context.Context) (*store.DB, error) {
	server, err := manage.ChosenServer(serve.Local(f.settings, currentVersion().Version))
	if err != nil {
		return nil, err
	}
	if server != "" {
		return nil, command.AsUsage(fmt.Errorf("--registry checks without a server, but %s is chosen; "+
			"use 'regwarden registry check %q', or name the local store with --data-dir", server, f.registry))
	}
	if err := f.settings.Load(os.Getenv); err != nil {
		return nil, err
	}
	return f.settings.OpenExisting(ctx)
}

// serverChecker returns the engine with the settings of the server, and with those of the flags.
func (f *checkFlags) serverChecker(activity *command.Activity) (*regcheck.Checker, error) {
	checker, err := serve.NewChecker(&f.settings.Config)
	if err != nil {
		return nil, err
	}
	if err := f.engine.apply(checker); err != nil {
		return nil, err
	}
	return checker, f.adjust(checker, activity)
}
