package cli

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/helptext"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

//go:embed help.txt
var helpTexts string

// addHelp adds the descriptions and examples of help.txt, and the exit codes of commands that do not describe their own.
func addHelp(root *cobra.Command) {
	for _, section := range strings.Split(helpTexts, "\n=== ")[1:] {
		path, text, _ := strings.Cut(section, "\n")
		cmd, rest, _ := root.Find(strings.Fields(path)) // a test finds all of them
		if len(rest) > 0 {
			continue // its branch was not built
		}
		long, examples, _ := strings.Cut(text, "Examples:\n")
		cmd.Long = strings.TrimSpace(long)
		if examples = strings.TrimSpace(examples); examples != "" {
			cmd.Example = "  " + strings.ReplaceAll(examples, "\n", "\n  ")
		}
	}
	addExitCodes(root)
}

func addExitCodes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		addExitCodes(sub)
	}
	if !cmd.HasSubCommands() && !strings.Contains(cmd.Long, "Exit codes:") {
		cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nExit codes: 0 done, 1 failed, 2 the command line or the settings cannot be used."
	}
}

// newStoreTopic returns the topic of help that lists the flags of a store, which many commands have.
func newStoreTopic() *cobra.Command {
	cmd := &cobra.Command{Use: storeTopic, Short: "Flags that name a local store"}
	settings.New().AddTo(cmd.Flags(), settings.StoreFlags...)
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out, width := cmd.OutOrStdout(), helptext.Width()
		_, _ = out.Write([]byte(helptext.Wrapped(cmd.Long) + "\n\nFlags:\n" + helptext.Flags(cmd.NonInheritedFlags(), width)))
	})
	return cmd
}

const storeTopic = "store"
