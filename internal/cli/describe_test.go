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

// Messages of the API are for programs: they name a header, and no flag.
func TestMessagesOfTheAPI(t *testing.T) {
	for message, want := range map[string]string{
		"Too many tests. Retry after the time in Retry-After.": "Too many tests. Try again later.",
		"Only the operator may do it, on the server, with the command line of regwarden.": "Only the operator may do it, on the machine " +
			"of the server, with --data-dir.",
	} {
		for _, err := range []error{&api.Error{Message: message}, &fault.Error{Message: message}} {
			if got := describe(err); got != want {
				t.Errorf("%T: %q, want %q", err, got, want)
			}
		}
	}
}
