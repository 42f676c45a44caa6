// Package fault has the error type for operations that regwarden could not perform.
//
// The outcome of a check is never a fault: a check that finds a broken registry has succeeded and returns a
// regcheck.Report. Code, Message, Fields and Reason may be sent to clients; Cause is for the log only. internal/server
// chooses the HTTP status, cmd/regwarden the exit code.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Kind classifies errors. Each kind has one HTTP status.
type Kind uint8

// An error without a kind is Internal.
const (
	Internal        Kind = iota // a defect of ours; no detail may be shown
	Invalid                     // the request is malformed or contradicts itself
	Unauthenticated             // no valid credentials
	Forbidden                   // authenticated, but not allowed
	NotFound                    // the resource does not exist, or is hidden from the caller
	Conflict                    // the resource exists already, or was changed concurrently
	Limited                     // too many requests of this caller; see RetryAfter
	Unavailable                 // temporarily unavailable; see RetryAfter
)

// Codes that several packages use. They are part of the HTTP interface.
const (
	CodeInvalidRequest       = "InvalidRequest"
	CodeAuthenticationFailed = "AuthenticationFailed"
	CodeUnauthorizedAccess   = "UnAuthorizedAccess" // Palette's spelling
	CodeInvalidRefreshToken  = "InvalidRefreshToken"
	CodeOperationForbidden   = "OperationForbidden"
	CodeResourceNotFound     = "ResourceNotFound" // public clients compare it byte for byte
	CodeProjectNotFound      = "ProjectNotFoundInTenant"
	CodeTooManyRequests      = "TooManyRequests"
	CodeInternalError        = "InternalError"
	CodeUnavailable          = "Unavailable"
)

// Field is one problem with one field of a request. Field is its JSON path, such as "auth.password".
type Field struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Error is a failed operation. Code, Message, Fields and Reason may be shown to the caller: they must not contain secrets,
// internal addresses, paths or SQL. Cause is for the log.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []Field       // Invalid: all problems
	Reason     string        // a word from a closed list, such as "expired"; may be empty
	RetryAfter time.Duration // Limited and Unavailable
	Cause      error
}

func (e *Error) Error() string {
	text := e.Code + ": " + e.Message
	for _, f := range e.Fields {
		text += fmt.Sprintf("; %s: %s", f.Field, f.Problem)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of the outermost Error in err, Internal if there is none.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// MaxFields is the maximum number of problems in an Error, so that a response is not many times larger than its request.
const MaxFields = 100

// InvalidFields returns the error for a request with these problems. It lists the first MaxFields.
func InvalidFields(fields ...Field) *Error {
	message := "The request has an invalid field."
	switch {
	case len(fields) > MaxFields:
		message = fmt.Sprintf("The request has more than %d invalid fields; these are the first.", MaxFields)
		fields = fields[:MaxFields]
	case len(fields) > 1:
		message = fmt.Sprintf("The request has %d invalid fields.", len(fields))
	}
	return &Error{Kind: Invalid, Code: CodeInvalidRequest, Message: message, Fields: fields}
}

// FieldProblem returns a problem of one field as a list, empty if there is no problem.
func FieldProblem(field, problem string) []Field {
	if problem == "" {
		return nil
	}
	return []Field{{Field: field, Problem: problem}}
}

// ResourceNotFound returns the error for a resource that does not exist, or is hidden from the caller.
func ResourceNotFound(message string) *Error {
	return &Error{Kind: NotFound, Code: CodeResourceNotFound, Message: message}
}

// NoSuchProject returns the error for a project that does not exist, belongs to another organization or is hidden from the
// caller. The code is CodeResourceNotFound where the path names the project, else CodeProjectNotFound.
func NoSuchProject(code string) *Error {
	return &Error{Kind: NotFound, Code: code, Message: "Project not found. It does not exist in your organization, or you are not a member of it."}
}

// Join appends the problems of the domain to those of decoding, so that a client can fix all of them at once. It omits
// further problems of fields that could not be decoded.
func Join(undecoded, more []Field) []Field {
	reported := map[string]bool{}
	for _, p := range undecoded {
		reported[p.Field] = true
	}
	all := slices.Clone(undecoded)
	for _, p := range more {
		if !reported[p.Field] {
			all = append(all, p)
		}
	}
	return all
}

// Busy returns the error of an overloaded service. after is the time until a retry is useful.
func Busy(what string, after time.Duration) *Error {
	return &Error{Kind: Unavailable, Code: CodeUnavailable, Message: what, RetryAfter: after}
}

// Wrap adds what was attempted to an error; nil stays nil.
func Wrap(attempted string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// StackOf returns the stack of a recovered value: that of the goroutine that panicked first if the value has it, otherwise
// the caller's.
func StackOf(recovered any) []byte {
	if p, ok := recovered.(interface{ Stack() []byte }); ok {
		return p.Stack()
	}
	return debug.Stack()
}

// Panicked returns the error of a recovered value: its type and its stack. The value itself may contain a secret.
func Panicked(recovered any) error {
	return fmt.Errorf("panicked (%T)\n%s", recovered, StackOf(recovered))
}
