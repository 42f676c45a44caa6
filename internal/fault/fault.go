// Package fault has the error type for operations that regwarden could not do.
//
// A fault is never the result of a check: a check that finds an invalid registry succeeded, and its outcome is a
// regcheck.Report. A fault separates what a client may know (Code, Message, Fields, Reason) from what only the log may
// contain (Cause). The exit code of a fault is chosen in internal/cli.
package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Kind is the kind of a fault. Each kind has one HTTP status.
type Kind uint8

// An error without a kind is Internal.
const (
	Internal        Kind = iota // an error of the service; no detail may be shown
	Invalid                     // the request is malformed or contradicts itself
	Unauthenticated             // no valid credential
	Forbidden                   // authenticated, but not allowed
	NotFound                    // does not exist for this caller
	Conflict                    // already exists, or was changed by another request
	Limited                     // too many requests of this caller; see RetryAfter
	Unavailable                 // temporarily unavailable; see RetryAfter
)

// Codes used by more than one package. They are part of the HTTP interface.
const (
	CodeInvalidRequest       = "InvalidRequest"
	CodeAuthenticationFailed = "AuthenticationFailed"
	CodeUnauthorizedAccess   = "UnAuthorizedAccess" // Palette's spelling
	CodeInvalidRefreshToken  = "InvalidRefreshToken"
	CodeOperationForbidden   = "OperationForbidden"
	CodeResourceNotFound     = "ResourceNotFound" // public clients compare it byte by byte
	CodeProjectNotFound      = "ProjectNotFoundInTenant"
	CodeTooManyRequests      = "TooManyRequests"
	CodeInternalError        = "InternalError"
	CodeClientGone           = "ClientGone" // only in the log, the audit log and the metrics
	CodeUnavailable          = "Unavailable"
	CodeMethodNotAllowed     = "MethodNotAllowed"
	CodeRequestTooLarge      = "RequestTooLarge"
	CodeUnsupportedMedia     = "UnsupportedMediaType"
	CodePathNotFound         = "PathNotFound"
)

// Field is one problem with one field of a request. Field is its JSON path, such as "auth.password".
type Field struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
	Text    Text   `json:"-"` // Problem for other readers; nil if it names no field
}

// Text is a text that names fields as its reader knows them.
type Text interface {
	Show(name func(path string) string) string
}

// Error is a fault. Code, Message, Fields and Reason may be shown to the caller, so they must not contain a secret, an
// internal address, a path or SQL. Cause is for the log.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []Field       // for Invalid: all problems
	Reason     string        // a word from a closed list, such as "expired"; may be empty
	RetryAfter time.Duration // for Limited and Unavailable
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

// KindOf returns the kind of the outermost fault in err, or Internal.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// CodeOf returns the code of the outermost fault in err, CodeClientGone for a canceled request, or CodeInternalError.
func CodeOf(err error) string {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Code
	}
	if errors.Is(err, context.Canceled) {
		return CodeClientGone
	}
	return CodeInternalError
}

// MaxFields is how many problems a fault lists, so that a response is not much larger than its request.
const MaxFields = 100

// InvalidFields returns the fault of a request with these problems, and lists the first MaxFields.
func InvalidFields(fields ...Field) *Error {
	message := "The request has an invalid field."
	switch {
	case len(fields) > MaxFields:
		message = fmt.Sprintf("The request has more than %d invalid fields; the first ones are listed.", MaxFields)
		fields = fields[:MaxFields]
	case len(fields) > 1:
		message = fmt.Sprintf("The request has %d invalid fields.", len(fields))
	}
	return &Error{Kind: Invalid, Code: CodeInvalidRequest, Message: message, Fields: fields}
}

// InvalidIfAny is InvalidFields, or nil if there are no problems.
func InvalidIfAny(problems []Field) error {
	if len(problems) == 0 {
		return nil
	}
	return InvalidFields(problems...)
}

// InvalidField is InvalidFields for one problem.
func InvalidField(field, problem string) *Error {
	return InvalidFields(Field{Field: field, Problem: problem})
}

// FieldProblem returns the problem of one field as a list, empty if there is no problem.
func FieldProblem(field, problem string) []Field {
	if problem == "" {
		return nil
	}
	return []Field{{Field: field, Problem: problem}}
}

// ResourceNotFound returns the fault of a resource that does not exist or is hidden from the caller.
func ResourceNotFound(message string) *Error {
	return &Error{Kind: NotFound, Code: CodeResourceNotFound, Message: message}
}

// ProjectNotFound returns the fault of a project that does not exist, belongs to another organization or is hidden from
// the caller. The code is CodeResourceNotFound where the path names the project, else CodeProjectNotFound.
func ProjectNotFound(code string) *Error {
	return &Error{Kind: NotFound, Code: code,
		Message: "Project not found. It does not exist in your organization, or you are not a member of it."}
}

// Join combines decoding problems with those of the domain, so that a client gets all problems at once. A field that
// could not be decoded is not also reported as missing.
func Join(undecoded, more []Field) []Field {
	undecodedFields := map[string]bool{}
	for _, p := range undecoded {
		undecodedFields[p.Field] = true
	}
	all := slices.Clone(undecoded)
	for _, p := range more {
		if !undecodedFields[p.Field] {
			all = append(all, p)
		}
	}
	return all
}

// Busy returns the fault of an overloaded service; after is when to retry.
func Busy(what string, after time.Duration) *Error {
	return &Error{Kind: Unavailable, Code: CodeUnavailable, Message: what, RetryAfter: after}
}

// Wrap adds the attempted operation to an error; nil stays nil.
func Wrap(attempted string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// StackOf returns the stack of a recovered value: the one that the value carries, if another goroutine panicked first,
// or the caller's.
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
