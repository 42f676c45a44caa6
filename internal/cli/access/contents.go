package access

import (
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// showContents prints what a deletion would delete, and deletes nothing. onlyCascade is whether it needs --cascade because of the contents.
func showContents(c *manage.Call, what, name string, found *api.Contents, onlyCascade bool) error {
	rows := [][]any{{what, name}}
	for _, of := range found.Items {
		kind := strings.TrimSuffix(strings.ReplaceAll(of.Kind, "registries", "registry"), "s")
		for _, each := range of.Names {
			rows = append(rows, []any{kind, each})
		}
		if of.More {
			rows = append(rows, []any{kind, "… and more"})
		}
	}
	if err := c.List(nil, output.Columns("kind", "name*"), rows); err != nil {
		return err
	}
	end := "Nothing was deleted, because of --dry-run."
	if onlyCascade {
		end += " With these contents, the deletion requires --cascade."
	}
	c.Note("%s", end)
	return nil
}
