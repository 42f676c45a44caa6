package script_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/test/instance"
)

// The demo leaves a running service with healthy and failing registries, has delivered an alert and scanned a repository. Ctrl-C ends it
// and removes its data.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "demo")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./demo")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	demo := exec.Command(program, instance.Binary(t))
	demo.Env = append(os.Environ(), "TMPDIR="+dir)
	demo.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // it then ends its service
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // unless it has ended
		_ = demo.Process.Signal(syscall.SIGTERM)
		_ = demo.Wait()
	})
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = demo.Process.Signal(syscall.SIGTERM) })
	defer watchdog.Stop()
	lines, shown := bufio.NewScanner(stdout), ""
	for lines.Scan() && !strings.Contains(lines.Text(), "registry list") {
		shown += lines.Text() + "\n"
		if text := lines.Text(); utf8.RuneCountInString(text) > 80 && !strings.Contains(text, " login ") { // a command stays whole
			t.Errorf("more than 80 characters: %q", text)
		}
	}
	for _, want := range []string{"✓ charts ", "! expires-soon  valid; ", "✗ lost-layer ", `alert: Registry "charts-ci" (`,
		"3 found, 1 valid, 2 not valid", "Ready after "} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
	url := regexp.MustCompile(`console +(http\S+)/console/`).FindStringSubmatch(shown)
	if url == nil {
		t.Fatal("no console")
	}
	service, err := client.New(url[1], client.Config{Email: "admin@acme.example", Org: "acme", Password: "a fine demo passphrase"})
	if err != nil {
		t.Fatal(err)
	}
	if counts, err := service.Registries.CountHealth(t.Context()); err != nil || counts.Healthy != 2 || counts.Failing != 3 {
		t.Errorf("health %+v, %v", counts, err)
	}
	if page, err := http.Get(url[1] + "/console/"); err != nil || page.Body.Close() != nil || page.StatusCode != http.StatusOK {
		t.Errorf("console: %v", err)
	}
	if err := demo.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it has ended
	}
	if err := demo.Wait(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := http.Get(url[1]); err == nil {
		t.Error("the service still runs")
	}
}
