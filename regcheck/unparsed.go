package regcheck

import (
	"fmt"
	"strings"
)

// DefinitionError means that a definition cannot be checked. It lists all problems.
type DefinitionError struct {
	Problems []Problem `json:"problems"`
}

func (e *DefinitionError) Error() string {
	var text strings.Builder
	text.WriteString("definition is not valid")
	for _, p := range e.Problems {
		fmt.Fprintf(&text, "; %s: %s", p.Field, p.Problem)
	}
	return text.String()
}

// Problems returns everything that prevents the definition from being checked, empty if nothing does.
func (d Definition) Problems() []Problem { _, problems := d.read(true); return problems }

// Plan is Parse, with problems as a *DefinitionError.
func (d Definition) Plan() (*Plan, error) {
	p, problems := Parse(d)
	if len(problems) > 0 {
		return nil, &DefinitionError{problems}
	}
	return p, nil
}
