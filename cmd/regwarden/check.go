package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/checks"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/wording"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Secrets of a definition come from the environment, a file or standard input: every user of the machine can read arguments.
const (
	envRegistryPassword = envPrefix + "REGISTRY_PASSWORD"
	envRegistryToken    = envPrefix + "REGISTRY_TOKEN"
)

// maxDefinition is the maximum size of a definition file, as of a body of the HTTP interface.
const maxDefinition = 1 << 20

// Bounds of --timeout.
const (
	minTimeout = time.Second
	maxTimeout = time.Minute
)

// checkFlags are the flags of "regwarden check".
type checkFlags struct {
	endpoint, basePath, content, provider string
	authType, username                    string
	passwordStdin, tokenStdin             bool
	caFile, certFile, keyFile             string
	insecure                              bool
	proxy, proxyConnect                   string
	timeout                               time.Duration
	noColor                               bool
	output                                string

	registry, org string // a stored definition
	settings      *settings
}

func newCheck() *cobra.Command {
	f := checkFlags{settings: newSettings()}
	cmd := &cobra.Command{
		Use:   "check [FILE|-]",
		Short: "Check an OCI registry definition, without a server",
		Long: `Check reads a registry definition in the JSON format of the HTTP interface from FILE, or from standard input if FILE is -,
and reports whether it is valid by using the registry. Flags replace fields of the definition, or give all of it. With --registry,
the definition is a stored one with its secrets, which are used only with the stored endpoint and auth.tls. The egress settings of
the server then apply, as given in --config or the environment.

Give the password in ` + envRegistryPassword + ` or with --password-stdin, the token in ` + envRegistryToken + ` or with
--token-stdin. They are not arguments, since every user of the machine can read those.

Exit codes: 0 valid, 1 not valid, 2 the definition or the command line cannot be used, 3 the definition could not be
checked, 130 interrupted, 143 terminated.`,
		Example: `  regwarden check --endpoint ghcr.io --content stefanprodan/charts/podinfo
  regwarden check registry.json --output json
  regwarden check --endpoint harbor.example.com --username 'robot$ci' --password-stdin < password
  regwarden check --registry harbor --org Acme --content charts/podinfo`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return unchecked(cmd.Context(), f.run(cmd, args)) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.endpoint, "endpoint", "", "[scheme://]host[:port][/path]")
	flags.StringVar(&f.basePath, "base-path", "", "path of the API before /v2/")
	flags.StringVar(&f.content, "content", "", "repository, or prefix of repositories, that must be readable (field baseContentPath)")
	flags.StringVar(&f.provider, "provider-type", "", "type of the provider: helm, zarf or pack (default helm)")
	flags.StringVar(&f.authType, "auth-type", "", "type of authentication: noAuth, basic or token (default: depends on the given credentials)")
	flags.StringVar(&f.username, "username", "", "username at the registry")
	flags.BoolVar(&f.passwordStdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&f.tokenStdin, "token-stdin", false, "read the token from standard input")
	flags.StringVar(&f.caFile, "ca", "", "file of CA certificates (PEM) to trust in addition to the system's")
	flags.StringVar(&f.certFile, "cert", "", "file of the client certificate (PEM)")
	flags.StringVar(&f.keyFile, "key", "", "file of the client certificate's key (PEM)")
	flags.BoolVar(&f.insecure, "insecure-skip-verify", false, "do not verify the registry's certificate")
	flags.StringVar(&f.proxy, "egress-proxy", "", "proxy for outgoing connections: a URL, or 'environment' for HTTPS_PROXY and NO_PROXY")
	flags.StringVar(&f.proxyConnect, "egress-proxy-connect", "", "what the proxy connects to: address (resolved and checked here) or name (default: address for https, name for http)")
	durationVar(flags, &f.timeout, "timeout", 30*time.Second, minTimeout, maxTimeout, "", "maximum duration of the check, 1s–60s")
	flags.BoolVar(&f.noColor, "no-color", false, "disable color on terminals")
	outputFlag(cmd, &f.output)
	flags.StringVar(&f.registry, "registry", "", "name or uid of a stored registry")
	flags.StringVar(&f.org, "org", "", "name of the organization of --registry")
	f.settings.addTo(flags, storeFlags...)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	asJSON, err := wantsJSON(f.output)
	if err != nil {
		return err
	}
	if !isProxyConnect(f.proxyConnect) {
		return usageError{errors.New("--egress-proxy-connect must be address or name")}
	}
	show := shown{cmd: cmd, asJSON: asJSON, noColor: f.noColor}
	if f.registry != "" {
		return f.runStored(show, args)
	}
	checker, err := f.checker()
	if err != nil {
		return err
	}
	if f.org != "" {
		return usageError{errors.New("--org requires --registry")}
	}
	if len(args) == 0 {
		show.field, checker.Words.Field = flagOf, flagOf
	}
	definition, err := f.definition(cmd.Context(), cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	return show.check(definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		return checker.Check(cmd.Context(), definition, observe)
	})
}

