package service_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

// slowRegistry holds every request until release, and reports each that arrived.
func slowRegistry(t *testing.T) (endpoint string, came <-chan struct{}, release func()) {
	t.Helper()
	arrived, gate := make(chan struct{}, 1000), make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	endpoint = serve(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		_, _ = w.Write([]byte("{}"))
	})
	t.Cleanup(release) // before the server's own end, which waits for its requests
	return endpoint, arrived, release
}

// A misspelled variable is named when the service starts, without its value.
func TestUnknownVariableIsLogged(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Env: []string{"REGWARDEN_LISEN=hunter2"}})
	server.Stop(syscall.SIGTERM) // then the whole log has been read
	log := server.Log()
	if !strings.Contains(log, "variable=REGWARDEN_LISEN nearest=REGWARDEN_LISTEN") || strings.Contains(log, "hunter2") {
		t.Errorf("the log:\n%s", log)
	}
}

// After Ctrl-C a running validation completes, and its client gets the response.
func TestStopLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	tokens := client.Login()
	endpoint, came, release := slowRegistry(t)
	returned := make(chan int, 1)
	go func() {
		response, err := client.Try(http.MethodPost, validate, noAuth(endpoint), "Authorization", tokens.Authorization)
		if err != nil {
			response.Status = -1
		}
		returned <- response.Status
	}()
	<-came
	time.AfterFunc(300*time.Millisecond, release) // well after the signal
	if code := server.Stop(syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if status := <-returned; status != http.StatusNoContent {
		t.Errorf("the validation under way returned %d, want 204", status)
	}
	if !strings.Contains(server.Log(), "stopped") {
		t.Errorf("the log does not have the end:\n%s", server.Log())
	}
}

// Past the bounded queue a validation is turned away at once, and logging in goes on.
func TestTooManyValidationsAtOnce(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--check-concurrency", "8", "--check-per-org", "64",
		"--check-per-minute", "1000"}})
	client := server.Client(t)
	tokens := client.Login()
	endpoint, came, release := slowRegistry(t)
	const room, more = 8 + 64, 5 // at work, and waiting: one at a time would wait too long on a busy machine
	statuses := make(chan int, room+more)
	for range room + more {
		go func() {
			response, err := client.Try(http.MethodPost, validate, noAuth(endpoint), "Authorization", tokens.Authorization)
			if err != nil {
				response.Status = -1
			}
			statuses <- response.Status
		}()
	}
	<-came
	wantStatuses(t, statuses, more, http.StatusServiceUnavailable)
	for _, path := range []string{validate, diagnose} {
		response := client.Do(http.MethodPost, path, noAuth(endpoint), "Authorization",
			tokens.Authorization).Want(http.StatusServiceUnavailable)
		if f := response.Fault(); f.Code != "Unavailable" {
			t.Errorf("%s, want Unavailable", f.Code)
		}
		wantRetryAfter(t, response)
	}
	client.Login()
	release()
	wantStatuses(t, statuses, room, http.StatusNoContent)
}

func wantStatuses(t *testing.T, statuses <-chan int, n, want int) {
	t.Helper()
	for range n {
		if status := <-statuses; status != want {
			t.Fatalf("a validation returned %d, want %d", status, want)
		}
	}
}

// Two servers on one store would each believe themselves alone.
func TestSecondServerRefuses(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	result := instance.Run(t, "", "serve", "--data-dir", server.DataDir, "--listen", "127.0.0.1:0")
	if result.Code == 0 || result.Err == "" || strings.Contains(result.Out, "serves on") {
		t.Errorf("exit code %d\n%s%s", result.Code, result.Out, result.Err)
	}
	server.Client(t).Login()
}

// A wrong or open master key: no start, and nothing is changed.
func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	server.Stop(syscall.SIGTERM)
	own, foreign := filepath.Join(server.DataDir, "master.key"), filepath.Join(t.TempDir(), "foreign.key")
	instance.Start(t, instance.Options{Flags: []string{"--master-key-file", foreign}}).Stop(syscall.SIGTERM)
	before := fileTexts(t, server.DataDir)

	result := instance.Run(t, "", "serve", "--data-dir", server.DataDir, "--listen", "127.0.0.1:0", "--master-key-file", foreign)
	if result.Code != 1 || !strings.Contains(result.Err, "master key") {
		t.Errorf("another key: exit code %d\n%s", result.Code, result.Err)
	}
	if err := os.Chmod(own, 0o644); err != nil {
		t.Fatal(err)
	}
	result = instance.Run(t, "", "serve", "--data-dir", server.DataDir, "--listen", "127.0.0.1:0")
	if result.Code != 1 || !strings.Contains(result.Err, "chmod 600") {
		t.Errorf("a key that others may read: exit code %d\n%s", result.Code, result.Err)
	}
	if err := os.Chmod(own, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range fileTexts(t, server.DataDir) {
		if text != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
	instance.Start(t, instance.Options{DataDir: server.DataDir}).Client(t).Login()
}

func fileTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts[entry.Name()] = string(data)
	}
	return texts
}

func TestSelfSignedTLS(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--tls-self-signed"}, Insecure: true})
	if !strings.HasPrefix(server.URL, "https://") {
		t.Fatalf("it serves on %s", server.URL)
	}
	roots := x509.NewCertPool()
	for name, text := range fileTexts(t, server.DataDir) {
		if strings.Contains(text, "BEGIN CERTIFICATE") && !roots.AppendCertsFromPEM([]byte(text)) {
			t.Errorf("%s holds no usable certificate", name)
		}
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := server.ClientThrough(t, transport)
	client.Login()
	response := client.Do(http.MethodGet, "/healthz", "").Want(http.StatusOK)
	if response.Header.Get("Strict-Transport-Security") == "" {
		t.Error("under TLS there is no Strict-Transport-Security")
	}
}

// A certificate that is renewed is served without a restart.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(pair testca.Pair) {
		for name, text := range map[string]string{certFile: pair.Certificate, keyFile: pair.Key} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	former, renewed := testca.New(t, "Former CA"), testca.New(t, "CA after it")
	write(former.Issue(t, testca.Options{}))
	server := instance.Start(t, instance.Options{Flags: []string{"--tls-cert", certFile, "--tls-key", keyFile}, Insecure: true})
	trusts := func(ca *testca.CA) bool {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: transport}).Get(server.URL + "/healthz")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	}
	if !trusts(former) || trusts(renewed) {
		t.Fatal("another certificate is served")
	}
	write(renewed.Issue(t, testca.Options{}))
	instance.Await(t, "the renewed certificate", func() bool { return trusts(renewed) && !trusts(former) })
}
