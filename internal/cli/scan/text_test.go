package scan

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/regcheck"
)

// sample has every kind of entry, and names that control a terminal.
func sample() model.Result {
	valid := found("one.test", "robot", "hunter2")
	valid.Report, valid.Consumer = &regcheck.Report{Valid: true, Warnings: []regcheck.Warning{{Code: regcheck.WarnRedirected,
		Message: "It was redirected."}}}, model.Flux
	valid.Sources = append(valid.Sources, model.Source{File: "b.yaml", Line: 9}, model.Source{File: "b.yaml"}, model.Source{File: "c"},
		model.Source{File: "d"})
	bad := found("two.test", "robot", "hunter2")
	bad.Sources[0].Object = "Secret x/\x1b]0;title\a"
	bad.Report = &regcheck.Report{Code: regcheck.CodeAuthFailed, Reason: "refused", Message: "The credentials were rejected.",
		Field: "auth.password", Hint: "Correct them."}
	unresolved := found("three.test", "", "")
	unresolved.Resolution, unresolved.Reason, unresolved.Detail = model.Unresolved, model.UnresolvedTemplate, "The value is a template."
	unresolved.Definition.BaseContentPath = "charts/\x1b[31mred\u202e"
	unresolved.Notices = []model.Notice{{Code: model.NoticePlainHTTP, Message: "No TLS."}}
	unusable := found("four.test", "robot", "hunter2\n")
	fault := found("five.test", "robot", "hunter2")
	fault.NotChecked = Interrupted
	result := model.Result{Registries: []model.Registry{valid, bad, unresolved, unusable, fault},
		Problems: []model.Problem{{Source: model.Source{File: "\x1b[2Jz.yaml", Line: 3}, Reason: model.ProblemNotYAML,
			Message: "It is\nnot YAML."}},
		Skipped: []model.Skipped{{Source: model.Source{File: "a.yaml", Line: 7}, Reason: model.SkipGit, Message: "A Git repository."}}}
	result.Validate()
	return result
}

