// Package fault has the one error type for what regwarden could not do.
//
// A fault is never a finding about a registry: a check that finds a broken registry succeeded, and
// its outcome is a regcheck.Report. Faults carry what a client may know (Code, Message, Fields,
// Reason) apart from what only the log may know (Cause). The HTTP status is chosen in one place,
// internal/server; the exit code in another, cmd/regwarden.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Kind says what sort of fault it is. There are few, and each has one HTTP status.
type Kind uint8

// An error without a kind is Internal.
const (
	Internal        Kind = iota // our fault; nothing of it may be shown
	Invalid                     // the request can't be understood or contradicts itself
	Unauthenticated             // no usable credential
	Forbidden                   // authenticated, but not allowed
	NotFound                    // there is no such thing for this caller
	Conflict                    // it is there already, or has changed meanwhile
	Limited                     // this caller does too much; RetryAfter says when to come back
	Unavailable                 // we can't now; RetryAfter says when to come back
)

// Codes that more than one package gives. They are part of the HTTP interface.
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

// Error is a fault. Code, Message, Fields and Reason may be shown to the caller and so must never
// hold a secret, an address of ours, a path or SQL. Cause is for the log.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []Field       // Invalid: every problem, not the first
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

// Unwrap gives errors.Is and errors.As the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of the outermost fault in err, Internal when there is none.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// MaxFields is how many problems a fault lists: an answer must not be many times what was asked.
const MaxFields = 100

// InvalidFields is the fault of a request with these problems, of which it lists the first MaxFields.
func InvalidFields(fields ...Field) *Error {
	message := "The request has a field that cannot be used."
	switch {
	case len(fields) > MaxFields:
		message = fmt.Sprintf("The request has more than %d fields that cannot be used; these are the first.", MaxFields)
		fields = fields[:MaxFields]
	case len(fields) > 1:
		message = fmt.Sprintf("The request has %d fields that cannot be used.", len(fields))
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

// ResourceNotFound is the fault of something that does not exist, or not for the caller.
func ResourceNotFound(message string) *Error {
	return &Error{Kind: NotFound, Code: CodeResourceNotFound, Message: message}
}

// NoSuchProject is the fault of a project that does not exist, is another organization's or is hidden from the caller. The
// code is CodeResourceNotFound where the path names the project, else CodeProjectNotFound.
func NoSuchProject(code string) *Error {
	return &Error{Kind: NotFound, Code: code, Message: "Project not found. It does not exist in your organization, or you are not a member of it."}
}

// Join lists the problems of decoding and, after them, those of the domain, since whoever mends a
// request wants the whole list. A field that could not be decoded is not called missing as well.
func Join(undecoded, more []Field) []Field {
	told := map[string]bool{}
	for _, p := range undecoded {
		told[p.Field] = true
	}
	all := slices.Clone(undecoded)
	for _, p := range more {
		if !told[p.Field] {
			all = append(all, p)
		}
	}
	return all
}

// Busy is the fault of an overloaded service; after says when a retry makes sense.
func Busy(what string, after time.Duration) *Error {
	return &Error{Kind: Unavailable, Code: CodeUnavailable, Message: what, RetryAfter: after}
}

// Wrap adds to an error what was attempted; nil stays nil.
func Wrap(attempted string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// StackOf returns the stack that belongs to a recovered value: the one that the value carries, if another goroutine
// panicked first, or the caller's.
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
