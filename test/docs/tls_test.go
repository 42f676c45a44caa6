package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The proxies of docs/tls.md log no path that has a secret.
func TestProxiesLogNoPathsWithSecrets(t *testing.T) {
	page := pageText(t, "docs/tls.md")
	location := regexp.MustCompile(`location ~ (\S+) \{\n    access_log off;`).FindStringSubmatch(page)
	if location == nil {
		t.Fatal("nginx logs every path")
	}
	unlogged := regexp.MustCompile(location[1])
	paths := []string{"/console/invitation/{key}"} // of the console, which openapi.yaml does not have
	for _, found := range apiPath.FindAllStringSubmatch(pageText(t, "api/openapi.yaml"), -1) {
		if regexp.MustCompile(`\{([a-z]*[tT]oken|key)\}`).MatchString(found[1]) {
			paths = append(paths, found[1])
		}
	}
	if len(paths) < 5 {
		t.Errorf("paths with secrets: %q", paths)
	}
	for _, path := range paths {
		beginning, _, _ := strings.Cut(path, "{")
		if !unlogged.MatchString(path) {
			t.Errorf("nginx logs %s", path)
		}
		if !slices.Contains(strings.Split(page, "\n"), "\tlog_skip "+beginning+"*") {
			t.Errorf("Caddy logs %s", path)
		}
	}
}
