package flagvalue

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestDurationsHaveDaysAndWeeks(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "30d": 30 * Day, "2w": 2 * Week,
		"1w2d3h4m": 9*Day + 3*time.Hour + 4*time.Minute, "0": 0, "0s": 0, "0d": 0,
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		var got time.Duration
		Duration(flags, &got, "age", time.Hour, time.Second, 10*Week, "all", "")
		if err := flags.Set("age", text); err != nil || got != want {
			t.Errorf("%q is %v, want %v: %v", text, got, want, err)
		}
		var again time.Duration
		if err := (&duration{&again, 0, Longest, "all"}).Set(DurationText(got)); err != nil || again != got {
			t.Errorf("%v is written %q, which is read as %v: %v", got, DurationText(got), again, err)
		}
	}
}

func TestValuesOutsideTheirBoundsAreRefused(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"--age=", `must be a duration such as 90s, 15m, 12h or 30d, and 1m–70d`},
		{"--age=30", `must be a duration such as 90s, 15m, 12h or 30d, and 1m–70d`},
		{"--age=1d2w", `must be a duration such as 90s, 15m, 12h or 30d, and 1m–70d`},
		{"--age=99999999d", `must be a duration such as 90s, 15m, 12h or 30d, and 1m–70d`},
		{"--wait=soon", "must be a duration such as 30s, and 1s–1m"},
		{"--age=59s", "must be 1m–70d"},
		{"--age=71d", "must be 1m–70d"},
		{"--age=-5m", "must be 1m–70d"},
		{"--age=0s", "must be 1m–70d"},
		{"--count=lots", "must be a whole number, 1–200"},
		{"--count=1.5", "must be a whole number, 1–200"},
		{"--count=0", "must be a whole number, 1–200"},
		{"--color=green", `must be one of red, blue, not "green"`},
		{"--count=201", "must be a whole number, 1–200"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		Duration(flags, new(time.Duration), "age", time.Hour, time.Minute, 10*Week, "", "")
		Duration(flags, new(time.Duration), "wait", time.Second, time.Second, time.Minute, "", "")
		OneOf(flags, new(string), "color", "red", []string{"red", "blue"}, "")
		Number(flags, new(int), "count", 7, 1, 200, "")
		err := flags.Parse([]string{row.args})
		if got := errors.Unwrap(err); got == nil || got.Error() != row.want {
			t.Errorf("%s: %v, want %q", row.args, err, row.want)
		}
	}
}

func TestDurationsAreWrittenInTheirLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m",
		time.Hour: "1h", 12 * time.Hour: "12h", 90 * time.Minute: "1h30m",
		Day: "1d", 36 * time.Hour: "1d12h", 365 * Day: "365d", 10 * time.Millisecond: "10ms", 20 * time.Minute: "20m",
		10 * time.Hour: "10h", 100 * time.Second: "1m40s"} {
		if got := DurationText(d); got != want {
			t.Errorf("%v is written %q, want %q", time.Duration(d), got, want)
		}
	}
}
