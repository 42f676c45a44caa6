package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// OutputFlag adds --output text|json to a
func OutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "output format: text or json")
}

func WantsJSON(output string) (bool, error) {
	switch output {
	case "text":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, UsageError{fmt.Errorf("--output must be text or json, not %q", output)}
	}
}

func PrintJSON(cmd *cobra.Command, v any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
