package fieldnames

import (
	"testing"
	"time"
)

// What is accepted can be written as an RFC 3339 time again.
func TestMoment(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0001-01-01T00:00:00Z": "", "2027-01-31T12:00:00+02:00": "2027-01-31T10:00:00Z", "2027-01-31": "refused",
		"9999-12-31T23:59:59Z": "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00": "refused",
		"0000-01-01T00:00:00+01:00": "refused",
	} {
		at, problems := Moment("expiresAt", text)
		got := ""
		switch {
		case len(problems) > 0:
			got = "refused"
		case !at.IsZero():
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
