package shell

import (
	"maps"
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Variables are variables with the values that a script has for them.
type Variables map[string]string

// Limits of the variables of a script, each of which is copied for it.
const (
	maxVariables = 200
	maxValue     = 250 // bytes
)

var (
	// setting matches what gives a variable another value, and what runs another script, which may do so.
	setting = lazyregexp.New(`([A-Za-z_]\w*)\+?=|(?m:^[ \t]*)(?:\.|source|eval)[ \t]|<<|` +
		`\b(?:read|for|getopts|unset|select|mapfile|readarray)\b([^\n;|&]*)`)
	// literal matches an assignment of a literal that is not within another command.
	literal = lazyregexp.New(`(?m)^(?:export[ \t]+|readonly[ \t]+)?([A-Za-z_]\w*)=(["']?)([\w.:/@%+-]+)(["']?)[ \t\r]*(?:[;#]|$)`)
	value   = lazyregexp.New(`^[\w.:/@%+-]+$`)
)

// IsValue reports whether a text is a value as variables have here: it is the same word with and without quotes.
func IsValue(text string) bool { return len(text) <= maxValue && value.Get().MatchString(text) }

// In returns those that have one value in all of a script: of v, which are set before it, and those that it sets once. A script that runs
// others, or that has here-documents, in which assignments are texts, sets none that is known.
func (v Variables) In(script string) Variables {
	script = script[:min(len(script), MaxScript)]
	set, isKnown := map[string]int{}, true
	for _, found := range setting.Get().FindAllStringSubmatch(script, -1) {
		isKnown = isKnown && (found[1] != "" || found[2] != "")
		set[found[1]]++
		for name := range strings.FieldsSeq(found[2]) {
			set[name] += 2
		}
	}
	known := maps.Clone(v)
	maps.DeleteFunc(known, func(name, _ string) bool { return set[name] > 0 })
	if !isKnown || len(set) > maxVariables {
		return known
	}
	if known == nil {
		known = Variables{}
	}
	for _, found := range literal.Get().FindAllStringSubmatch(script, -1) {
		if set[found[1]] == 1 && found[2] == found[4] && IsValue(found[3]) {
			known[found[1]] = found[3]
		}
	}
	return known
}

// variable returns the value of the expansion of a variable at the begin of a text, and the length of the expansion, 0 if it has no value
// that is known.
func (v Variables) variable(text string) (value string, length int) {
	name := strings.TrimPrefix(text[1:min(len(text), maxName)], "{")
	if end := strings.IndexFunc(name, func(c rune) bool { return !isNameCharacter(c) }); end >= 0 {
		name = name[:end]
	}
	length = len("$") + len(name)
	if text[1:2] == "{" {
		if length += len("{}"); !strings.HasPrefix(text[length-1:], "}") {
			return "", 0
		}
	}
	if value = v[name]; value == "" {
		return "", 0
	}
	return value, length
}
