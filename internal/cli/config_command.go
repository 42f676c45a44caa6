package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/cli/serve"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

func newConfig() *cobra.Command {
	s, format := settings.New(), ""
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings, with masked secrets",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			warnUnknownVariables(cmd.ErrOrStderr())
			if err := s.Load(os.Getenv); err != nil {
				return err
			}
			return output.PrintTable(cmd, format, []string{"name", "value", "source"}, s.List())
		},
	}
	s.AddTo(cmd.Flags())
	command.OutputFlag(cmd, &format)
	return cmd
}

func warnUnknownVariables(out io.Writer) {
	for name, nearest := range serve.UnknownVariables(os.Environ()) {
		if nearest != "" {
			nearest = "; did you mean " + nearest + "?"
		}
		_, _ = fmt.Fprintf(out, "warning: the environment variable %s is not a setting%s\n", name, nearest)
	}
}
