package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/command"
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
			if !cmd.HasSubCommands() && (!strings.Contains(cmd.Long, "Exit codes: 0") || !strings.HasPrefix(cmd.Example, "  regwarden "+command.ShortPath(cmd))) {
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
