// Package requestbody bounds the bodies of requests, to the API and to the console, in size, time and memory. Its functions are safe
// for concurrent use with different requests.
package requestbody

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/budget"
)

// Timeout is how long a whole body may take.
const Timeout = 15 * time.Second

const (
	pause = 5 * time.Second // between two reads
	drain = time.Second     // for the rest of an unread body
)

// Reader bounds bodies by the memory that Budget allows. The zero value allows all.
type Reader struct{ Budget *budget.Requests }

// Bound replaces the body of r, which belongs to p or to a client address, by one that ends with an error after limit bytes, when it
// does not keep arriving, or when it takes more memory than there is. Fault turns that error, and the one of Bound, into a fault.
func (b Reader) Bound(w http.ResponseWriter, r *http.Request, p auth.Principal, source string, limit int64) error {
	if err := b.Budget.Reserve(p, source, r, limit); err != nil {
		return err
	}
	r.Body = &arriving{http.MaxBytesReader(nil, r.Body, limit), http.NewResponseController(w), time.Now().Add(Timeout)}
	return nil
}

// arriving is a body that must not pause. With a total deadline alone, an idle connection could stay open as long as a slow one.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
	end     time.Time
}

func (b *arriving) Read(p []byte) (int, error) {
	deadline := time.Now().Add(pause)
	if b.end.Before(deadline) {
		deadline = b.end
	}
	_ = b.control.SetReadDeadline(deadline) // fails only on a closed connection
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		// Otherwise the deadline would cancel a validation that takes longer than the body may.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Fault returns the fault of a body that was not read completely, which its reader calls subject. The response closes the connection,
// so that it does not wait for the rest.
func Fault(w http.ResponseWriter, err error, subject string, limit int64) error {
	w.Header().Set("Connection", "close")
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &fault.Error{Kind: fault.Invalid, Code: fault.CodeRequestTooLarge,
			Message: fmt.Sprintf("The %s must be at most %d KiB.", subject, limit>>10)}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok { // too many bytes of the service or of the caller
		return f
	}
	late := fault.Field{Field: strictjson.Body, Problem: fmt.Sprintf("must arrive within %v and without a pause of %v", Timeout, pause)}
	return &fault.Error{Kind: fault.Invalid, Code: fault.CodeInvalidRequest,
		Message: "The " + subject + " did not arrive completely.", Cause: err, Fields: []fault.Field{late}}
}

// GiveUp bounds how long net/http waits for the rest of an unread body: it drains the body before it sends the response. Data that has
// already arrived is drained at once, and the connection can be reused. A body that was read must be replaced by http.NoBody before.
func GiveUp(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drain)) // fails only on a closed connection
	}
}
