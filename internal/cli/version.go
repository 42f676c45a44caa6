package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
)

// stampedVersion is that of the build. Empty: what the go command recorded; see versionOf.
var stampedVersion string

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := currentVersion()
			if command.IsStructured(output) {
				return command.PrintStructured(cmd, output, info)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), info)
			return err
		},
	}
	command.OutputFlag(cmd, &output)
	return cmd
}

// String is the line that "regwarden version" and "regwarden --version" print.
func (v versionInfo) String() string {
	return fmt.Sprintf("regwarden %s (%s, %s)\n", v.Version, v.Go, v.Platform)
}

func currentVersion() versionInfo {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	info := versionInfo{Version: versionOf(stampedVersion, build.Main.Version), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			info.Revision = setting.Value
		}
	}
	return info
}

// versionOf returns the version without the "v" of Go's and Git's tags. stamped is the build's, module that of "go install" or of the
// commit that the go command built, if it recorded one.
func versionOf(stamped, module string) string {
	if module == "" || module == "(devel)" {
		module = "dev"
	}
	return strings.TrimPrefix(cmp.Or(stamped, module), "v")
}
