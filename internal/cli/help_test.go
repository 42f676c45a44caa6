package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
)

func TestShortHelpFitsOneLine(t *testing.T) {
	count := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		count++
		if n := utf8.RuneCountInString(cmd.Short); n == 0 || n > 60 || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %q has %d characters, want 1–60 and no period", cmd.CommandPath(), cmd.Short, n)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot())
	if count < 30 {
		t.Errorf("%d commands were checked", count)
	}
}

func TestHelpHasExitCodesAndExamples(t *testing.T) {
	root := newRoot()
	for _, cmd := range root.Commands() {
		eachListed(cmd, func(cmd *cobra.Command) {
			if !cmd.HasSubCommands() && (!strings.Contains(cmd.Long, "Exit codes: 0") ||
				!strings.HasPrefix(cmd.Example, "  regwarden "+command.ShortPath(cmd))) {
				t.Errorf("%s: the help lacks exit codes or examples: %q, %q", cmd.CommandPath(), cmd.Long, cmd.Example)
			}
		})
	}
	for _, section := range strings.Split(helpTexts, "\n=== ")[1:] {
		path, _, _ := strings.Cut(section, "\n")
		if cmd, _, err := root.Find(strings.Fields(path)); err != nil || command.ShortPath(cmd) != path {
			t.Errorf("help.txt describes %q, which does not exist", path)
		}
	}
}

// A root that has only the branch of a command line must treat that command as the whole root does.
func TestEachBranchIsTheSameAlone(t *testing.T) {
	for _, b := range branches(newProgram("dev")) {
		whole, _, _ := newRoot().Find([]string{b.name})
		root := newRoot(b.name, "--help")
		if only := root.Commands(); len(only) != 1 || only[0].Name() != b.name {
			t.Fatalf("%s: the root has %d commands", b.name, len(only))
		}
		if got, want := helpOf(root.Commands()[0]), helpOf(whole); got != want {
			t.Errorf("%s: alone its help is\n%s\nand with the others\n%s", b.name, got, want)
		}
	}
}

// helpOf returns the help of a command and of those below it.
func helpOf(cmd *cobra.Command) string {
	text := cmd.CommandPath() + "\n" + cmd.Long + cmd.UsageString()
	for _, sub := range cmd.Commands() {
		text += helpOf(sub)
	}
	return text
}

func TestBranchOfACommandLine(t *testing.T) {
	all := branches(newProgram("dev"))
	for line, want := range map[string]string{
		"version": "version", "registry list --org a": "registry", "__complete registry list ": "registry",
		"__completeNoDesc user ": "user",
		"":                       "", "help version": "", "--help version": "", "versoin": "", "__complete": "", "__complete ver": "",
		"__complete version": "",
		"__complete help ":   "",
	} {
		got := namedBy(strings.Split(line, " "), all)
		if want == "" && len(got) != len(all) || want != "" && (len(got) != 1 || got[0].name != want) {
			t.Errorf("%q: %d branches, the first of them %s", line, len(got), got[0].name)
		}
	}
}
