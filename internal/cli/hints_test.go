package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/regcheck"
)

// The hints of a report can be followed as typed: those of the service by its operator, and those of a check without a server by its user.
func TestHintsNameFlagsThatExist(t *testing.T) {
	for _, program := range []struct {
		name    string
		reader  regcheck.Audience
		flags   *pflag.FlagSet
		classes []egress.Class // that its policy forbids
	}{
		{"serve", wording.Engine(), settings.New().Flags, []egress.Class{egress.ClassPort, egress.ClassWrapped, egress.ClassDenied,
			egress.ClassUnlisted,
			egress.ClassMetadata, egress.ClassOwn, egress.ClassHost, egress.ClassReserved, egress.ClassPrivate, egress.ClassZone}},
		{"check", wording.CommandLine(), newCheck().Flags(), []egress.Class{egress.ClassMetadata, egress.ClassReserved, egress.ClassZone}},
	} {
		hints := []string{program.reader.DNS, program.reader.Proxy("registry.example:443", true)}
		for _, class := range program.classes {
			reason, hint := program.reader.Forbidden(&egress.Forbidden{Class: class})
			if reason == "" || hint == "" {
				t.Errorf("%s: %s has no reason or no hint", program.name, class)
			}
			hints = append(hints, hint)
		}
		for _, entry := range regcheck.Entries() {
			hints = append(hints, program.reader.Show(entry.Hint))
		}
		named := 0
		for _, hint := range hints {
			for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(hint, -1) {
				named++
				if program.flags.Lookup(strings.TrimPrefix(flag, "--")) == nil {
					t.Errorf("%s: %q names %s, which does not exist", program.name, hint, flag)
				}
			}
			if regexp.MustCompile(`egress\.[a-z]`).MatchString(hint) {
				t.Errorf("%s: %q does not name the setting as it is typed", program.name, hint)
			}
		}
		if named == 0 {
			t.Errorf("%s: no hint names a flag", program.name)
		}
	}
}
