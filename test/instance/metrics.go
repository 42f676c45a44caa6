package instance

import (
	"io"
	"net/http"
	"regexp"
	"testing"
)

// URLOf returns the URL that the server printed for "Metrics" or "Profiles", before that of its API.
func (s *Server) URLOf(t testing.TB, what string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^` + what + `: (http://\S+)$`).FindStringSubmatch(s.Out())
	if match == nil {
		t.Fatalf("no URL of %s is printed:\n%s", what, s.Out())
	}
	return match[1]
}

// Metrics returns the metrics of a server with --metrics-listen.
func (s *Server) Metrics(t testing.TB) string {
	t.Helper()
	response, err := http.Get(s.URLOf(t, "Metrics")) //nolint:noctx // a test's own
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
