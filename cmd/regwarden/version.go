package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

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
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "regwarden %s (%s, %s)\n", info.Version, info.Go, info.Platform)
			return err
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func currentVersion() versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Revision = setting.Value
			}
		}
	}
	return info
}

// outputFlag gives a command --output text|json.
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
		return false, usageError{fmt.Errorf("--output %q: write text or json", output)}
	}
}

func printJSON(cmd *cobra.Command, v any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
