package script_test

import (
	"net"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// A terminal shows which stage a check waits in, and nothing of it in the end.
func TestActivity(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	instance.Binary(t) // is built before the time of the command begins
	terminal := instance.OpenTerminal(t)
	check := instance.StartInTerminal(t, terminal, "check", "http://"+silent.Addr().String(), "--timeout", "60s")
	terminal.AwaitText(t, "… api")
	if err := silent.Close(); err != nil { // which resets the connection
		t.Fatal(err)
	}
	if err := check.Wait(); check.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, terminal.Shown())
	}
	terminal.AwaitText(t, "not valid")
	shown := terminal.Shown()
	after := shown[strings.LastIndex(shown, "… api"):]
	if _, rest, erased := strings.Cut(after, "\r\x1b[K"); !erased || strings.Contains(rest, "…") {
		t.Errorf("the line remains: %q", after)
	}
}
