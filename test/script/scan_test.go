package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// samples has the files of every format, with marked secrets.
const samples = "../../definitions/testdata/samples"

// noAuth writes a definition without credentials to a file.
func noAuth(t *testing.T, name, endpoint string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(`{"endpoint": "`+endpoint+`", "auth": {"type": "noAuth"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What a scan has found out is shown when it is interrupted.
func TestSignalEndsAScanWithWhatIsDone(t *testing.T) {
	t.Run("without a baseline", func(t *testing.T) { signalScan(t) })
	t.Run("whose baseline is not written", func(t *testing.T) {
		signalScan(t, "--write-baseline", filepath.Join(t.TempDir(), "baseline.json"))
	})
}

func signalScan(t *testing.T, flags ...string) {
	t.Helper()
	open := realregistry.Distribution(t, realregistry.Options{})
	endpoint, asked := silent(t)
	scan := start(t, nil, append([]string{"scan", "--concurrency", "1", noAuth(t, "a.json", open.Endpoint), noAuth(t, "b.json", endpoint),
		noAuth(t, "c.json", endpoint+"/sub")}, flags...)...)
	<-asked
	scan.signal(t, syscall.SIGINT)
	_ = scan.Wait() // the exit code is compared below
	if code := scan.ProcessState.ExitCode(); code != 130 || scan.errs.String() != "regwarden: interrupted; not checked: 2\n" {
		t.Errorf("exit code %d, standard error %q", code, scan.errs.String())
	}
	if out := scan.out.String(); !strings.Contains(out, "✓ valid: 1 place\n") ||
		!strings.HasSuffix(out, "\n3 found, 1 valid, 2 not checked\n") {
		t.Errorf("standard output:\n%s", out)
	}
}

// The progress is on a terminal only, and its line is removed.
func TestProgressOfAScan(t *testing.T) {
	open := realregistry.Distribution(t, realregistry.Options{})
	file := noAuth(t, "a.json", open.Endpoint)
	terminal := instance.OpenTerminal(t)
	cmd := instance.StartInTerminal(t, terminal, "scan", file)
	err := cmd.Wait()
	_ = terminal.Slave.Close() // the last writer gone, the lines end
	var shown strings.Builder
	for line := range terminal.Lines {
		shown.WriteString(line + "\n")
	}
	address := strings.TrimPrefix(open.Endpoint, "http://")
	if progress := "\r\x1b[K0/1  " + address + "\r\x1b[K"; err != nil || !strings.HasPrefix(shown.String(), progress) {
		t.Errorf("%v, no %q at the begin of %q", err, progress, shown.String())
	}
	if result := instance.Run(t, "", "scan", file); result.Err != "" || strings.Contains(result.Out, "\x1b") {
		t.Errorf("without a terminal: %q %q", result.Err, result.Out)
	}
}

// No output shows a secret of a sample, nor its base64.
func TestScanShowsNoSecret(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	for _, args := range [][]string{
		{"--list"}, {"--list", "--explain"}, {"--list", "--show-users"}, {"--list", "-o", "json"}, {"--list", "--as", "docker"},
		{"--list", "--as", "kubelet"}, {"--list", "--as", "podman"},
		{"--list", "--report", "junit=" + report}, {"--list", "--report", "sarif=" + report}, {"--list", "--report", "github"},
		{"--list", "--report", "gitlab=" + report},
		{"--list", "--report", "openmetrics=" + report}, {"--list", "--report", "junit=" + report, "--show-users"},
	} {
		result := instance.Run(t, "", append([]string{"scan", samples}, args...)...)
		written, err := os.ReadFile(report)
		if strings.Contains(strings.Join(args, " "), report) && err != nil {
			t.Errorf("%v: %v", args, err)
		}
		_ = os.Remove(report) // is not there without --report
		if result.Code != 1 || len(result.Out) < 1000 {
			t.Errorf("%v: exit code %d, %s%s", args, result.Code, result.Err, result.Out)
		}
		if found := marked.FindString(result.Out + result.Err + string(written)); found != "" {
			t.Errorf("%v shows %q", args, found)
		}
	}
	if result := instance.Run(t, "", "scan", samples, "--list", "-o", "json", "--show-secrets"); !marked.MatchString(result.Out) {
		t.Error("--show-secrets shows no secret")
	}
}

// marked matches the secrets of samples: hunter2, also as a part of base64, where it begins at any of three bits.
var marked = regexp.MustCompile(`hunter2|aHVudGVyM|h1bnRlcj|odW50ZXIy`)

// A scan without the network starts no process, opens no file outside of the directory and no socket.
func TestScanListTouchesNothingElse(t *testing.T) {
	strace := needs.Program(t, "strace", "strace")
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.CopyFS(tree, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	for i, target := range []string{"/etc/passwd", "..", "/etc/hosts"} {
		if err := os.Symlink(target, filepath.Join(tree, fmt.Sprintf("link%d.json", i))); err != nil {
			t.Fatal(err)
		}
	}
	program, calls := instance.Binary(t), filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=execve,execveat,open,openat,openat2,socket,connect,sendto,bind", "-o", calls,
		program, "scan", "--list", "-o", "json", tree)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, _ := cmd.Output() // the exit code is 1, since the samples have problems
	text, err := os.ReadFile(calls)
	if err != nil || len(out) < 1000 {
		t.Fatalf("%v\n%s", err, out)
	}
	started, opened := 0, 0
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(line, " ")
		call = strings.TrimSpace(call)
		name, _, _ := strings.Cut(call, "(")
		switch name {
		case "execve":
			started++
		case "open", "openat", "openat2":
			if path := firstString.FindStringSubmatch(call); path == nil || path[1] != program && !mayOpen(path[1], tree) {
				t.Errorf("opens outside of the directory: %s", line)
			}
			opened++
		case "execveat", "socket", "connect", "sendto", "bind":
			t.Errorf("not allowed: %s", line)
		}
	}
	if started != 1 || opened < 50 {
		t.Errorf("%d programs were started and %d files opened", started, opened)
	}
}

var firstString = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// mayOpen reports whether a scan may open a path: in the tree, relative to a directory of it, or what Go's runtime reads of the machine.
func mayOpen(path, tree string) bool {
	if filepath.IsAbs(path) {
		return path == tree || strings.HasPrefix(path, tree+"/") || strings.HasPrefix(path, "/sys/") ||
			strings.HasPrefix(path, "/proc/") || path == "/dev/null"
	}
	return filepath.IsLocal(path)
}
