// Package words puts numbers, times and faults into words for people.
package words

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/fault"
)

// Day is the length of a day.
const Day = 24 * time.Hour

// Ago returns a time relative to now, with the exact one on hover, and with a capital if it begins a text. The zero value is never.
func Ago(at, now time.Time, begins bool) template.HTML {
	text := "just now"
	switch gap := now.Sub(at); {
	case at.IsZero():
		text = "never"
	case gap >= time.Minute:
		text = Duration(gap) + " ago"
	case gap < 0:
		text = "in " + Duration(-gap)
	}
	if begins {
		text = Capital(text)
	}
	if at.IsZero() {
		return template.HTML(text) // #nosec G203 -- a word
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, // #nosec G203 -- contains only formatted times
		at.Format(time.RFC3339), at.Format("2006-01-02 15:04:05 MST"), text))
}

// Duration returns a duration in its largest unit. It rounds, and up to two of a unit it uses the next smaller one, since "1 month"
// says too little of 59 days. Seconds are rounded up.
func Duration(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{365 * Day, "year"}, {30 * Day, "month"}, {Day, "day"}, {time.Hour, "hour"}} {
		if d >= 2*unit.length {
			return Count(int(d.Round(unit.length)/unit.length), unit.name)
		}
	}
	if d >= time.Minute {
		return Count(int(d.Round(time.Minute)/time.Minute), "minute")
	}
	return Count(int((d+time.Second-1)/time.Second), "second")
}

// Share returns how much of a time a part is, in percent. It is rounded down, so that 100 % is all of it. The times are at most 106 days.
func Share(part, whole time.Duration) string {
	const steps = 1000 // tenths of a percent
	return fmt.Sprintf("%g %%", float64(part*steps/whole)/10)
}

// Count returns a number with its noun, in the plural unless it is one: fields, days, addresses, registries.
func Count(n int, noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
	case isY && !strings.HasSuffix(stem, "a"):
		noun = stem + "ies"
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Title is the heading of the page of a fault.
func Title(kind fault.Kind) string {
	switch kind {
	case fault.Internal:
		return "Something went wrong"
	case fault.Forbidden:
		return "Not allowed"
	case fault.NotFound:
		return "Not found"
	case fault.Limited:
		return "Too many requests"
	case fault.Unavailable:
		return "Not available"
	default:
		return "Not possible"
	}
}

// Message returns the message of a fault for people, who do not see headers.
func Message(f *fault.Error) string {
	if f.Kind == fault.Internal {
		return "Something went wrong in the service. Its log has the cause under the reference below."
	}
	wait := f.RetryAfter
	if wait > time.Minute {
		wait = (wait + time.Minute - 1).Truncate(time.Minute) // Duration may round down
	}
	return strings.Replace(f.Message, "Retry after the time in Retry-After.", "Try again in "+Duration(wait)+".", 1)
}

// Capital returns a word or sentence with a capital, as labels and states begin on pages.
func Capital(text any) string {
	first, size := utf8.DecodeRuneInString(fmt.Sprint(text))
	return string(unicode.ToUpper(first)) + fmt.Sprint(text)[size:]
}
