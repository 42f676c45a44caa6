package command

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

func TestNotEmpty(t *testing.T) {
	for _, tt := range []struct {
		args    []string
		refused bool
	}{
		{nil, false},
		{[]string{"--label", "team=a", "--role", "viewer"}, false},
		{[]string{"--label", ""}, true},
		{[]string{"--role", ""}, true},
	} {
		cmd := &cobra.Command{Use: "mute"}
		cmd.Flags().String("label", "", "")
		cmd.Flags().StringSlice("role", nil, "")
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		err := NotEmpty(cmd, "label", "role")
		if _, usage := errors.AsType[UsageError](err); usage != tt.refused || err != nil && !usage {
			t.Errorf("%q: %v", tt.args, err)
		}
	}
}
