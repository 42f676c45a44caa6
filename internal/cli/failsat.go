package cli

import (
	"slices"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// failsAt reports whether a result has something at this level.
func failsAt(level command.FailOn, result model.Result) bool {
	s := result.Summary
	switch level {
	case command.FailOnNotValid, command.FailOnError:
		return s.NotValid+s.Problems > 0
	case command.FailOnWarning:
		return failsAt(command.FailOnNotValid, result) || slices.ContainsFunc(result.Registries, warns)
	case command.FailOnUnresolved:
		return failsAt(command.FailOnWarning, result) || s.Unresolved > 0
	case command.FailOnNotice:
		return failsAt(command.FailOnUnresolved, result) || slices.ContainsFunc(result.Registries, hasNotice)
	default:
		return false
	}
}

func hasNotice(r model.Registry) bool { return len(r.Notices) > 0 }

func warns(r model.Registry) bool { return r.Report != nil && len(r.Report.Warnings) > 0 }
