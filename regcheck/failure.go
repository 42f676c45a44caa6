package regcheck

import (
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
)

// failure is why a check is not valid.
type failure = codes.Failure

func fail(code Code, reason Reason, format string, args ...any) *failure {
	return codes.Fail(code, reason, format, args...)
}

// setFailure completes a report with the failure of a stage.
func (r *Report) setFailure(f *failure, name Stage, reader Audience) {
	r.Valid, r.Stage = false, name
	r.Code, r.Reason, r.Field, r.Hint, r.Retryable = f.Entry.Code, f.Entry.Reason, f.Field, reader.Show(f.Hint), f.Retryable
	r.MessageText, r.HintText = Text(strings.TrimSuffix(string(f.Entry.Sentence+" "+f.Seen), " ")), f.Hint
	r.Message = reader.Show(r.MessageText)
}
