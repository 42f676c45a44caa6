package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/regcheck"
)

// Bounds of --timeout.
const (
	minTimeout = time.Second
	maxTimeout = time.Minute
)

// checkFlags are the flags of "regwarden check".
type checkFlags struct {
	command.DefinitionFlags
	engine engineFlags
	depth  depthFlags
	output string

	registry, org string // a stored definition

	from    string // the format of a file of another program
	sources sourceFlags
	explain bool

	settings *settings
}

func newCheck() *cobra.Command {
	f := checkFlags{settings: newSettings()}
	cmd := &cobra.Command{
		Use:   "check [FILE|-] [REFERENCE]",
		Short: "Check an OCI registry definition, without a server",
		Long: `Check reads a registry definition in the JSON format of the HTTP interface, or the same as YAML, from FILE, or from standard input
if FILE is -, and reports whether it is valid by using the registry. Flags replace fields of the definition, or give all of it. With --registry,
the definition is a stored one with its secrets, which are used only with the stored endpoint and auth.tls. The egress settings of
the server then apply, as given in --config or the environment.

With --from, the definition is what a consumer such as docker would use for REFERENCE (host[:port]/path), given its file of
credentials: FILE, or the locations where the consumer looks. --explain shows how it is chosen.

Give the password in ` + command.EnvRegistryPassword + ` or with --password-stdin, the token in ` + command.EnvRegistryToken + ` or with
--token-stdin. They are not arguments, since every user of the machine can read those.

Exit codes: 0 valid, 1 not valid, 2 the definition or the command line cannot be used, 3 the definition could not be
checked, 130 interrupted, 143 terminated.`,
		Example: `  regwarden check --endpoint ghcr.io --content stefanprodan/charts/podinfo
  regwarden check --endpoint ghcr.io --content stefanprodan/charts/podinfo:6.7.1 --depth full
  regwarden check registry.json --output json
  regwarden check --endpoint harbor.example.com --username 'robot$ci' --password-stdin < password
  regwarden check --from docker-config ghcr.io/acme/charts --explain
  regwarden check --registry harbor --org Acme --content charts/podinfo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.from == "" {
				return command.OneFile(cmd, args)
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
	f.engine.addTo(flags)
	f.depth.addTo(flags)
	command.OutputFlag(cmd, &f.output)
	flags.StringVar(&f.registry, "registry", "", "name or uid of a stored registry")
	flags.StringVar(&f.org, "org", "", "name of the organization of --registry (default: the only one)")
	flags.StringVar(&f.from, "from", "", "format of a file of credentials: docker-config, docker-auth-config-env, dockercfg or containers-auth")
	f.sources.addConsumer(flags)
	flags.BoolVar(&f.explain, "explain", false, "show how the entry of --from is chosen")
	f.settings.addTo(flags, storeFlags...)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	asJSON, err := command.WantsJSON(f.output)
	if err != nil {
		return err
	}
	checker, err := f.engine.checker()
	if err != nil {
		return err
	}
	show := command.ReportOutput{Cmd: cmd, JSON: asJSON, NoColor: f.engine.noColor}
	if show.BeforeStage, err = f.depth.apply(checker, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if f.from != "" {
		return f.runFrom(show, checker, args)
	}
	if f.explain || f.sources.as != "" || len(f.sources.helpers.Allowed) > 0 {
		return command.AsUsage(errors.New("--explain, --as and --allow-exec require --from"))
	}
	if f.registry != "" {
		return f.runStored(show, args)
	}
	if f.org != "" {
		return command.AsUsage(errors.New("--org requires --registry"))
	}
	if len(args) == 0 {
		show.Field, checker.Audience.Field = command.DefinitionFlag, command.DefinitionFlag
	}
	definition, err := f.Definition(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	return show.Check(definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		plan, err := definition.Plan()
		if err != nil {
			return nil, err
		}
		return checker.Check(cmd.Context(), plan, observe)
	})
}

// runStored checks a stored definition, with fields replaced by the flags. It is audited, as every use of stored secrets is, and evaluates
// addresses as the server does: the user who stored the definition may read the report, and could otherwise have the operator
// contact what the server must not.
func (f *checkFlags) runStored(show command.ReportOutput, args []string) error {
	if len(args) > 0 || f.PasswordStdin && f.TokenStdin {
		return command.AsUsage(errors.New("--registry takes no definition file, and standard input can be only one of: the password, the token"))
	}
	server, err := manage.ChosenServer(localService{f.settings})
	if err != nil {
		return err
	}
	if server != "" {
		return command.AsUsage(fmt.Errorf("--registry checks without a server, but %s is chosen; "+
			"use 'regwarden registry check %q', or name the local store with --data-dir", server, f.registry))
	}
	ctx := show.Cmd.Context()
	db, err := f.settings.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	checker, err := newChecker(f.settings.Config)
	if err != nil {
		return err
	}
	if err := f.engine.apply(checker); err != nil {
		return err
	}
	if show.BeforeStage, err = f.depth.apply(checker, show.Cmd.ErrOrStderr()); err != nil {
		return err
	}
	stored := registries.New(db, registries.Limits{}, time.Now)
	opened, err := stored.Open(ctx, operator, f.org, f.registry, func(d *regcheck.Definition) error {
		return command.AsUsage(f.Overlay(d, show.Cmd.InOrStdin()))
	})
	if err != nil {
		return err
	}
	return show.Check(opened.Definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		report, _, err := checks.New(db, stored, checker, checks.Limits{}, time.Now).Validate(ctx, operator, commandLine, checks.Request{
			Action: audit.RegistryDiagnose, Definition: registries.SentDefinition{Definition: opened.Definition}, OrgUID: opened.Registry.OrgUID, Observe: observe,
		})
		return report, err
	})
}

// notWithFrom are the flags whose values --from finds in the file.
var notWithFrom = []string{"endpoint", "base-path", "content", "reference", "auth-type",
	"username", "password-stdin", "token-stdin", "registry", "org"}

// runFrom checks the definition that a consumer uses for a reference.
func (f *checkFlags) runFrom(show command.ReportOutput, checker *regcheck.Checker, args []string) error {
	for _, name := range notWithFrom {
		if show.Cmd.Flag(name).Changed {
			return command.AsUsage(fmt.Errorf("--from cannot be combined with --%s", name))
		}
	}
	found, steps, err := f.lookup(show.Cmd, args)
	if err != nil {
		return command.AsUsage(err)
	}
	notes := show.Cmd.OutOrStdout()
	if show.JSON {
		notes = show.Cmd.ErrOrStderr()
	}
	if !f.explain {
		steps = nil
	}
	for _, n := range found.Notices {
		steps = append(steps, fmt.Sprintf("%s: %s", n.Code, n.Message))
	}
	for _, step := range steps {
		fmt.Fprintln(notes, scan.Clean(step))
	}
	if found.Resolution == model.Unresolved {
		return fmt.Errorf("unresolved (%s): %s", found.Reason, scan.Clean(string(found.Detail)))
	}
	if err := command.AsUsage(f.OverlayTLS(found.Definition.Auth)); err != nil {
		return err
	}
	command.Set(&found.Definition.ProviderType, regcheck.ProviderType(f.Provider))
	if err := command.DefinitionProblems(nil, found.Definition.Problems(), command.FieldProblem); err != nil {
		return err
	}
	return show.Check(found.Definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		plan, err := found.Definition.Plan()
		if err != nil {
			return nil, err
		}
		return checker.Check(show.Cmd.Context(), plan, observe)
	})
}

// lookup returns the definition for the reference, which is the last argument, and the reasoning.
func (f *checkFlags) lookup(cmd *cobra.Command, args []string) (model.Registry, []string, error) {
	ctx := cmd.Context()
	f.sources.format = f.from
	options, err := f.sources.options(ctx, "--from")
	if err != nil {
		return model.Registry{}, nil, err
	}
	file := ""
	if len(args) == 2 {
		file = args[0]
	}
	home, _ := os.UserHomeDir() // without one, locations below it do not exist
	environment := model.Environment{OS: runtime.GOOS, Getenv: os.Getenv, Home: home, UID: os.Getuid()}
	return scan.Lookup(file, args[len(args)-1], cmd.InOrStdin(), options, environment)
}

// engineFlags are the flags of commands that check without a server.
type engineFlags struct {
	proxy, proxyConnect string
	timeout             time.Duration
	noColor             bool
}

func (f *engineFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.proxy, "egress-proxy", "", proxyUsage+" (default: environment; with --registry the server's)")
	flags.StringVar(&f.proxyConnect, "egress-proxy-connect", "", "what the proxy connects to: address (resolved and checked here) or name (default: address for https, name for http)")
	flagvalue.Duration(flags, &f.timeout, "timeout", 30*time.Second, minTimeout, maxTimeout, "", "maximum duration of a check, 1s–60s")
	flags.BoolVar(&f.noColor, "no-color", false, "disable color on terminals")
}

// checker returns the engine with the address policy of the command line, and with the proxy of the environment, as other tools there
// have it.
func (f engineFlags) checker() (*regcheck.Checker, error) {
	f.proxy = cmp.Or(f.proxy, proxyFromEnvironment)
	checker := &regcheck.Checker{Egress: egress.ForCommandLine(), Audience: wording.CommandLine()}
	return checker, f.apply(checker)
}

// apply sets what the flags set.
func (f *engineFlags) apply(checker *regcheck.Checker) error {
	if !isProxyConnect(f.proxyConnect) {
		return command.AsUsage(errors.New("--egress-proxy-connect must be address or name"))
	}
	proxy, err := proxyFunc(f.proxy)
	if err != nil {
		return command.AsUsage(err)
	}
	checker.Limits.Total = f.timeout
	if f.proxy != "" {
		checker.Proxy = proxy
	}
	if f.proxyConnect != "" {
		checker.ProxyConnect = proxyConnects[f.proxyConnect]
	}
	return nil
}
