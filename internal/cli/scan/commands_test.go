package scan

import (
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// pipelineCommand is a row that GitHub's runner or Azure's agent takes for a command.
var pipelineCommand = regexp.MustCompile(`(?m)^\s*::.*::|##(vso)?\[`)

// Names of files and texts of registries do not begin commands of a pipeline, wherever the row is broken.
func TestTextHasNoPipelineCommands(t *testing.T) {
	for length := range 80 {
		hostile := "::stop-commands::x ##[error]y ##vso[task.setvariable]z " + strings.Repeat("a", length) + " ::add-mask::x"
		result := model.Result{Problems: []model.Problem{{
			Source: model.Source{File: hostile, Line: 1, Object: hostile}, Reason: model.ProblemNotYAML, Message: hostile,
		}}}
		var out strings.Builder
		if err := (Text{Width: 60}).Write(&out, result); err != nil {
			t.Fatal(err)
		}
		if found := pipelineCommand.FindString(out.String()); found != "" {
			t.Fatalf("%q in\n%s", found, out.String())
		}
		if !strings.Contains(out.String(), ": :stop-commands::x") {
			t.Fatalf("%q is not shown in\n%s", hostile, out.String())
		}
	}
}

// A name in a file may have millions of characters.
func TestTextIsLimited(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	result := model.Result{Problems: []model.Problem{{
		Source: model.Source{File: "a.yaml", Line: 1, Object: long}, Reason: model.ProblemNotYAML, Message: long,
	}}}
	var out strings.Builder
	if err := (Text{}).Write(&out, result); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 10*maxShown || !strings.Contains(out.String(), "aaa…") {
		t.Errorf("%d bytes", out.Len())
	}
}
