package cli

import (
	"errors"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// A terminal gets no control characters of a server, nor a line that looks like one of ours.
func TestTextOfServersInErrors(t *testing.T) {
	const hostile = "a\x1b[2J\u009b2J\u202e\nSee 'rm'"
	const shown = "a\ufffd[2J\ufffd2J\ufffd See 'rm'"
	for want, err := range map[string]error{
		shown:                                &api.Error{Message: hostile},
		"a\ufffd[2J\ufffd2J\ufffd\nSee 'rm'": errors.New(hostile), // our own errors have several lines
		"Not valid.\n  " + "field: \ufffdtext": &fault.Error{Message: "Not valid.",
			Fields: []fault.Field{{Field: "field", Problem: "\x1btext"}}},
	} {
		if got := describe(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The command line has no headers: it does not name the one with the time to wait.
func TestLimitsNameNoHeader(t *testing.T) {
	const limited = "Too many tests. Retry after the time in Retry-After."
	for _, err := range []error{&api.Error{Message: limited}, &fault.Error{Message: limited}} {
		if got := describe(err); got != "Too many tests. Try again later." {
			t.Errorf("%T: %q", err, got)
		}
	}
}