// runStored checks a stored definition, with fields replaced by the flags. It is audited, as every use of stored secrets is, and evaluates
// addresses as the server does: the user who stored the definition may read the report, and could otherwise have the operator
// contact what the server must not.
func (f *checkFlags) runStored(show shown, args []string) error {
	if len(args) > 0 || f.passwordStdin && f.tokenStdin {
		return usageError{errors.New("--registry takes no definition file, and standard input can be only one of: the password, the token")}
	}
	ctx := show.cmd.Context()
	db, err := f.settings.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	checker, err := newChecker(f.settings.Config)
	if err != nil {
		return err
	}
	checker.Limits.Total = f.timeout
	if f.proxy != "" {
		if checker.Proxy, err = proxyFunc(f.proxy); err != nil {
			return usageError{err}
		}
	}
	if f.proxyConnect != "" {
		checker.ProxyConnect = proxyConnects[f.proxyConnect]
	}
	stored := registries.New(db, registries.Limits{}, time.Now)
	opened, err := stored.Open(ctx, operator, f.org, f.registry, func(d *regcheck.Definition) error {
		return asUsage(f.overlay(d, show.cmd.InOrStdin()))
	})
	if err != nil {
		return err
	}
	return show.check(opened.Definition.Endpoint, func(observe regcheck.Observer) (*regcheck.Report, error) {
		report, _, err := checks.New(db, stored, checker, checks.Limits{}, time.Now).Validate(ctx, operator, commandLine, checks.Request{
			Action: audit.RegistryDiagnose, Definition: registries.SentDefinition{Definition: opened.Definition}, OrgUID: opened.Registry.OrgUID, Observe: observe,
		})
		return report, err
	})
}

func asUsage(err error) error {
	if _, ended := errors.AsType[interrupted](err); ended || err == nil {
		return err
	}
	return usageError{err}
}

// shown shows the report of a check.
type shown struct {
	cmd             *cobra.Command
	asJSON, noColor bool
	field           func(path string) string // as regcheck.Words.Field
}

// check runs a check and shows its stages as they end, or JSON at the end. It returns errNotValid if the definition is not valid.
func (s shown) check(endpoint string, run func(regcheck.Observer) (*regcheck.Report, error)) error {
	var printer *regcheck.Printer
	var observe regcheck.Observer
	if !s.asJSON {
		printer = printerTo(s.cmd.OutOrStdout(), s.noColor)
		printer.Field = s.field
		printer.Start(endpoint)
		observe = printer.Observe
	}
	report, err := run(observe)
	if problems, ok := errors.AsType[*regcheck.DefinitionError](err); ok {
		return definitionProblems(nil, problems.Problems, fieldProblem)
	}
	if err != nil {
		return fmt.Errorf("check registry: %w", err)
	}
	if s.asJSON {
		err = printJSON(s.cmd, report)
	} else {
		err = printer.Finish(report)
	}
	if err == nil && !report.Valid {
		return errNotValid
	}
	return err
}

func (f *checkFlags) checker() (*regcheck.Checker, error) {
	checker := &regcheck.Checker{Egress: egress.ForCommandLine(), ProxyConnect: proxyConnects[f.proxyConnect], Words: wording.Engine()}
	checker.Limits.Total = f.timeout
	proxy, err := proxyFunc(f.proxy)
	if err != nil {
		return nil, usageError{err}
	}
	checker.Proxy = proxy
	return checker, nil
}

// unchecked returns the error of a check without a result, for its exit code: a signal ended it, or it failed.
func unchecked(ctx context.Context, err error) error {
	_, usage := errors.AsType[usageError](err)
	if err == nil || usage || errors.Is(err, errNotValid) || fault.KindOf(err) == fault.Invalid {
		return err
	}
	if cause, ok := errors.AsType[interrupted](context.Cause(ctx)); ok {
		return fmt.Errorf("check %w; no result", cause)
	}
	return notChecked{err}
}

