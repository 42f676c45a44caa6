package manage

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scan"
	"github.com/regwarden/regwarden/regcheck"
)

// Sources reads definitions from files of other programs.
type Sources interface {
	AddTo(*pflag.FlagSet)
	Read(*cobra.Command, []string) (model.Result, error)
}

// Import returns the command that stores the definitions in files of other programs.
func (p Program) Import(sources Sources, args cobra.PositionalArgs) *cobra.Command {
	dryRun := false
	cmd := p.command("import PATH…", "Store the registry definitions in files of other programs", args, func(c *call, args []string) error {
		found, err := sources.Read(c.cmd, args)
		if err != nil {
			return err
		}
		var resolved []regcheck.Definition
		for _, r := range found.Registries {
			if r.Resolution != model.Unresolved {
				resolved = append(resolved, r.Definition)
			}
		}
		imported, err := c.client.Registries.Import(c.ctx, api.OCIRegistryImport{Items: resolved}, dryRun)
		if err != nil {
			return err
		}
		return c.showImported(found, imported)
	}, lists)
	sources.AddTo(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be stored, and store nothing")
	return cmd
}

// showImported prints what happened to each definition, and problems of the files on standard error. imported has the resolved definitions, up to
// one that failed.
func (c *call) showImported(found model.Result, imported []api.ImportedRegistry) error {
	for _, p := range found.Problems {
		fmt.Fprintln(c.cmd.ErrOrStderr(), Shown(scan.Place(p.Source)+": "+p.Message))
	}
	if len(found.Registries) == 0 {
		fmt.Fprintln(c.cmd.ErrOrStderr(), "No registry definition was found.")
	}
	var failed error
	var rows [][]any
	for _, of := range found.Registries {
		i := api.ImportedRegistry{Result: string(model.Unresolved), Detail: unresolvedWhy(of)}
		switch {
		case of.Resolution == model.Unresolved:
		case len(imported) == 0:
			i = api.ImportedRegistry{Result: "notTried"}
		default:
			i, imported = imported[0], imported[1:]
		}
		if i.Result == api.ImportFailed {
			failed = fmt.Errorf("the import ended at %s: %s", Shown(i.Name), Shown(i.Detail))
		}
		rows = append(rows, []any{i.Result, i.Name, model.Address(of.Definition), scan.Place(of.Sources[0]), i.UID, i.Detail})
	}
	return errors.Join(c.list(nil, columns("result", "name", "registry", "source", "uid+", "detail"), rows), failed)
}

// unresolvedWhy returns why the credentials of a definition are not known.
func unresolvedWhy(r model.Registry) string { return cmp.Or(string(r.Detail), string(r.Reason)) }
