// Package message has texts that name fields of a definition and the program, whose names depend on the reader.
package message

import (
	"fmt"
	"strings"
)

// Text is a template of ours with its arguments. A name in braces is replaced when the text is shown: {program}, and fields such as
// {auth.tls.ca}. A brace that is not the begin of a name is written twice. A Text is either a constant or from Of, never converted from
// a string: a registry could send names in braces.
type Text string

// Of returns a template with arguments, as fmt.Sprintf would. The names of arguments of type Text remain names; all other arguments are
// shown as they are.
func Of(template string, args ...any) Text {
	for i, arg := range args {
		args[i] = argument{arg}
	}
	return Text(fmt.Sprintf(template, args...))
}

// argument formats a value with its braces written twice.
type argument struct{ value any }

// Format implements fmt.Formatter.
func (a argument) Format(f fmt.State, verb rune) {
	if text, ok := a.value.(Text); ok {
		_, _ = f.Write([]byte(text))
		return
	}
	_, _ = f.Write([]byte(strings.ReplaceAll(fmt.Sprintf(fmt.FormatString(f, verb), a.value), "{", "{{")))
}

// Renamed returns the text with another name in place of one.
func (t Text) Renamed(from, to string) Text {
	var out strings.Builder
	t.parts(func(part string, isName bool) {
		switch {
		case isName && part == from:
			part = "{" + to + "}"
		case isName:
			part = "{" + part + "}"
		default:
			part = strings.ReplaceAll(part, "{", "{{")
		}
		out.WriteString(part)
	})
	return Text(out.String())
}

// Show returns the text with each name replaced by what name returns for it.
func (t Text) Show(name func(string) string) string {
	var out strings.Builder
	t.parts(func(part string, isName bool) {
		if isName {
			part = name(part)
		}
		out.WriteString(part)
	})
	return out.String()
}

// parts calls yield for each name and for what is between names.
func (t Text) parts(yield func(part string, isName bool)) {
	rest := string(t)
	for {
		before, after, found := strings.Cut(rest, "{")
		yield(before, false)
		if !found {
			return
		}
		if brace, twice := strings.CutPrefix(after, "{"); twice {
			yield("{", false)
			rest = brace
			continue
		}
		name, after, _ := strings.Cut(after, "}")
		yield(name, true)
		rest = after
	}
}