// definition reads the file, replaces fields by the flags, and reports all problems at once.
func (f *checkFlags) definition(ctx context.Context, stdin io.Reader, args []string) (regcheck.Definition, error) {
	var d regcheck.Definition
	if len(args) == 0 && f.endpoint == "" {
		return d, usageError{errors.New("give a definition file, - for standard input, or --endpoint\nSee 'regwarden check --help'")}
	}
	if f.passwordStdin && f.tokenStdin || len(args) == 1 && args[0] == "-" && (f.passwordStdin || f.tokenStdin) {
		return d, usageError{errors.New("standard input can be only one of: the definition, the password, the token")}
	}
	var wrong []fault.Field
	if len(args) == 1 {
		data, err := readDefinition(ctx, args[0], stdin)
		if err != nil {
			return d, err
		}
		var sent api.OCIRegistryDefinition
		if wrong, err = strictjson.Decode(data, &sent); err != nil {
			return d, unreadable(args[0], err)
		}
		wrong = fault.Join(wrong, registries.LabelProblems(sent.RegistryUID, sent.Scope))
		d = sent.Definition
		d.NoteUnknown(strictjson.Unknown(data, new(api.OCIRegistryRequestSpec)))
	}
	if err := asUsage(f.overlay(&d, stdin)); err != nil {
		return d, err
	}
	show := fieldProblem
	if len(args) == 0 {
		show = flagProblem
	}
	return d, definitionProblems(wrong, slices.Concat(d.Unknown, d.Problems()), show)
}

// fieldProblem returns a problem of a definition that was not given by flags.
func fieldProblem(p fault.Field) string { return p.Field + ": " + p.Problem }

// definitionProblems returns the usage error that lists the problems of a definition, nil if there are none.
func definitionProblems(wrong []fault.Field, problems []regcheck.Problem, show func(fault.Field) string) error {
	more := make([]fault.Field, len(problems))
	for i, p := range problems {
		more[i] = fault.Field{Field: p.Field, Problem: p.Problem}
	}
	all := fault.Join(wrong, more)
	if len(all) == 0 {
		return nil
	}
	text := "the definition is not usable:"
	for _, p := range all {
		text += "\n  " + show(p)
	}
	return usageError{errors.New(text)}
}

// unreadable describes why a definition file is not unambiguous JSON.
func unreadable(name string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) != 1 || f.Fields[0].Field != strictjson.Body {
		return err
	}
	problem := f.Fields[0].Problem
	if extension := filepath.Ext(name); strings.HasPrefix(problem, "is not valid JSON") && (extension == ".yaml" || extension == ".yml") {
		problem = "is not JSON, the format of definitions"
	}
	if name == "-" {
		name = "standard input"
	}
	return usageError{fmt.Errorf("%s %s", name, problem)}
}

func readDefinition(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	source := io.Reader(untilDone{ctx, stdin})
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError{fmt.Errorf("cannot read %s: no such file; to check a registry by its address: regwarden check --endpoint %[1]s", name)}
		}
		if err != nil {
			return nil, usageError{err}
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxDefinition+1))
	if err == nil && len(data) > maxDefinition {
		err = fmt.Errorf("%s is larger than 1 MiB, the limit of a definition file", name)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return data, asUsage(err)
}

// overlay replaces fields of the definition by the flags and the environment.
func (f *checkFlags) overlay(d *regcheck.Definition, stdin io.Reader) error {
	if d.Auth == nil {
		d.Auth = &regcheck.Auth{}
	}
	a := d.Auth
	set(&d.Endpoint, f.endpoint)
	set(&d.BasePath, f.basePath)
	set(&d.BaseContentPath, f.content)
	set(&d.ProviderType, regcheck.ProviderType(f.provider))
	set(&a.Type, regcheck.AuthType(f.authType))
	set(&a.Username, f.username)
	set(&a.Password, secret.String(os.Getenv(envRegistryPassword)))
	set(&a.Token, secret.String(os.Getenv(envRegistryToken)))
	if f.insecure {
		a.TLS.Enabled, a.TLS.InsecureSkipVerify = true, true
	}
	var key string
	for _, file := range []struct {
		flag, name string
		into       *string
	}{{"ca", f.caFile, &a.TLS.CA}, {"cert", f.certFile, &a.TLS.Certificate}, {"key", f.keyFile, &key}} {
		if file.name == "" {
			continue
		}
		data, err := readFlagFile(file.flag, file.name)
		if err != nil {
			return err
		}
		a.TLS.Enabled, *file.into = true, string(data)
	}
	set(&a.TLS.Key, secret.String(key))
	if !f.passwordStdin && !f.tokenStdin {
		return nil
	}
	prompt, into := "Password: ", &a.Password
	if f.tokenStdin {
		prompt, into = "Token: ", &a.Token
	}
	var err error
	*into, err = readSecret(stdin, prompt)
	return err
}

// set sets a field unless the value is empty.
func set[T ~string](field *T, value T) {
	if value != "" {
		*field = value
	}
}
