// Package labelchange reads changes of labels as people write them.
package labelchange

import (
	"errors"
	"fmt"
	"strings"
)

// Parse returns the labels to set, written KEY=VALUE, and those to remove, written KEY-, with nil. Spaces around a change, as of a pasted
// line, are not part of it: filters and mutes would not match the value.
func Parse(changes []string) (map[string]*string, error) {
	labels := map[string]*string{}
	for _, change := range changes {
		change = strings.TrimSpace(change)
		key, value, sets := strings.Cut(change, "=")
		removed, removes := strings.CutSuffix(change, "-")
		switch {
		case sets && key != "":
			labels[key] = &value
		case !sets && removes && removed != "":
			labels[removed] = nil
		default:
			return nil, fmt.Errorf("%q must be KEY=VALUE, or KEY- to remove a label", change)
		}
	}
	if len(labels) == 0 {
		return nil, errors.New("is required")
	}
	return labels, nil
}
