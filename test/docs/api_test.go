package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	apiPath   = regexp.MustCompile(`(?m)^  (/\S+):$`) // in openapi.yaml
	parameter = regexp.MustCompile(`\{\w+\}`)
	namedPath = regexp.MustCompile("/[a-zA-Z.{][^\\s?`,)]*") // in api.md; with an ellipsis before it, the rest of one
)

// The reference of all requests has the path of each.
func TestAPIPageHasAllPaths(t *testing.T) {
	known := map[string]bool{}
	for line := range strings.Lines(parameter.ReplaceAllString(pageText(t, "docs/api.md"), "{}")) {
		paths := namedPath.FindAllString(line, -1)
		for _, path := range paths {
			for _, other := range paths { // an ellipsis stands for the beginning of another path in the line
				for i := range len(other) + 1 {
					known[other[:i]+path] = true
				}
			}
		}
	}
	for _, found := range apiPath.FindAllStringSubmatch(pageText(t, "api/openapi.yaml"), -1) {
		path := parameter.ReplaceAllString(found[1], "{}")
		if !known[path] && !strings.HasPrefix(path, "/scim/") { // RFC 7644 has those
			t.Errorf("docs/api.md does not have %s", found[1])
		}
	}
}
