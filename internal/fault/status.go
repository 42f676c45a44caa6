package fault

import (
	"errors"
	"math"
	"net/http"
	"strconv"
)

// statusOf maps the kind of a fault to a status.
var statusOf = map[Kind]int{
	Invalid:         http.StatusBadRequest,
	Unauthenticated: http.StatusUnauthorized,
	Forbidden:       http.StatusForbidden,
	NotFound:        http.StatusNotFound,
	Conflict:        http.StatusConflict,
	Limited:         http.StatusTooManyRequests,
	Unavailable:     http.StatusServiceUnavailable,
	Internal:        http.StatusInternalServerError,
}

// statusOfCode has the codes whose status differs from that of their kind.
var statusOfCode = map[string]int{
	CodeMethodNotAllowed: http.StatusMethodNotAllowed,
	CodeRequestTooLarge:  http.StatusRequestEntityTooLarge,
	CodeUnsupportedMedia: http.StatusUnsupportedMediaType,
}

// Status returns the HTTP status of the fault.
func (e *Error) Status() int {
	if status, ok := statusOfCode[e.Code]; ok {
		return status
	}
	return statusOf[e.Kind]
}

// RetryAfterSeconds returns the value of the header Retry-After.
func (e *Error) RetryAfterSeconds() string {
	return strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds())))
}

// Visible returns the fault that a client may see for an error. Errors that are not faults are internal: only the log has
// their text.
func Visible(err error) *Error {
	f, ok := errors.AsType[*Error](err)
	if !ok || f.Kind == Internal {
		f = &Error{Kind: Internal, Code: CodeInternalError, Message: "Internal error. The service log has the cause under this ref."}
	}
	return f
}
