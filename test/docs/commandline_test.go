package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// The page has the keys of the lists, which are their columns.
func TestKeysOfListsAreDocumented(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	config := "XDG_CONFIG_HOME=" + t.TempDir()
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := instance.Command(t.Context(), t, args...)
		cmd.Env, cmd.Stdin = append(cmd.Env, config), strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(out)
	}
	run(instance.Password, "login", server.URL, "--org", instance.Org, "--email", instance.Email, "--password-stdin")
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+) list` \\| (.*) \\|$").FindAllStringSubmatch(pageText(t, "docs/command-line.md"), -1)
	for _, row := range rows {
		keys := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(row[2], ""), -1)
		var columns []string
		for _, key := range keys {
			columns = append(columns, strings.ToUpper(key[1]))
		}
		header, _, _ := strings.Cut(run("", row[1], "list", "--output", "wide"), "\n")
		// Heads have spaces between the words of a key.
		if got, want := strings.Join(strings.Fields(header), ""), strings.Join(columns, ""); got != want {
			t.Errorf("%s list has the columns %s, and the page %s", row[1], got, want)
		}
	}
	if len(rows) < 9 {
		t.Errorf("the page has %d lists", len(rows))
	}
}
