package expiry

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
)

// A name cannot add lines to a calendar, and no line is longer than 75 bytes.
func TestICS(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	got := ics([]api.Expiry{{Kind: "apiKey", UID: "u", Name: "a\r\nBEGIN:VALARM,;" + strings.Repeat("ä", 60), Owner: "ada@acme.example",
		NotAfter: now.Add(36 * time.Hour)}}, now)
	for line := range strings.SplitSeq(strings.TrimSuffix(got, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || strings.HasPrefix(line, "BEGIN:VALARM") {
			t.Errorf("line %q", line)
		}
	}
	for _, want := range []string{"BEGIN:VCALENDAR\r\n", "DTSTART;VALUE=DATE:20270202\r\n", `SUMMARY:API key a  BEGIN:VALARM\,\;`,
		"UID:apiKey-u@regwarden\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// Days left are whole days; what has expired has a negative number.
func TestDays(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	for left, want := range map[time.Duration]int{time.Hour: 0, 25 * time.Hour: 1, -time.Hour: -1, -25 * time.Hour: -2} {
		if got := days(now.Add(left), now); got != want {
			t.Errorf("%v: %d, want %d", left, got, want)
		}
	}
}
