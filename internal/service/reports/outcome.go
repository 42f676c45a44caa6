package reports

import (
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/regcheck"
)

// Outcome returns the outcome of a check, for audit records and metrics.
func Outcome(r *regcheck.Report) audit.Outcome {
	switch {
	case r.Valid:
		return audit.Valid
	case r.Reason == regcheck.ReasonProviderUnavailable || r.Reason == regcheck.ReasonProviderUnreachable:
		return audit.Unknown
	}
	return audit.NotValid
}
