package words

import (
	"strings"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		gap  time.Duration
		want string
	}{
		{0, "just now"}, {59 * time.Second, "just now"}, {time.Minute, "1 minute ago"}, {119 * time.Minute, "119 minutes ago"},
		{2 * time.Hour, "2 hours ago"}, {47 * time.Hour, "47 hours ago"}, {49 * time.Hour, "2 days ago"},
		{-80 * time.Second, "in 1 minute"}, {-1500 * time.Millisecond, "in 2 seconds"}, {-7*Day + time.Second, "in 7 days"},
		{-59 * Day, "in 59 days"}, {400 * Day, "13 months ago"}, {750 * Day, "2 years ago"},
	} {
		for begins, want := range map[bool]string{false: tt.want, true: strings.ToUpper(tt.want[:1]) + tt.want[1:]} {
			if got := string(Ago(now.Add(-tt.gap), now, begins)); !strings.HasSuffix(got, `">`+want+"</time>") {
				t.Errorf("%v: %s", tt.gap, got)
			}
		}
	}
	const utc = `<time datetime="2026-11-22T10:00:00Z" title="2026-11-22 10:00:00 UTC">just now</time>`
	if got := string(Ago(now.In(time.FixedZone("", 3600)), now, false)); got != utc {
		t.Error(got)
	}
	if never, begins := Ago(time.Time{}, now, false), Ago(time.Time{}, now, true); never != "never" || begins != "Never" {
		t.Error(never, begins)
	}
}

// The share of equal times is 100 % for every length, and less than all of a time is never 100 %.
func TestShare(t *testing.T) {
	whole := 30 * Day
	for range 1000 {
		whole -= 86_399_999_999_937 / 50
		if all, less := Share(whole, whole), Share(whole-1, whole); all != "100 %" || less != "99.9 %" {
			t.Fatalf("of %v: %s, and a nanosecond less: %s", whole, all, less)
		}
	}
	if got := Share(1, 3) + Share(0, 1) + Share(1, 1) + Share(15*Day, 30*Day); got != "33.3 %0 %100 %50 %" {
		t.Error(got)
	}
}

func TestCount(t *testing.T) {
	for noun, want := range map[string]string{"field": "fields", "day": "days", "registry": "registries", "address": "addresses"} {
		if one, two := Count(1, noun), Count(2, noun); one != "1 "+noun || two != "2 "+want {
			t.Errorf("%q, %q", one, two)
		}
	}
}
