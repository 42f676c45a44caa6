package manage

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/api"
)

// hostile clears a terminal in two ways, reverses text, adds a line to a table, and is a command of a pipeline.
const hostile = "a\x1b[2Jb\u009b2Jc\u202ed\x7fe\tf\n##[error]g\u2028h\U000e0041"

// mustBeHarmless fails if a terminal, a pipeline or a reader could take a part of text for more than text.
func mustBeHarmless(t *testing.T, format, text string, lines int) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("%s: %q controls a terminal", format, text)
	}
	if lines > 0 && strings.Count(text, "\n") != lines {
		t.Errorf("%s: %q has not %d lines", format, text, lines)
	}
	if lines > 0 && strings.Contains(text, "##[error]") {
		t.Errorf("%s: %q controls a pipeline", format, text)
	}
}

func TestTextOfServersIsShown(t *testing.T) {
	shown := columns("name", "list", "url+", "data-")
	row := []any{hostile, []string{hostile}, hostile, hostile}
	for format, lines := range map[string][2]int{"text": {2, 4}, "wide": {2, 4}, "name": {1, 1}, "json": {}, "yaml": {}} {
		for kind, show := range []func(*output) error{
			func(o *output) error { return o.table(shown, [][]any{row}) },
			func(o *output) error { return o.record(shown, row) },
		} {
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			if err := show(&output{cmd: cmd, format: format}); err != nil {
				t.Fatal(err)
			}
			mustBeHarmless(t, format, out.String(), lines[kind])
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
			if value.(map[string]any)["name"] != hostile {
				t.Errorf("%s changed the value to %q", format, value)
			}
		}
	}
}

func TestTextOfServersInMessages(t *testing.T) {
	var out, messages bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SetContext(t.Context())
	if err := (&call{cmd: cmd}).created(hostile, "Created %s.", hostile); err != nil {
		t.Fatal(err)
	}
	mustBeHarmless(t, "standard output", out.String(), 1)
	mustBeHarmless(t, "standard error", messages.String(), 1)
	refused := &api.Error{Details: json.RawMessage(`{"fields":[{"field":"name","problem":` + string(must(json.Marshal(hostile))) + `}]}`)}
	text, _, _ := strings.Cut(explain(cmd, refused).Error(), "\nSee '")
	mustBeHarmless(t, "problem", text+"\n", 1)
}

// fullDisk fails each write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFailedWritesAreReported(t *testing.T) {
	for _, format := range Formats {
		cmd := &cobra.Command{}
		cmd.SetOut(fullDisk{})
		o := &output{cmd: cmd, format: format}
		if err := o.table(columns("name"), [][]any{{"a"}}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a table as %s: %v", format, err)
		}
		if err := o.record(columns("name"), []any{"a"}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a record as %s: %v", format, err)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// noLocal is a Local without a store.
type noLocal struct{ Local }

func (noLocal) AddFlags(*pflag.FlagSet) {}
func (noLocal) Source() string          { return "default" }

// A name is inserted into a command line, where only a name that can be shown is what it seems.
func TestCompletedNamesCanBeShown(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.Flags().String("server", "", "")
	t.Setenv(EnvServer, "https://127.0.0.1:1")
	t.Setenv(EnvAPIKey, "key")
	names, _ := Program{NewLocal: func() Local { return noLocal{} }}.completeFlag(func(*call) ([]string, error) {
		return []string{"plain", hostile, "größe 1"}, nil
	})(cmd, nil, "")
	if got := strings.Join(names, ","); got != "größe 1,plain" {
		t.Errorf("completed %q", got)
	}
}

// A table fits the terminal: the longest texts are shortened, the others stay.
func TestFit(t *testing.T) {
	table := func() [][]string {
		return [][]string{{"NAME", "ENDPOINT", "HEALTH"}, {"größer-als-sonst", "https://harbor.example.com:8443", "healthy"}, {"a", "b", "new"}}
	}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{80, "größer-als-sonst https://harbor.example.com:8443 healthy"},
		{58, "größer-als-sonst https://harbor.example.com:8443 healthy"},
		{57, "größer-als-sonst https://harbor.example.com:84… healthy"},
		{40, "größer-als-so… https://harbor… healthy"},
		{27, "größer-… https:/… healthy"},
		{10, "größ… http… heal…"},
	} {
		lines := table()
		fit(lines, tt.width)
		if got := strings.Join(lines[1], " "); got != tt.want || !slices.Equal(lines[2], table()[2]) {
			t.Errorf("%d characters: %q, want %q", tt.width, got, tt.want)
		}
	}
}
