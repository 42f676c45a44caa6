package node

import (
	"errors"
	"strings"
	"testing"
)

// A long text that aliases repeat counts for its length, so that using all values does not read gigabytes.
func TestRepeatedTextsAreLimited(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"values": "a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 1000) + "]\n",
		"keys":   "a: &a " + long + "\nb:\n" + strings.Repeat("- {*a : x}\n", 1000),
	} {
		if _, err := YAML([]byte(text)); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if documents, err := YAML([]byte("a: &a " + long + "\nb: *a\n")); err != nil || documents[0].Get("b").Text() != long {
		t.Error("a text that is repeated once is not read", err)
	}
}

// Pipelines of large projects have many rules that repeat conditions and lists of paths by alias.
func TestPipelinesMayRepeatRules(t *testing.T) {
	text := ".if: &if\n  if: " + strings.Repeat("x", 150) + "\n.paths: &paths\n" + strings.Repeat("- app/assets/**/*.{rb,js}\n", 25) +
		"variables: {A: " + strings.Repeat("x", 80_000) + "}\njob:\n  rules:\n" + strings.Repeat("  - <<: *if\n    changes: *paths\n", 700)
	documents, err := YAML([]byte(text))
	if err != nil || documents[0].Get("job", "rules").Items()[699].Get("if") == nil {
		t.Error(err)
	}
}
