package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/scan"
)

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

// printImported prints what happened to each definition, and problems of the files on standard error.
func printImported(a *admin, found definitions.Result, imported []registries.Imported) error {
	rows := make([][]any, len(imported))
	for i, r := range imported {
		of := found.Registries[i]
		rows[i] = []any{string(r.Result), r.Name, scan.Clean(definitions.Address(of.Definition)), scan.Place(of.Sources[0]), r.UID, scan.Clean(r.Detail)}
	}
	for _, p := range found.Problems {
		fmt.Fprintf(a.cmd.ErrOrStderr(), "%s: %s\n", scan.Place(p.Source), scan.Clean(p.Message))
	}
	return a.table([]string{"result", "name", "registry", "source", "uid", "detail"}, rows)
}
