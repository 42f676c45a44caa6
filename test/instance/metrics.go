package instance

import (
	"io"
	"net/http"
	"regexp"
	"testing"
)

// Address returns where the server listens for what the log message names, such as "serving metrics".
func (s *Server) Address(t testing.TB, message string) string {
	t.Helper()
	if !s.Logs(message) {
		t.Fatalf("the log does not have %q", message)
	}
	return regexp.MustCompile(`msg="` + message + `" address=(\S+)`).FindStringSubmatch(s.Log())[1]
}

// Metrics returns the metrics of a server with --metrics-listen.
func (s *Server) Metrics(t testing.TB) string {
	t.Helper()
	response, err := http.Get("http://" + s.Address(t, "serving metrics") + "/metrics") //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return string(all)
}
