package codes

import "github.com/regwarden/regwarden/regcheck/internal/message"

// Status is the result of a stage.
type Status string

// A stage is skipped if it does not apply or an earlier one failed, and unknown if the responses of the registry allow no
// conclusion.
const (
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
	StatusSkipped Status = "skipped"
	StatusUnknown Status = "unknown"
)

// Outcome is the outcome of a stage or of a part of it: a failure, or a status with what was seen.
type Outcome struct {
	Status  Status
	Detail  Text
	Failure *Failure
}

// Passed is the outcome of a stage that found no fault.
func Passed(format string, args ...any) Outcome {
	return Outcome{Status: StatusOK, Detail: message.Of(format, args...)}
}

// Skipped is the outcome of a stage that does not apply.
func Skipped(detail Text) Outcome { return Outcome{Status: StatusSkipped, Detail: detail} }

// Unknown is the outcome of a stage whose responses allow no conclusion.
func Unknown(format string, args ...any) Outcome {
	return Outcome{Status: StatusUnknown, Detail: message.Of(format, args...)}
}

// Failed is the outcome of a stage that decides about the check.
func Failed(f *Failure) Outcome { return Outcome{Status: StatusFailed, Detail: f.Seen, Failure: f} }
