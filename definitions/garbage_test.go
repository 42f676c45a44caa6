package definitions

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// What a user gives to be read, and cannot be, is a problem with its line. What can be read and has no registry is none.
func TestGarbageInAReader(t *testing.T) {
	for text, want := range map[string]struct {
		reason model.ProblemReason
		line   int
	}{
		`{"a":`:                                {model.ProblemNotJSON, 1},
		"{\"auths\":\n{\"x.example\": {}":      {model.ProblemNotJSON, 2},
		"kind: Secret\ndata: {password: \"hun": {model.ProblemNotYAML, 2},
		"Error from server (NotFound): secrets \"x\" not found":           {model.ProblemWrongShape, 1},
		"error: You must be logged in to the server":                      {model.ProblemWrongShape, 1},
		"Error from server (Forbidden): secrets is forbidden: User \"x\"": {model.ProblemNotYAML, 1},
		"\nError from server": {model.ProblemWrongShape, 2},
		"<html>":              {model.ProblemWrongShape, 1},
		"hello: world":        {},
		"{}":                  {},
		"[]":                  {},
		"# nothing":           {},
		"[server]\nname = 1":  {},
		"a: {{ .Values.b }}":  {},
	} {
		s := NewScanner(model.Options{})
		if err := s.AddReader("standard input", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		problems := s.Result().Problems
		switch {
		case want.reason == "" && len(problems) == 0:
		case len(problems) != 1 || problems[0].Reason != want.reason || problems[0].Source.Line != want.line ||
			strings.Contains(problems[0].Message, "hun"):
			t.Errorf("%q: %+v, want %s in line %d", text, problems, want.reason, want.line)
		}
	}
}
