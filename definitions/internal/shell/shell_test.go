package shell_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/definitions/internal/shell"
)

func lit(words ...string) (list []shell.Word) {
	for _, w := range words {
		list = append(list, shell.Word{Text: w, Literal: true})
	}
	return list
}

func TestCommands(t *testing.T) {
	for script, want := range map[string][]shell.Command{
		"":                             nil,
		"# docker login":               nil,
		"a b#c 'd e' \"f\\\"g\" h\\ i": {{Words: lit("a", "b#c", "d e", `f"g`, "h i")}},
		`a "b c; d"`:                   {{Words: lit("a", "b c; d")}},
		"a; b && c || d & (e)":         {{Words: lit("a")}, {Words: lit("b")}, {Words: lit("c")}, {Words: lit("d")}, {Words: lit("e")}},
		"a \\\n  b\nc":                 {{Words: lit("a", "b")}, {Words: lit("c"), Line: 2}},
		"sudo -E X=1 a 2>&1 >f b":      {{Words: lit("a", "b")}},
		"if ! a; then b; fi":           {{Words: lit("a")}, {Words: lit("b")}, {Words: lit("fi")}},
		"a | b |& c": {{Words: lit("a")}, {Words: lit("b"), Input: &shell.Command{Words: lit("a")}},
			{Words: lit("c"), Input: &shell.Command{Words: lit("b")}}},
		"a <<< 'x' b":         {{Words: lit("a", "b"), HereString: &shell.Word{Text: "x", Literal: true}}},
		"a < f":               {{Words: lit("a"), Input: &shell.Command{Words: lit("cat")}}},
		"a <<-'E'\nb\n\tE\nc": {{Words: lit("a"), HereString: &shell.Word{Text: "b\n", Literal: true}}, {Words: lit("c"), Line: 3}},
		"a <<E\n\nE\nc":       {{Words: lit("a"), HereString: &shell.Word{Text: "\n", Literal: true}}, {Words: lit("c"), Line: 3}},
		"a <<\nb\n\nc":        {{Words: lit("a"), HereString: &shell.Word{Text: "b\n", Literal: true}}, {Words: lit("c"), Line: 3}},
		"a <<E\n$b\nE\nc":     {{Words: lit("a"), HereString: &shell.Word{Text: "$b\n"}}, {Words: lit("c"), Line: 3}},
		"a <<'E'\n$b\nE\nc":   {{Words: lit("a"), HereString: &shell.Word{Text: "$b\n", Literal: true}}, {Words: lit("c"), Line: 3}},
		`a "b\c\"\\" d\e`:     {{Words: lit("a", `b\c"\`, "de")}},
		"a <<E | b\nc\nE": {{Words: lit("a"), HereString: &shell.Word{Text: "c\n", Literal: true}},
			{Words: lit("b"), Input: &shell.Command{Words: lit("a"), HereString: &shell.Word{Text: "c\n", Literal: true}}}},
		"a p$X '$X' ${X:-}} $(b $(c) d) `e` ${{ f | g }}h '${{ i }}'": {{Words: []shell.Word{{"a", true}, {"p", false},
			{"$X", true}, {"", false},
			{"", false}, {"", false}, {"", false}, {"", false}}}},
	} {
		if diff := cmp.Diff(want, slices.Collect(shell.Commands(script))); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", script, diff)
		}
	}
}

func TestParse(t *testing.T) {
	for script, want := range map[string]struct {
		arguments []shell.Word
		options   shell.Options
	}{
		`docker login -u robot --password="$X" --tls-verify=false --config dir -k host last`: {lit("host", "last"), shell.Options{
			"-u": {"robot", true}, "--password": {}, "--tls-verify": {"false", true}, "--config": {"dir", true}, "-k": {"", true}}},
		`docker login -urobot -p=secret host`: {lit("host"), shell.Options{"-u": {"robot", true}, "-p": {"secret", true}}},
		`docker login -p"$X" host`:            {lit("host"), shell.Options{"-p": {}}},
		`docker login -u -psecret host`:       {lit("host"), shell.Options{"-u": {"-psecret", true}}},
		`docker login - -p`:                   {lit("-"), shell.Options{}},
		`docker`:                              {nil, shell.Options{}},
	} {
		command := slices.Collect(shell.Commands(script))[0]
		arguments, options := command.Parse(2, []string{"-k"})
		if diff := cmp.Diff(want.arguments, arguments) + cmp.Diff(want.options, options); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", script, diff)
		}
	}
	options := shell.Options{"-u": {"a", true}}
	if options.Get("-p", "--password") != nil || options.Get("--username", "-u").Text != "a" {
		t.Error("an option is not found by its names")
	}
}

func TestIs(t *testing.T) {
	command := slices.Collect(shell.Commands("docker login $X"))[0]
	if !command.Is("docker login") || command.Is("docker") == command.Is("podman") || command.Is("docker login x") ||
		(*shell.Command)(nil).Is("a") || !command.Is("") {
		t.Error("the command is not recognized")
	}
	if two := slices.Collect(shell.Commands("docker login"))[0]; !two.Is("docker login") {
		t.Error("a command of two words is not recognized")
	}
	for words, known := range map[int]bool{199: true, 200: true, 201: false, 1000: false} {
		command := slices.Collect(shell.Commands(strings.Repeat("a ", words)))[0]
		if command.Is("a") != known || len(command.Words) > 201 {
			t.Errorf("a command of %d words, of which %d are read: %t", words, len(command.Words), !known)
		}
	}
}

// TestAssignments tries every character as the only one of the name of a variable, and of the rest of it.
func TestAssignments(t *testing.T) {
	const special = " \t\r\n;&|<>()'\"\\`$#"
	for c := '!'; c < utf8.RuneSelf; c++ {
		if strings.ContainsRune(special, c) || c == '-' { // that is an option
			continue
		}
		isName := c == '_' || unicode.IsDigit(c) || unicode.IsLetter(c)
		for _, assignment := range []string{string(c) + "=1", "X" + string(c) + "=1"} {
			command := slices.Collect(shell.Commands(assignment + " a"))[0]
			if command.Is("a") != isName && !(c == '=' && assignment[0] == 'X') {
				t.Errorf("%s: %v", assignment, command.Words)
			}
		}
	}
}
