// Package flagvalue defines flags whose values have bounds: whole numbers, and durations in days
// and weeks. It finds the name that a mistyped one is nearest to.
package flagvalue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// number is a whole number from least to most.
type number struct {
	value       *int
	least, most int
}

// Number defines a flag for a whole number from least to most. The default may be outside the bounds.
func Number(flags *pflag.FlagSet, value *int, name string, standard, least, most int, usage string) {
	*value = standard
	flags.Var(&number{value, least, most}, name, usage)
}

func (n *number) Set(text string) error {
	parsed, err := strconv.Atoi(text)
	if err != nil || parsed < n.least || parsed > n.most {
		return fmt.Errorf("must be a whole number, %s", n.Bounds())
	}
	*n.value = parsed
	return nil
}

func (n *number) String() string { return strconv.Itoa(*n.value) }
func (n *number) Type() string   { return "int" }

// Bounds describes the values that are accepted.
func (n *number) Bounds() string { return fmt.Sprintf("%d–%d", n.least, n.most) }

// duration is a time.Duration whose text may have weeks and days: 1w, 30d, 1d12h.
type duration struct {
	value       *time.Duration
	least, most time.Duration
	zero        string // what 0 means; empty: 0 is outside the bounds
}

// Long durations.
const (
	Day     = 24 * time.Hour
	Week    = 7 * Day
	Longest = 10 * 365 * Day // of the settings that need no bound of their own
)

// Duration defines a flag for a duration from least to most, or 0 where zero says what that means.
func Duration(flags *pflag.FlagSet, value *time.Duration, name string, standard, least, most time.Duration, zero, usage string) {
	*value = standard
	flags.Var(&duration{value, least, most, zero}, name, usage)
}

var leadingDays = lazyregexp.New(`^(?:(\d{1,3})w)?(?:(\d{1,4})d)?`)

func (d *duration) Set(text string) error {
	parts := leadingDays.Get().FindStringSubmatch(text)
	weeks, _ := strconv.Atoi(parts[1]) // "" is 0
	days, _ := strconv.Atoi(parts[2])
	parsed := time.Duration(weeks)*Week + time.Duration(days)*Day
	if rest := text[len(parts[0]):]; rest != "" || text == "" {
		more, err := time.ParseDuration(rest)
		if err != nil {
			return fmt.Errorf("must be a duration such as %s, and %s", d.example(), d.Bounds())
		}
		parsed += more
	}
	if (parsed < d.least || parsed > d.most) && (parsed != 0 || d.zero == "") {
		return fmt.Errorf("must be %s", d.Bounds())
	}
	*d.value = parsed
	return nil
}

func (d *duration) String() string { return DurationText(*d.value) }
func (d *duration) Type() string   { return "duration" }

// example names durations within the bounds.
func (d *duration) example() string {
	examples := slices.DeleteFunc([]string{"90s", "15m", "12h", "30d"}, func(text string) bool {
		return (&duration{new(time.Duration), d.least, d.most, d.zero}).Set(text) != nil
	})
	if len(examples) < 2 {
		return strings.Join(append(examples, "30s")[:1], "")
	}
	last := len(examples) - 1
	return strings.Join(examples[:last], ", ") + " or " + examples[last]
}

// Bounds describes the values that are accepted.
func (d *duration) Bounds() string {
	text := DurationText(d.least) + "–" + DurationText(d.most)
	if d.zero != "" {
		text += ", or 0s: " + d.zero
	}
	return text
}

// DurationText writes a duration in its largest units: 30d, 1d12h, 90s as 1m30s.
func DurationText(d time.Duration) string {
	text := ""
	if d >= Day {
		text, d = strconv.Itoa(int(d/Day))+"d", d%Day
		if d == 0 {
			return text
		}
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + rest
}
