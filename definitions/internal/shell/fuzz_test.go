package shell_test

import (
	"testing"

	"github.com/regwarden/regwarden/definitions/internal/shell"
)

// Every script is split, and its commands are not larger than it is.
func FuzzCommands(f *testing.F) {
	f.Add("sudo -E X=1 echo -n 'a' | docker login -u \"b $C\" --password-stdin d.test <<< `e` && f $(g (h)) ${{ i }} <<-'E' " +
		"2>&1\nj\nE\n# k")
	f.Fuzz(func(t *testing.T, script string) {
		words := 0
		for command := range shell.Commands(script) {
			words += len(command.Words)
			command.Parse(1, []string{"-x"})
			for _, w := range command.Words {
				if len(w.Text) > len(script) {
					t.Errorf("the word %q is longer than the script", w.Text)
				}
			}
		}
		if words > len(script) {
			t.Errorf("%d words", words)
		}
	})
}
