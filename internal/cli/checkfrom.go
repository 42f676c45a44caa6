package cli

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/regcheck"
)

// fromFormats are the formats of --from: those in which a consumer looks for the credentials of a reference.
var fromFormats = []string{"docker-config", "docker-auth-config-env", "dockercfg", "containers-auth"}

// notWithFrom are the flags whose values --from finds in the file.
var notWithFrom = []string{"endpoint", "base-path", "content", "reference", "auth-type", "username", "password-stdin", "token-stdin",
	"registry", "org", "ambient", "credential-helper", "password-file", "token-file", "aws-access-key", "aws-secret-key-stdin",
	"aws-ambient", "aws-role", "aws-external-id",
	"gcp-service-account", "azure-tenant", "azure-client", "azure-client-secret-stdin", "github-app", "github-installation",
	"github-private-key"}

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
	if !f.sources.explain {
		steps = nil
	}
	printSteps(show, steps, found.Notices)
	if found.Resolution == model.Unresolved {
		return fmt.Errorf("unresolved (%s): %s", found.Reason, scan.Clean(string(found.Detail)))
	}
	if err := command.AsUsage(f.OverlayTLS(found.Definition.Auth)); err != nil {
		return err
	}
	command.Set(&found.Definition.ProviderType, regcheck.ProviderType(f.Provider))
	plan, problems := regcheck.Parse(found.Definition)
	if len(problems) > 0 {
		return command.DefinitionProblems(nil, problems, command.FieldProblem)
	}
	show.Note = proxyNote(f.engine.proxySetting(), plan)
	return show.Check(plan.Endpoint(), func(observe regcheck.Observer) (*regcheck.Report, error) {
		return checker.Check(show.Cmd.Context(), plan, observe)
	})
}

// printSteps prints how an entry was chosen, and its notices, where they do not disturb the report.
func printSteps(show command.ReportOutput, steps []string, notices []model.Notice) {
	out := show.Cmd.OutOrStdout()
	if command.IsStructured(show.Format) {
		out = show.Cmd.ErrOrStderr()
	}
	for _, n := range notices {
		steps = append(steps, fmt.Sprintf("%s: %s", n.Code, n.Message))
	}
	for _, step := range steps {
		fmt.Fprintln(out, scan.Clean(step))
	}
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
