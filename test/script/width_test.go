package script_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/test/instance"
)

// shownAt returns the lines that a command prints on a terminal with this many columns.
func shownAt(t *testing.T, columns uint16, args ...string) []string {
	t.Helper()
	terminal := instance.OpenTerminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd := instance.Command(t.Context(), t, args...)
	cmd.Stdout = terminal.Slave
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	_ = terminal.Slave.Close()
	var lines []string
	for line := range terminal.Lines {
		lines = append(lines, strings.TrimRight(line, "\r"))
	}
	return lines
}

// What commands print fits the terminal: names stay whole, long values and help are wrapped.
func TestOutputFitsTheTerminal(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	server.Admin(t, "", "registry", "create", "harbor of the platform team", "--endpoint", "https://harbor.platform.example.com:8443",
		"--org", instance.Org)
	in := []string{"--data-dir", server.DataDir, "--org", instance.Org}
	for _, tt := range []struct {
		columns int
		args    []string
		has     string
	}{
		{70, append([]string{"registry", "list"}, in...), "harbor of the platform team"},
		{100, append([]string{"registry", "list", "--output", "wide"}, in...), "CERTIFICATE NOT AFTER"},
		{60, append([]string{"registry", "show", "harbor of the platform team"}, in...), "harbor.platform"},
		{80, []string{"serve", "--help"}, "Egress policy:"},
		{80, []string{"registry", "list", "--help"}, "Where it acts:"},
	} {
		lines := shownAt(t, uint16(tt.columns), tt.args...)
		if !strings.Contains(strings.Join(lines, "\n"), tt.has) {
			t.Errorf("%v shows no %q:\n%s", tt.args, tt.has, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			words := strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  regwarden ")
			if n := utf8.RuneCountInString(line); words && n > tt.columns {
				t.Errorf("%v: %d characters at %d columns: %q", tt.args, n, tt.columns, line)
			}
		}
	}
}
