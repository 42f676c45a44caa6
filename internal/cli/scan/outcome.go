package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// Level is what a scan fails on. Each level includes those before it.
type Level string

// Levels.
const (
	Never      Level = "never"
	NotValid   Level = "notValid" // and problems
	Warning    Level = "warning"  // warnings of checks
	Unresolved Level = "unresolved"
)

// Levels lists all levels.
var Levels = []Level{NotValid, Warning, Unresolved, Never}

// ParseLevel returns the level of this name, and an error that lists all levels if there is none.
func ParseLevel(name string) (Level, error) {
	if level := Level(name); slices.Contains(Levels, level) {
		return level, nil
	}
	return "", fmt.Errorf("must be one of %s, not %q", list(Levels), name)
}

func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}

// FailsAt reports whether a result has something at this level.
func FailsAt(level Level, result model.Result) bool {
	s := result.Summary
	switch level {
	case NotValid:
		return s.NotValid+s.Problems > 0
	case Warning:
		return FailsAt(NotValid, result) || slices.ContainsFunc(result.Registries, warns)
	case Unresolved:
		return FailsAt(Warning, result) || s.Unresolved > 0
	}
	return false
}

func warns(r model.Registry) bool { return r.Report != nil && len(r.Report.Warnings) > 0 }

// NotChecked returns how many complete definitions have no report because their check failed.
func NotChecked(result model.Result) (n int) {
	for _, r := range result.Registries {
		if r.NotChecked != "" {
			n++
		}
	}
	return n
}
