package scan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/definitions/model"
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

func TestText(t *testing.T) {
	got := text(t, Text{Width: 80})
	for _, part := range []string{
		"  ✓ one.test ", "  valid\n      also in b.yaml:9, b.yaml, c and 1 more\n      warning  redirected: It was redirected.\n",
		"not valid: RegistryAuthFailed (refused)\n      line 1, Secret x/\ufffd]0;title\ufffd\n      The credentials were rejected.\n      field    auth.password\n      hint     Correct them.\n",
		"  ? three.test/charts/\ufffd[31mred\ufffd        unresolved (template)\n      line 1\n      The value is a template.\n      notice   plainHttp: No TLS.\n",
		"not valid (auth.password)\n      line 1\n      auth.password must not end in a line break; remove the trailing newline\n",
		"not checked\n      line 1\n      The scan was interrupted.\n",
		"\ufffd[2Jz.yaml\n  ✗ problem (notYAML): line 3\n      It is not YAML.\n",
		"\n5 found, 1 valid, 2 not valid, 1 not checked, 1 unresolved, 1 skipped,\n1 problem\n--list shows what was skipped.\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	for _, hidden := range []string{"robot", "hunter2", "Git repository"} {
		if strings.Contains(got, hidden) {
			t.Errorf("shows %q", hidden)
		}
	}
	if list := text(t, Text{List: true, Users: true}); !strings.Contains(list, "– skipped (git): line 7\n      A Git repository.") || !strings.Contains(list, "one.test as robot") {
		t.Errorf("--list --show-users:\n%s", list)
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
		want := map[bool]int{false: 0, true: 5}[users]
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

func TestJSONMasksAndEscapes(t *testing.T) {
	var masked, revealed bytes.Buffer
	if err := WriteJSON(&masked, sample(), false); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&revealed, sample(), true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(masked.String(), "hunter2") || !strings.Contains(masked.String(), `"password": "********"`) {
		t.Errorf("not masked:\n%s", masked.String())
	}
	if !strings.Contains(revealed.String(), `"password": "hunter2\n"`) {
		t.Errorf("no secret with --show-secrets:\n%s", revealed.String())
	}
	for row := range strings.Lines(masked.String()) {
		if row = strings.TrimSuffix(row, "\n"); strings.ContainsFunc(row, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("unprintable: %q", row)
		}
	}
	var decoded struct {
		Registries []struct {
			Definition regcheck.Definition
			Report     *regcheck.Report
		}
		Problems []model.Problem
	}
	for _, out := range []*bytes.Buffer{&masked, &revealed} {
		if err := json.Unmarshal(out.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := decoded.Registries[2].Definition.BaseContentPath; got != sample().Registries[2].Definition.BaseContentPath {
			t.Errorf("path %q", got)
		}
	}
	if got := string(escapeUnprintable([]byte("a\u009b\U000e0001é"))); got != `a\u009b\udb40\udc01é` {
		t.Errorf("escaped: %s", got)
	}
}
