package script_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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
	if want := "\r\x1b[Kharbor: InProgress 3 repositories so far.\r\x1b[K" + end; !strings.HasPrefix(shown.String(), want) {
		t.Errorf("no %q at the begin of %q", want, shown.String())
	}
	var plain bytes.Buffer
	if run(&plain); plain.String() != end {
		t.Errorf("without a terminal: %q", plain.String())
	}
}