func text(t *testing.T, how Text) string {
	t.Helper()
	var out strings.Builder
	if err := how.Write(&out, sample()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What was checked is grouped by cause, the most severe first, with every place.
func TestText(t *testing.T) {
	got := text(t, Text{Width: 80})
	after := 0
	for _, part := range []string{
		"✗ RegistryAuthFailed/refused: 1 place\n  The credentials were rejected.\n  hint Correct them.\n" +
			"    a.yaml:1  Secret x/\ufffd]0;title\ufffd  https://two.test\n\n",
		"✗ invalidDefinition: 1 place\n  the password must not end in a line break; remove the trailing newline.\n" +
			"    a.yaml:1  https://four.test\n",
		"✗ problem/notYAML: 1 place\n  It is not YAML.\n    \ufffd[2Jz.yaml:3\n",
		"! notChecked: 1 place\n  The scan was interrupted.\n",
		"! warning/redirected: 5 places\n  It was redirected.\n    a.yaml:1  https://one.test (flux)\n" +
			"    b.yaml:9  https://one.test (flux)\n",
		"? unresolved/template: 1 place\n  The value is a template.\n",
		"• notice/plainHttp: 1 place\n  No TLS.\n",
		"✓ valid: 5 places\n    a.yaml:1  https://one.test (flux)\n",
		"\n5 found, 1 valid, 2 not valid, 1 not checked, 1 unresolved, 1 skipped,\n1 problem\n--list shows what was skipped.\n",
	} {
		at := strings.Index(got, part)
		if at < after {
			t.Errorf("no %q after the %d characters before it in\n%s", part, after, got)
		}
		after = max(after, at)
	}
	for _, hidden := range []string{"robot", "hunter2", "Git repository"} {
		if strings.Contains(got, hidden) {
			t.Errorf("shows %q", hidden)
		}
	}
}

// What was found, and how credentials were chosen, is shown by file.
func TestTextByFile(t *testing.T) {
	list := text(t, Text{List: true, Users: true})
	for _, part := range []string{
		"– skipped (git): line 7\n      A Git repository.", "  ✓ one.test as robot ",
		"\n      also in b.yaml:9, b.yaml, c and 1 more\n      warning  redirected: It was redirected.\n",
		"  ? three.test/charts/\ufffd[31mred\ufffd", "unresolved (template)\n      line 1\n      The value is a template.\n",
		"\ufffd[2Jz.yaml\n  ✗ problem (notYAML): line 3\n      It is not YAML.\n",
	} {
		if !strings.Contains(list, part) {
			t.Errorf("no %q in\n%s", part, list)
		}
	}
	if steps := text(t, Text{Steps: true}); !strings.Contains(steps, "\na.yaml\n  ✓ one.test ") {
		t.Errorf("--explain:\n%s", steps)
	}
}

// Places with the same code and another message are apart; a summary has neither the messages nor all places.
func TestPlacesWithOtherMessages(t *testing.T) {
	var result model.Result
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		r := found(name+".test", "", "")
		r.Report = &regcheck.Report{Code: regcheck.CodeContentNotFound, Message: "No tags.", Hint: "Push one."}
		if name == "b" {
			r.Report.Message = "No repository."
		}
		result.Registries = append(result.Registries, r)
	}
	var all, summary strings.Builder
	_ = (Text{}).Write(&all, result) // a builder does not fail
	_ = (Text{Summary: true}).Write(&summary, result)
	if text := all.String(); strings.Count(text, "Push one.") != 2 || strings.Count(text, ".test") != 12 ||
		!strings.Contains(text, "  No repository.\n  hint Push one.\n    a.yaml:1  https://b.test\n") {
		t.Errorf("all:\n%s", text)
	}
	if text := summary.String(); strings.Count(text, "Push one.") != 1 || strings.Count(text, ".test") != 10 ||
		!strings.Contains(text, "and 2 more") || strings.Contains(text, "No repository") {
		t.Errorf("summary:\n%s", text)
	}
}

// --verbose counts what is left out without a word.
func TestVerbose(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"a.go": "package a", "b.md": "b", "c.yaml": "c: 1", "d.yaml": "apiVersion: [\nkind: x",
		"e.json":      "\x00",
		"docs/f.yaml": "", "test.json": `{"endpoint": "https://a.test", "auth": {"type": "noAuth"}}`} {
		write(t, name, content)
	}
	if err := errors.Join(os.Symlink("a.go", "link"), os.Truncate("b.md", 0), os.WriteFile("large.yaml", nil, 0o600),
		os.Truncate("large.yaml", 9<<20)); err != nil {
		t.Fatal(err)
	}
	result, err := Read(t.Context(), []string{"."}, nil, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var quiet, verbose strings.Builder
	_ = (Text{Width: 120}).Write(&quiet, result)
	_ = (Text{Width: 120, Verbose: true}).Write(&verbose, result)
	want := "Not parsed: 1 file of no known program.\n" +
		"Not opened: 2 by name (source code, documentation, archives), 1 not regular, 1 over 8 MiB.\n" +
		"Without definitions: 1 of no known format, 1 binary.\n"
	if !strings.HasSuffix(verbose.String(), want) || !strings.HasPrefix(verbose.String(), quiet.String()) {
		t.Errorf("%s\nwant %s", verbose.String(), want)
	}
}

// A registry may repeat the username, which only --show-users shows.
func TestTextMasksUsersOfMessages(t *testing.T) {
	r := found("one.test", "robot$ci", "hunter2")
	r.Report = &regcheck.Report{Code: regcheck.CodeAuthFailed, Message: "Unknown user robot$ci robot$ci.", Hint: "Ask for robot$ci.",
		Warnings: []regcheck.Warning{{Code: regcheck.WarnRedirected, Message: "To /robot$ci/."}}}
	for _, users := range []bool{false, true} {
		var out strings.Builder
		if err := (Text{Users: users}).Write(&out, model.Result{Registries: []model.Registry{r}}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 0, true: 6}[users] // the target of each cause has it too
		if n := strings.Count(out.String(), "robot$ci"); n != want || !users && strings.Count(out.String(), "********") != 4 {
			t.Errorf("shown %d times, want %d:\n%s", n, want, out.String())
		}
	}
}

// No row is wider than the terminal, and color changes nothing but escape sequences.
func TestTextFitsTheTerminal(t *testing.T) {
	for _, width := range []int{40, 57, 80, 120} {
		plain := text(t, Text{Width: width})
		for row := range strings.Lines(plain) {
			if n := utf8.RuneCountInString(strings.TrimRight(row, "\n")); n > width {
				t.Errorf("a row of %d in a terminal of %d: %q", n, width, row)
			}
			if strings.ContainsFunc(strings.TrimRight(row, "\n"), unicode.IsControl) {
				t.Errorf("control characters in %q", row)
			}
		}
		colored := text(t, Text{Width: width, Color: true})
		for _, sgr := range []string{green, red, yellow, faint, bold} {
			colored = strings.ReplaceAll(colored, "\x1b["+sgr+"m", "")
		}
		if colored = strings.ReplaceAll(colored, "\x1b[0m", ""); colored != plain {
			t.Errorf("with color, at %d:\n%s\nwithout:\n%s", width, colored, plain)
		}
	}
}

func TestEmptyResult(t *testing.T) {
	var out strings.Builder
	if err := (Text{}).Write(&out, model.Result{}); err != nil || out.String() != "No registry definitions found.\n" {
		t.Errorf("%q %v", out.String(), err)
	}
}

// printed returns what --output prints of a result.
func printed(t *testing.T, format string, result model.Result, secrets bool) string {
	t.Helper()
	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	if err := command.PrintStructured(cmd, format, Shown(result, secrets)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStructuredMasksAndEscapes(t *testing.T) {
	for format, quote := range map[string]string{"json": `"`, "yaml": ""} {
		masked, revealed := printed(t, format, sample(), false), printed(t, format, sample(), true)
		if strings.Contains(masked, "hunter2") || !strings.Contains(masked, quote+"password"+quote+": ") {
			t.Errorf("not masked:\n%s", masked)
		}
		if !strings.Contains(revealed, "hunter2") {
			t.Errorf("no secret with --show-secrets:\n%s", revealed)
		}
		for row := range strings.Lines(masked) {
			if row = strings.TrimSuffix(row, "\n"); strings.ContainsFunc(row, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("unprintable: %q", row)
			}
		}
		decodedHasNames(t, masked)
		decodedHasNames(t, revealed)
	}
}

// decodedHasNames reads what was printed, JSON being YAML, and looks for a name that controls a terminal.
func decodedHasNames(t *testing.T, text string) {
	t.Helper()
	var decoded struct {
		Registries []struct{ Definition map[string]any }
	}
	if err := yaml.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(err)
	}
	if got := decoded.Registries[2].Definition["baseContentPath"]; got != sample().Registries[2].Definition.BaseContentPath {
		t.Errorf("path %q", got)
	}
}
