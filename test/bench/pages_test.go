package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/test/healthhistory"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	pageRegistries = 1000
	pageKB         = 100
	overviewKB     = 40
	pageMS         = 100
	longHistory    = 180 // health periods of one registry in 30 days; of the others a tenth
)

// BenchmarkPages measures pages of the console with 1,000 registries and 30 days of history, and what 200 open tabs of one cost.
func BenchmarkPages(b *testing.B) {
	r := &report{b: b}
	server := start(b, instance.Options{Flags: []string{"--watch-interval", "0", "--check-per-minute", "100000"}})
	uid := storeForPages(b, server)
	server.Stop(syscall.SIGTERM)
	expires := time.Now().AddDate(0, 0, 300).Truncate(time.Hour)
	healthhistory.Add(b, server.DataDir, healthhistory.Days(30, longHistory), func(registry string, i int) (store.HealthResult, bool) {
		failed := store.HealthResult{Code: "RegistryAuthFailed", Stage: "authenticate", Reason: "refused", Field: "auth.password",
			Message: "The registry rejected the credentials.", Hint: "Correct auth.username and auth.password."}
		if (i/10)%3 == 1 || registry == uid && i%2 == 1 {
			return failed, registry == uid || i%10 == 0
		}
		return store.HealthResult{Valid: true, CertificateNotAfter: expires}, registry == uid || i%10 == 0
	})
	server = start(b, instance.Options{DataDir: server.DataDir, Flags: []string{"--watch-interval", "0", "--metrics-listen", "127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0"}})
	cookie := consoleCookie(b, server.URL)
	for name, path := range map[string]string{"overview": "/console/", "registries": "/console/registries",
		"expiry": "/console/expiry", "registry": "/console/registries/" + uid} {
		var took []time.Duration
		size, sent := 0, getPage(b, server.URL+path, cookie, "gzip")
		for range *rounds * 10 {
			began := time.Now()
			size = getPage(b, server.URL+path, cookie, "")
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		most := float64(pageKB)
		if name == "overview" {
			most = overviewKB
		}
		r.row(name, atMost(float64(size)/1000, "kB", most), figure(float64(sent)/1000, "sent-kB"),
			atMost(percentile(took, 50), "p50-ms", pageMS),
			figure(percentile(took, 99), "p99-ms"))
	}
	used, most := measureTabs(b, server, server.URL+"/console/registries/"+uid, cookie)
	r.row("tabs", atMost(used, "used-MB", tabsMB), atMost(most, "most-MB", tabsMB))
	r.end()
}

// storeForPages stores the registries and returns the uid of one.
func storeForPages(b *testing.B, server *instance.Server) string {
	b.Helper()
	c, authorization := newClient(b, server.URL), server.Client(b).Login().Authorization
	var last response
	closedLoop(b, 1, 0, func(int) (err error) {
		for i := 0; i < pageRegistries && err == nil; i++ {
			last, err = c.send(context.Background(), http.MethodPost, pathBasic, instance.JSON(map[string]any{
				"metadata": map[string]string{"name": fmt.Sprintf("registry of team %d", i)},
				"spec": map[string]any{"endpoint": fmt.Sprintf("https://registry.example.com/team/%d", i), "providerType": "helm",
					"auth": map[string]any{"type": "basic", "username": "robot", "password": storedPassword}},
			}), authorization)
		}
		return err
	})
	var created struct{ UID string }
	noError(b, json.Unmarshal([]byte(last.body), &created))
	return created.UID
}

// consoleCookie returns the cookie of a login.
func consoleCookie(b *testing.B, server string) string {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server+"/console/login",
		strings.NewReader(url.Values{"org": {instance.Org}, "emailId": {instance.Email}, "password": {instance.Password}}.Encode()))
	noError(b, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(request)
	noError(b, err)
	noError(b, response.Body.Close())
	if len(response.Cookies()) == 0 { // that of the session is the first one
		b.Fatalf("the login returns %d, %v", response.StatusCode, response.Header)
	}
	return response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
}

// getPage gets a page and returns the size of the response in bytes, with the encoding if that is not empty.
func getPage(b *testing.B, address, cookie, encoding string) int {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	noError(b, err)
	request.Header.Set("Cookie", cookie)
	if encoding != "" {
		request.Header.Set("Accept-Encoding", encoding)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	noError(b, err)
	body, err := io.ReadAll(response.Body)
	noError(b, err)
	noError(b, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %.300s", address, response.StatusCode, body)
	}
	return len(body)
}
