package command

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/regcheck"
)

// FailOn is what a command exits with 1 for. Each level includes those before it.
type FailOn string

// Levels of --fail-on.
const (
	FailOnNever      FailOn = "never"
	FailOnError      FailOn = "error"      // the name that reports give to notValid
	FailOnNotValid   FailOn = "notValid"   // and problems of files
	FailOnWarning    FailOn = "warning"    // warnings of checks
	FailOnUnresolved FailOn = "unresolved" // definitions of a scan whose credentials are not known
	FailOnNotice     FailOn = "notice"     // notices about definitions of a scan
)

// FailOnFlag adds --fail-on. usage describes the levels that the command has.
func FailOnFlag(flags *pflag.FlagSet, level *FailOn, usage string, levels ...FailOn) {
	flagvalue.OneOf(flags, level, "fail-on", FailOnNotValid, levels, usage)
}

// ErrWarned is the error of a check whose warnings, already printed, are what --fail-on names.
var ErrWarned = errors.New("--fail-on warning: the definition is valid, but the check has warnings")

// Of returns the error of a check whose report was printed.
func (f FailOn) Of(report *regcheck.Report) error {
	switch {
	case f == FailOnNever:
		return nil
	case !report.Valid:
		return ErrNotValid
	case f == FailOnWarning && len(report.Warnings) > 0:
		return ErrWarned
	}
	return nil
}
