package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/cli/hostiletest"
)

func TestTextOfServersIsShown(t *testing.T) {
	shown := Columns("name", "list", "url+", "data-")
	row := []any{hostiletest.Text, []string{hostiletest.Text}, hostiletest.Text, hostiletest.Text}
	for format, lines := range map[string][2]int{"text": {2, 4}, "wide": {2, 4}, "name": {1, 1}, "json": {}, "yaml": {}} {
		for kind, show := range []func(*Writer) error{
			func(o *Writer) error { return o.Table(shown, [][]any{row}) },
			func(o *Writer) error { return o.Record(shown, row) },
		} {
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			if err := show(&Writer{Cmd: cmd, Format: format}); err != nil {
				t.Fatal(err)
			}
			hostiletest.MustBeHarmless(t, format, out.String(), lines[kind])
			if lines[kind] > 0 {
				continue
			}
			var value any
			read := map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal}[format]
			if err := read(out.Bytes(), &value); err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			if list, ok := value.([]any); ok {
				value = list[0]
			}
			if value.(map[string]any)["name"] != hostiletest.Text {
				t.Errorf("%s changed the value to %q", format, value)
			}
		}
	}
}

// fullDisk fails each write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFailedWritesAreReported(t *testing.T) {
	for _, format := range Formats {
		cmd := &cobra.Command{}
		cmd.SetOut(fullDisk{})
		o := &Writer{Cmd: cmd, Format: format}
		if err := o.Table(Columns("name"), [][]any{{"a"}}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a table as %s: %v", format, err)
		}
		if err := o.Record(Columns("name"), []any{"a"}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a record as %s: %v", format, err)
		}
	}
}

// A table fits the terminal: the longest texts are shortened, those to keep later and in their middle, and short ones last.
func TestFit(t *testing.T) {
	columns := Columns("name*", "place<", "health")
	table := func() [][]string {
		return [][]string{{"NAME", "PLACE", "HEALTH"}, {"größer-als-sonst", "fleet/deploy/values.yaml:118", "healthy"}, {"a", "b", "new"}}
	}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{80, "größer-als-sonst fleet/deploy/values.yaml:118 healthy"},
		{55, "größer-als-sonst fleet/deploy/values.yaml:118 healthy"},
		{54, "größer-als-sonst …eet/deploy/values.yaml:118 healthy"},
		{40, "größer-als-sonst …ues.yaml:118 healthy"},
		{30, "größer-als-sonst …:118 heal…"},
		{20, "grö…st …:118 heal…"},
	} {
		lines := table()
		fit(columns, lines, tt.width)
		if got := strings.Join(lines[1], " "); got != tt.want || !slices.Equal(lines[2], table()[2]) {
			t.Errorf("%d characters: %q, want %q", tt.width, got, tt.want)
		}
	}
}

// Long names leave what is short whole, and keep their end.
func TestFitKeepsShortTexts(t *testing.T) {
	lines := [][]string{
		{"NAME", "ENDPOINT", "HEALTH", "PROBLEM"},
		{"ghcr.io/acme/controllers/charts/runner-scale-set-controller", "https://ghcr.io", "failing", "credentials rejected (refused)"},
	}
	fit(Columns("name*", "endpoint", "health", "problem"), lines, 70)
	if got, want := strings.Join(lines[1], " "), "ghcr.io/acme/c…set-controller https://ghcr.… failing credentials r…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A column of less worth goes before names are shortened, which may differ in any part.
func TestColumnsOfLessWorthAreLeftOut(t *testing.T) {
	for width, want := range map[int]string{
		80: "harbor-team-040-production|https://harbor.example.com|failing|1m ago",
		59: "harbor-team-040-production|https://harbo…|failing|1m ago",
		50: "harbor-team-040-production|failing|1m ago",
		36: "harbor-team-040-production|failing",
		28: "harbor-tea…production|fail…",
	} {
		lines := [][]string{{"NAME", "ENDPOINT", "HEALTH", "SINCE"},
			{"harbor-team-040-production", "https://harbor.example.com", "failing", "1m ago"}}
		fit(withoutLess(Columns("name*", "endpoint~", "health", "since~~"), lines, width), lines, width)
		if got := strings.Join(lines[1], "|"); got != want {
			t.Errorf("%d characters: %q, want %q", width, got, want)
		}
	}
}

// Ages have seconds, and the future is rounded.
func TestAge(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		0: "now", 12 * time.Second: "12s ago", 119 * time.Second: "1m ago", -12 * time.Second: "in 12s",
		-(30*24*time.Hour - 3*time.Second): "in 30d", -40 * time.Hour: "in 2d", 47 * time.Hour: "1d ago", -90 * time.Minute: "in 2h",
	} {
		if got := Age(now.Add(-ago), now); got != want {
			t.Errorf("%v ago: %q, want %q", ago, got, want)
		}
	}
}
