package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags "-X main.version=..."). Empty: what the go command recorded; see versionOf.
var version string

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
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := currentVersion()
			asJSON, err := wantsJSON(output)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, info)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), info)
			return err
		},
	}
	outputFlag(cmd, &output)
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
	info := versionInfo{Version: versionOf(version, build.Main.Version), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// outputFlag adds --output text|json to a command.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "output format: text or json")
}

func wantsJSON(output string) (bool, error) {
	switch output {
	case "text":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, usageError{fmt.Errorf("--output must be text or json, not %q", output)}
	}
}

func printJSON(cmd *cobra.Command, v any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
