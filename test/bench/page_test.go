package bench

import (
	"os"
	"strings"
	"testing"
)

// -write replaces the rows of one benchmark in the table and leaves all others as they are.
func TestWithRows(t *testing.T) {
	stored, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const row = "| Speed/get | 1 req/s | met |\n"
	before, after := string(stored), withRows(string(stored), "Speed", []string{row}, "a machine")
	if !strings.Contains(after, "| **Speed** | a machine | |\n"+row+"\n") || strings.Count(after, "| Speed/") != 1 ||
		strings.Count(after, "**Speed**") != 1 {
		t.Errorf("the rows were not replaced:\n%s", after)
	}
	others := func(page string) string {
		var lines strings.Builder
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "| Speed/") && !strings.HasPrefix(line, "| **Speed** ") {
				lines.WriteString(line)
			}
		}
		return lines.String()
	}
	if strings.Count(before, "| Speed/") < 2 || others(before) != others(after) {
		t.Errorf("other lines were changed:\n%s", after)
	}
}
