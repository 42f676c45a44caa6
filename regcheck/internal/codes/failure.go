package codes

import "github.com/regwarden/regwarden/regcheck/internal/message"

// Failure is why a check is not valid.
type Failure struct {
	Entry     Entry
	Seen      Text // what was tried and what came back; one or more sentences
	Field     string
	Hint      Text
	Retryable bool
}

// Fail returns the failure of a row of the table, with what was seen.
func Fail(code Code, reason Reason, format string, args ...any) *Failure {
	e := Lookup(code, reason)
	return &Failure{Entry: e, Seen: message.Of(format, args...), Field: e.Field, Hint: e.Hint, Retryable: e.Retryable}
}

// At sets the field to correct.
func (f *Failure) At(field string) *Failure { f.Field = field; return f }

// Retry sets whether the same definition may well be valid later.
func (f *Failure) Retry(worth bool) *Failure { f.Retryable = worth; return f }

// Hinting sets what to do.
func (f *Failure) Hinting(format string, args ...any) *Failure {
	f.Hint = message.Of(format, args...)
	return f
}
