package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// number is a whole number from least to most.
type number struct {
	value       *int
	least, most int
}

// numberVar defines a flag for a whole number from least to most. The default may be outside the bounds.
func numberVar(flags *pflag.FlagSet, value *int, name string, standard, least, most int, usage string) {
	*value = standard
	flags.Var(&number{value, least, most}, name, usage)
}

func (n *number) Set(text string) error {
	parsed, err := strconv.Atoi(text)
	if err != nil || parsed < n.least || parsed > n.most {
		return fmt.Errorf("must be a whole number, %d–%d", n.least, n.most)
	}
	*n.value = parsed
	return nil
}

func (n *number) String() string { return strconv.Itoa(*n.value) }
func (n *number) Type() string   { return "int" }

// duration is a time.Duration whose text may have weeks and days: 1w, 30d, 1d12h.
type duration struct {
	value       *time.Duration
	least, most time.Duration
	zero        string // what 0 means; empty: 0 is outside the bounds
}

const (
	day     = 24 * time.Hour
	week    = 7 * day
	longest = 10 * 365 * day // of the settings that need no bound of their own
)

// durationVar defines a flag for a duration from least to most, or 0 where zero says what that means.
func durationVar(flags *pflag.FlagSet, value *time.Duration, name string, standard, least, most time.Duration, zero, usage string) {
	*value = standard
	flags.Var(&duration{value, least, most, zero}, name, usage)
}

var leadingDays = regexp.MustCompile(`^(?:(\d{1,3})w)?(?:(\d{1,4})d)?`)

func (d *duration) Set(text string) error {
	parts := leadingDays.FindStringSubmatch(text)
	weeks, _ := strconv.Atoi(parts[1]) // "" is 0
	days, _ := strconv.Atoi(parts[2])
	parsed := time.Duration(weeks)*week + time.Duration(days)*day
	if rest := text[len(parts[0]):]; rest != "" || text == "" {
		more, err := time.ParseDuration(rest)
		if err != nil {
			return fmt.Errorf("must be a duration such as 90s, 15m, 12h or 30d, and %s", d.bounds())
		}
		parsed += more
	}
	if (parsed < d.least || parsed > d.most) && (parsed != 0 || d.zero == "") {
		return fmt.Errorf("must be %s", d.bounds())
	}
	*d.value = parsed
	return nil
}

func (d *duration) String() string { return durationText(*d.value) }
func (d *duration) Type() string   { return "duration" }

func (d *duration) bounds() string {
	text := durationText(d.least) + "–" + durationText(d.most)
	if d.zero != "" {
		text += ", or 0s: " + d.zero
	}
	return text
}

// durationText writes a duration in its largest units: 30d, 1d12h, 90s as 1m30s.
func durationText(d time.Duration) string {
	text := ""
	if d >= day {
		text, d = strconv.Itoa(int(d/day))+"d", d%day
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
