package script_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// The progress of a synchronization is on a terminal only, and its line is removed.
func TestProgressOfASynchronization(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"items":[{"metadata":{"uid":"1","name":"harbor"},"spec":{"isSyncSupported":true}}],"listmeta":{}}`
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			return
		case strings.HasSuffix(r.URL.Path, "/status") && requests.Add(1)%2 == 1:
			body = `{"isSyncSupported":true,"status":"InProgress","message":"3 repositories so far."}`
		case strings.HasSuffix(r.URL.Path, "/status"):
			body = `{"isSyncSupported":true,"status":"Success","message":"","repositories":4,"tags":9}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	run := func(stderr io.Writer) {
		t.Helper()
		cmd := prepare(t, nil, "registry", "sync", "harbor", "--wait", "--server", server.URL)
		cmd.Env, cmd.Stderr = append(cmd.Env, "REGWARDEN_API_KEY=key"), stderr
		if err := cmd.Run(); err != nil || cmd.out.Len() > 0 {
			t.Errorf("%v, standard output %q", err, cmd.out.String())
		}
	}
	const end = "Synchronized harbor: 4 repositories and 9 tags.\n"
	terminal := instance.OpenTerminal(t)
	run(terminal.Slave)
	_ = terminal.Slave.Close() // the last writer gone, the lines end
	var shown strings.Builder
	for line := range terminal.Lines {
		shown.WriteString(line + "\n")
	}
	if want := "\r\x1b[Kharbor: in progress, 3 repositories so far.\r\x1b[K" + end; !strings.HasPrefix(shown.String(), want) {
		t.Errorf("no %q at the begin of %q", want, shown.String())
	}
	var plain bytes.Buffer
	if run(&plain); plain.String() != end {
		t.Errorf("without a terminal: %q", plain.String())
	}
}

// Ctrl-C ends the wait for a synchronization, which goes on; the message says so.
func TestCtrlCEndsTheWaitForASynchronization(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
		case strings.HasSuffix(r.URL.Path, "/status"):
			_, _ = w.Write([]byte(`{"isSyncSupported":true,"status":"InProgress","message":""}`))
			select {
			case asked <- struct{}{}:
			default:
			}
		default:
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"uid":"1","name":"harbor"},"spec":{"isSyncSupported":true}}],"listmeta":{}}`))
		}
	}))
	t.Cleanup(server.Close)
	cmd := prepare(t, nil, "registry", "sync", "harbor", "--wait", "--server", server.URL)
	cmd.Env = append(cmd.Env, "REGWARDEN_API_KEY=key")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	cmd.signal(t, syscall.SIGINT)
	_ = cmd.Wait() // the exit code is compared below
	const want = "the synchronization of harbor has not ended yet; it stays requested\nregwarden: interrupted\n"
	if code := cmd.ProcessState.ExitCode(); code != 130 || cmd.out.Len() > 0 || cmd.errs.String() != want {
		t.Errorf("exit code %d, standard output %q, standard error %q", code, cmd.out.String(), cmd.errs.String())
	}
}

// A command says that a service refuses its request for now, and until when it waits.
func TestWaitIsAnnounced(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if requests.Add(1) == 1 {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write([]byte(`{"items":[],"listmeta":{}}`))
	}))
	t.Cleanup(server.Close)
	cmd := prepare(t, nil, "registry", "list", "--server", server.URL)
	cmd.Env = append(cmd.Env, "REGWARDEN_API_KEY=key")
	if err := cmd.Run(); err != nil || !strings.HasPrefix(cmd.errs.String(), "The service refuses this for now") ||
		!strings.Contains(cmd.errs.String(), "Trying again at ") {
		t.Errorf("%v: %q", err, cmd.errs.String())
	}
}
