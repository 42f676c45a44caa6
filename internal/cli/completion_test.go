package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

// Each value that is completed for a setting is one that the setting accepts.
func TestCompletedValuesAreAccepted(t *testing.T) {
	tried := 0
	for flag, values := range flagValues() {
		for _, value := range values {
			s := settings.New()
			s.MasterKeyFile, s.SMTPHost, s.SMTPFrom = "key", "mail.example.com", "regwarden@example.com"
			if s.Flags.Lookup(flag) == nil {
				continue
			}
			tried++
			if err := s.Flags.Set(flag, value); err != nil {
				t.Errorf("--%s %s: %v", flag, value, err)
			}
			for _, problem := range s.Validate() {
				if problem != nil {
					t.Errorf("--%s %s: %v", flag, value, problem)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d values were tried", tried)
	}
}

// A completion without a flag would never be used.
func TestEachCompletionHasAFlag(t *testing.T) {
	var flags []string
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	for flag := range flagValues() {
		if !slices.Contains(flags, flag) {
			t.Errorf("no command has --%s", flag)
		}
	}
	ofService := manage.Program{}.FlagNames()
	if len(ofService) == 0 {
		t.Error("no flag is completed with names of the service")
	}
	for flag := range ofService {
		if !slices.Contains(flags, flag) {
			t.Errorf("no command has --%s", flag)
		}
	}
}
