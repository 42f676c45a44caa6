package abuse_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// A full disk takes a server out of the balancer's list, and not the process out of service: what needs no write goes on.
func TestAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{DiskMiB: 16})
	client := server.Client(t)
	token := client.Login().Authorization

	filler := fill(t, filepath.Join(server.Disk(), "filler"))
	login := instance.Credentials(instance.Email, instance.Org, instance.Password)
	client.Do(http.MethodPost, "/v1/auth/authenticate", login).Want(http.StatusServiceUnavailable)
	client.Do(http.MethodGet, "/readyz", "").Want(http.StatusServiceUnavailable)
	client.Do(http.MethodGet, "/healthz", "").Want(http.StatusOK)
	client.Do(http.MethodGet, "/v1/projects", "", "Authorization", token).Want(http.StatusOK)
	time.Sleep(1100 * time.Millisecond) // the next probe, which fails too
	client.Do(http.MethodGet, "/readyz", "").Want(http.StatusServiceUnavailable)

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	ready := false
	for end := time.Now().Add(10 * time.Second); !ready && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ready = client.Do(http.MethodGet, "/readyz", "").Status == http.StatusOK
	}
	if !ready {
		t.Fatal("not ready 10 s after there was room again, without a request that writes")
	}
	client.Do(http.MethodPost, "/v1/auth/authenticate", login).Want(http.StatusOK)
}

// fill takes all the room that is left.
func fill(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, piece := range [][]byte{make([]byte, 1<<20), make([]byte, 4096)} {
		for err = nil; err == nil; {
			_, err = file.Write(piece)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
	}
	return path
}
