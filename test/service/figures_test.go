package service_test

import (
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// TestFigures prints what the service costs: go test ./service -run Figures -v. It fails only when
// the service does: times on a busy machine prove nothing.
func TestFigures(t *testing.T) {
	info, err := os.Stat(instance.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	server := instance.Start(t, instance.Options{})
	server.Stop(syscall.SIGTERM)
	var starts []time.Duration
	for range 5 {
		server = instance.Start(t, instance.Options{DataDir: server.DataDir})
		starts = append(starts, server.Started)
		if code := server.Stop(syscall.SIGTERM); code != 0 {
			t.Errorf("SIGTERM: exit code %d, want 0", code)
		}
	}
	slices.Sort(starts)
	server = instance.Start(t, instance.Options{DataDir: server.DataDir})
	time.Sleep(500 * time.Millisecond) // idle
	idle := server.ResidentKiB()
	client := server.Client(t)
	for range 8 {
		client.Login()
	}
	client.Do(http.MethodGet, "/readyz", "").Want(http.StatusOK)
	t.Logf("start to /readyz 200, existing data: median %v, worst %v of %d", starts[len(starts)/2].Round(time.Millisecond),
		starts[len(starts)-1].Round(time.Millisecond), len(starts))
	t.Logf("resident memory: idle %.1f MiB, after 8 logins %.1f MiB", float64(idle)/1024, float64(server.ResidentKiB())/1024)
	t.Logf("binary: %.1f MiB", float64(info.Size())/(1<<20))
}
