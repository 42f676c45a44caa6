package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/cli/scan"
)

// Sources reads definitions from files of other programs.
type Sources interface {
	AddTo(*pflag.FlagSet)
	Read(*cobra.Command, []string) (model.Result, error)
}

// Import returns the command that stores the definitions in files of other programs.
func (p Commands) Import(sources Sources, args cobra.PositionalArgs) *cobra.Command {
	dryRun, project := false, ""
	cmd := p.Command("import PATH…", "Store the registry definitions in files of other programs", args,
		func(c *manage.Call, args []string) error {
			found, err := sources.Read(c.Cmd, args)
			if err != nil {
				return err
			}
			into, _, err := c.RegistriesIn(project)
			if err != nil {
				return err
			}
			imported, err := into.Import(c.Ctx, resolvedOf(found), dryRun)
			if err != nil {
				return err
			}
			return showImported(c, found, imported)
		}, manage.Lists)
	sources.AddTo(cmd.Flags())
	cmd.Flags().StringVar(&project, "project", "", "name of the project that the registries belong to (default: none)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be stored, and store nothing")
	return cmd
}

// resolvedOf returns what can be stored, with consumer and place of each.
func resolvedOf(found model.Result) (resolved api.OCIRegistryImport) {
	for _, r := range found.Registries {
		if r.Resolution != model.Unresolved {
			resolved.Items = append(resolved.Items, r.Definition)
			resolved.Places = append(resolved.Places, strings.TrimPrefix(string(r.Consumer)+", "+scan.Place(r.Sources[0]), ", "))
		}
	}
	return resolved
}

// notTried is the result of a definition after one that failed.
const notTried = "notTried"

// showImported prints what happened to each definition, and problems of the files and totals on standard error. imported has the
// resolved definitions, up to one that failed.
func showImported(c *manage.Call, found model.Result, imported []api.ImportedRegistry) error {
	for _, p := range found.Problems {
		fmt.Fprintln(c.Cmd.ErrOrStderr(), output.Shown(scan.Place(p.Source)+": "+p.Message))
	}
	if len(found.Registries) == 0 {
		fmt.Fprintln(c.Cmd.ErrOrStderr(), "No registry definition was found.")
	}
	var failed error
	var rows [][]any
	counts := map[string]int{}
	for _, of := range found.Registries {
		i := api.ImportedRegistry{Result: string(model.Unresolved), Detail: unresolvedWhy(of)}
		switch {
		case of.Resolution == model.Unresolved:
		case len(imported) == 0:
			i = api.ImportedRegistry{Result: notTried}
		default:
			i, imported = imported[0], imported[1:]
		}
		if i.Result == api.ImportFailed {
			failed = fmt.Errorf("the import ended at %s: %s", output.Shown(i.Name), output.Shown(i.Detail))
		}
		counts[i.Result]++
		rows = append(rows, importedRow(c.Output.Format, of, i))
	}
	if len(rows) > 0 {
		defer c.Note("%s", totals(counts))
	}
	columns := output.Columns("result", "name*", "source<", "detail", "registry+", "uid+", "differsFrom-")
	return errors.Join(c.List(nil, columns, rows), failed)
}

// importedRow returns a row of the table. In text, the result is in words, and the name of a registry that is the same is part of it.
func importedRow(format string, of model.Registry, i api.ImportedRegistry) []any {
	i.Detail = cmp.Or(i.Detail, onlyTLS(of))
	result, name := i.Result, i.Name
	if address := model.Address(of.Definition); format == "text" || format == "wide" {
		switch {
		case result == api.ImportExists:
			result, name = "same as "+name, address
		case name == "":
			name = address
		case i.DiffersFrom != "":
			result += ", differs in its secret from " + i.DiffersFrom
		}
	}
	return []any{result, name, scan.Place(of.Sources[0]), i.Detail, model.Address(of.Definition), i.UID, i.DiffersFrom}
}

// onlyTLS returns what a check of the stored registry does in another way than a scan, "" for nothing.
func onlyTLS(r model.Registry) string {
	if !slices.ContainsFunc(r.Notices, func(n model.Notice) bool { return n.Code == model.NoticePlainHTTPFallback }) {
		return ""
	}
	host := strings.TrimPrefix(r.Definition.Endpoint, "https://")
	return "Checks use TLS only, and the program also plain HTTP. If the registry has no TLS, set endpoint to http://" + host + "."
}

// totals returns how many definitions have each result.
func totals(counts map[string]int) string {
	var texts []string
	for _, of := range []struct{ result, words string }{
		{api.ImportStored, "stored"}, {api.ImportNew, "new"}, {api.ImportExists, "same as a stored one"}, {api.ImportNotValid, "not valid"},
		{string(model.Unresolved), "unresolved"}, {api.ImportFailed, "failed"}, {notTried, "not tried"},
	} {
		if n := counts[of.result]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, of.words))
		}
	}
	return strings.Join(texts, ", ") + "."
}

// unresolvedWhy returns why the credentials of a definition are not known.
func unresolvedWhy(r model.Registry) string { return cmp.Or(string(r.Detail), string(r.Reason)) }
