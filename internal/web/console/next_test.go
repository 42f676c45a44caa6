package console

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
)

// notPages are addresses that lead away from the pages, or may do so in a browser or behind a proxy.
var notPages = []string{
	"", "/console", "/v1/users", "https://evil.example/console/", "//evil.example", "//evil.example/console/", "///evil.example/console/",
	"/\\evil.example", "\\\\evil.example", "/\\/evil.example", "javascript:alert(1)", "/console//evil.example",
	"/console/\r\nSet-Cookie: a=b", "/console/\n", "\t//evil.example",
	"/console/../v1/users", "/console/..", "/console/%2e%2e/v1/users", "/console/%2E%2E/v1/users", "/console/.%2e/v1/users",
	"/console/%252e%252e/v1/users",
	"/console\\..\\v1\\users", "/console/\\..\\..\\v1\\users", "/console/./..", "/console/.", "/console/./registries", "/console/%2F%2F",
	"%2F%2Fevil.example", "/%2Fevil.example",
	"/console/%2F%2Fevil.example", "/console/static/..%2f", "/console/static/..%2f..%2f..%2fv1", "/docs/..", "/docs/../v1/users",
	"/docs/%2e%2e", "/docs/%2e%2e/v1/users",
	"/docs/", "/docsearch", "/consoles/", "/console/registries/", "console/", "../console/", "//console/", "http:/console/",
	"//user@/console/", "/console/%00", "/console/\x00",
}

func TestNext(t *testing.T) {
	for _, sent := range notPages {
		if got := ownPage(sent); got != pathOverview {
			t.Errorf("%q leads to %q", sent, got)
		}
	}
	for _, page := range []string{"/console/", "/console/?a=b", "/console/registries?x=1&y=%2F..", "/console/registries/6d5b/edit",
		"/console/audit/6d5b", "/docs", "/docs/users", "/docs/users?a"} {
		if got := ownPage(page + "#field-password"); got != page {
			t.Errorf("%q leads to %q", page, got)
		}
	}
}

// Every form that sends the next page leads to a page: to the overview instead of another address.
func TestRedirectsLeadToPages(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	for _, next := range notPages {
		sent := url.Values{"next": {next}}
		for action, got := range map[string]response{
			"login":    w.send("POST", pathLogin, loginForm(password)+"&"+sent.Encode()),
			"theme":    w.send("POST", "/console/theme", sent.Encode()),
			"loggedIn": w.send("GET", pathLogin+"?"+sent.Encode(), "", "Cookie", cookie),
		} {
			if location := got.Header().Get("Location"); got.Code != http.StatusSeeOther || location != pathOverview {
				t.Errorf("%s with next=%q: %d, %q", action, next, got.Code, location)
			}
		}
	}
}

// No path is redirected to its shortest form, and none with encoded characters is repeated: in the address of a login, or in a form that
// leads back to it.
func TestPathsAreNotCleaned(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	want := func(status int, method, target, cookie string) {
		t.Helper()
		got := w.send(method, target, "", "Cookie", cookie)
		if got.Code != status || got.Header().Get("Location") != "" || strings.Contains(got.Body.String(), "..") {
			t.Errorf("%s %s: %d, %q, %s", method, target, got.Code, got.Header().Get("Location"), got.Body)
		}
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		for _, target := range []string{"/console/static/a", "/console/static/"} {
			want(http.StatusNotFound, method, target, cookie)
		}
		for _, target := range []string{
			"/console/static/..%2f", "/console/static/%2e%2e%2f", "/console/static/..%2f%2f", "/console/static/..%2f..%2f..%2fv1",
			"/console/static/a/..%2f..%2f", "/console/static/..%5c",
			"/console/static/%2f", "/console/registries/..%2f..%2fv1", "/console/registries/%2f", "/console/users/%2f/delete",
			"/console/registries/%2e%2e", "/console/%2e%2e%2fv1", "/console/%2e%2e",
			"/docs/..%2f", "/docs/%2f", "/docs/%2e%2e", "/docs/%2e%2e/", "/docs/.%2e/x", "/docs/%2e%2e/v1/users",
			"/console/%2e%2e/v1/users",
		} {
			want(http.StatusNotFound, method, target, cookie)
			want(http.StatusNotFound, method, target, "")
		}
	}
}

// FuzzNext resolves what is accepted as browsers and proxies may do, and compares the host and the page.
func FuzzNext(f *testing.F) {
	for _, address := range append(notPages, "/console/registries?x=1", "/docs/users") {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got := ownPage(address)
		u, err := (&url.URL{Scheme: "https", Host: "console.example", Path: pathLogin}).Parse(got)
		if err != nil || u.Scheme != "https" || u.Host != "console.example" || strings.ContainsAny(got, "\r\n\t") {
			t.Fatalf("%q leads to %q: %v", address, u, err)
		}
		read, _, _ := strings.Cut(got, "?")
		for range 3 { // encoded more than once
			if decoded, err := url.PathUnescape(read); err == nil {
				read = decoded
			}
			read = strings.ReplaceAll(read, "\\", "/")
		}
		if clean := path.Clean(read); clean != read && read != pathOverview || strings.HasPrefix(read, "//") || !isPage(read) {
			t.Errorf("%q leads to %q, which is %q", address, got, clean)
		}
		if again := ownPage(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
