package script_test

import (
	"os"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// A command whose output cannot be written says so, also where a function without an error prints it.
func TestOutputThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	data := instance.Start(t, instance.Options{}).DataDir
	for _, args := range [][]string{{"audit", "verify", "--data-dir", data}, {"org", "list", "--data-dir", data}, {"--help"}, {"version"}} {
		command := prepare(t, nil, args...)
		command.Stdout = full
		_ = command.Run() // the exit code says more
		if command.ProcessState.ExitCode() != 1 || !strings.HasSuffix(command.errs.String(), "no space left on device\n") {
			t.Errorf("%v: %v\n%s", args, command.ProcessState, command.errs.String())
		}
	}
}
