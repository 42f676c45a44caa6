package script_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

// shownAt returns the lines that a command prints on a terminal with this many columns.
func shownAt(t *testing.T, columns uint16, args ...string) []string {
	t.Helper()
	terminal := instance.OpenTerminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd := instance.Command(t.Context(), t, args...)
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = terminal.Slave, &errs
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 1 || errs.Len() > 0 { // 1 is a registry that is not valid
		t.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	_ = terminal.Slave.Close()
	var lines []string
	for line := range terminal.Lines {
		lines = append(lines, strings.TrimRight(line, "\r"))
	}
	return lines
}

// unchecked has no scheduled checks, so that the health of registries stays unknown.
var unchecked = instance.Options{Flags: []string{"--watch-interval", "0s"}}

// What commands print fits the terminal: names stay whole, long values and help are wrapped.
func TestOutputFitsTheTerminal(t *testing.T) {
	server := instance.Start(t, unchecked)
	server.Admin(t, "", "registry", "create", "harbor of the platform team", "--endpoint", "https://harbor.platform.example.com:8443",
		"--org", instance.Org)
	server.Admin(t, "", "registry", "create", "ghcr.io/acme/platform/controllers/charts/runner-scale-set-controller", "--endpoint",
		"https://ghcr.example.com", "--org", instance.Org)
	server.Admin(t, "", "apikey", "create", "nightly build of charts", "--email", instance.Email, "--org", instance.Org)
	in := []string{"--data-dir", server.DataDir, "--org", instance.Org}
	for _, tt := range []struct {
		columns int
		args    []string
		has     string
	}{
		{80, append([]string{"registry", "list"}, in...), "harbor of the platform team"},
		{80, append([]string{"registry", "list"}, in...), "…ner-scale-set-controller  helm  unknown  -      -"},
		{80, append([]string{"apikey", "list"}, in...), "nightly build of charts"},
		{100, append([]string{"registry", "list", "--output", "wide"}, in...), "CERTIFICATE NOT AFTER"},
		{60, append([]string{"registry", "show", "harbor of the platform team"}, in...), "harbor.platform"},
		{80, []string{"serve", "--help"}, "Egress policy:"},
		{80, []string{"check", "--help"}, " \\\n      --password-stdin --fail-on warning < password"},
		{80, []string{"registry", "list", "--help"}, "Where it acts:"},
	} {
		lines := shownAt(t, uint16(tt.columns), tt.args...)
		if !strings.Contains(strings.Join(lines, "\n"), tt.has) {
			t.Errorf("%v shows no %q:\n%s", tt.args, tt.has, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			words := strings.Contains(strings.TrimSpace(line), " ")
			if n := utf8.RuneCountInString(line); words && n > tt.columns {
				t.Errorf("%v: %d characters at %d columns: %q", tt.args, n, tt.columns, line)
			}
		}
	}
}

// A list that is watched fits the screen, and says how many rows are not shown.
func TestWatchFitsTheScreen(t *testing.T) {
	server := instance.Start(t, unchecked)
	for _, name := range []string{"a", "b", "c", "d"} {
		server.Admin(t, "", "registry", "create", name, "--endpoint", "https://harbor.example.com", "--org", instance.Org)
	}
	terminal := instance.OpenTerminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 80}); err != nil {
		t.Fatal(err)
	}
	list := instance.StartInTerminal(t, terminal, "registry", "list", "--watch", "--data-dir", server.DataDir, "--org", instance.Org)
	terminal.AwaitText(t, "1 more: see --health, --name, --sort.")
	terminal.AwaitText(t, "Ctrl-C ends this.")
	if err := list.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = list.Wait()            // with the exit code of a signal
	_ = terminal.Slave.Close() // the last writer gone, the lines end
	for range terminal.Lines {
	}
	screen := terminal.Shown()
	screen = screen[strings.LastIndex(screen, "\x1b[2J"):]
	if n := strings.Count(screen, "\n"); n > 7 || !strings.Contains(screen, "\nc ") || strings.Contains(screen, "\nd ") {
		t.Errorf("%d rows: %q", n, screen)
	}
}

// Where a row ends, a place in a file and the bytes of a fingerprint stay whole.
func TestLongWordsAreBrokenAtTheirParts(t *testing.T) {
	ca := testca.New(t, "Example Private CA")
	registry := realregistry.Distribution(t, realregistry.Options{CA: ca})
	dir := filepath.Join(t.TempDir(), "kubernetes/apps/platform-controllers/actions-runner-system/actions-runner-controller")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "repositories.yaml")
	charts := fluxCharts(strings.TrimPrefix(registry.Endpoint, "https://"), testca.New(t, "Other CA").PEM())
	if err := os.WriteFile(file, []byte(charts), 0o600); err != nil {
		t.Fatal(err)
	}
	splitByte := regexp.MustCompile(`(?m):[0-9A-F]$|^[ │]*(:|[0-9A-F](:|\)))`)
	for _, args := range [][]string{{"check", registry.Endpoint}, {"scan", file}} {
		for columns := uint16(60); columns <= 100; columns++ {
			text := strings.Join(shownAt(t, columns, args...), "\n")
			if !strings.Contains(text, "(SHA-256") || splitByte.MatchString(text) {
				t.Fatalf("%s at %d columns:\n%s", args[0], columns, text)
			}
			if args[0] == "scan" && !regexp.MustCompile(`repositories\.yaml:\d+`).MatchString(text) {
				t.Fatalf("the place is not whole at %d columns:\n%s", columns, text)
			}
		}
	}
}
