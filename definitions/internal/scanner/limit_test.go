// The race detector makes this ten times slower, and it starts no goroutine.

//go:build !race

package scanner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// A small file can have many entries, and each of them has a message.
func TestResultIsLimited(t *testing.T) {
	s := New(model.Options{})
	s.bytes = maxFile
	for i := range maxEntries + 10 {
		s.Skip(model.Source{File: "a", Line: i}, model.SkipGit, "skipped")
		s.Problem(model.Source{File: "a", Line: i}, model.ProblemWrongShape, "problem")
		s.Found(model.Registry{Sources: []model.Source{{File: "a"}},
			Definition: regcheck.Definition{Endpoint: fmt.Sprintf("https://host%d.test", i)}})
		s.Reference(model.Source{File: "a"}, model.Compose, model.Docker, fmt.Sprintf("other%d.test/a", i))
	}
	result := s.Result()
	n := len(result.Registries) + len(result.Skipped) + len(result.Problems) + len(result.References)
	if last := result.Problems[len(result.Problems)-1]; n != maxEntries+1 || !strings.HasPrefix(last.Message, "More than 100000 entries") {
		t.Errorf("%d entries, the last problem is %q", n, last.Message)
	}
	s.Found(model.Registry{Sources: []model.Source{{File: "b"}}, Definition: regcheck.Definition{Endpoint: "https://host1.test"}})
	if got := s.Result().Registries[1].Sources; len(got) != 2 {
		t.Errorf("another place of a known definition: %v", got)
	}
}
