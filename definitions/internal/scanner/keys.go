package scanner

import (
	"bytes"
	"slices"
	"strings"
)

// mayBeKnown reports whether the text has all keys by which a reader recognizes a file, without parsing it.
func (f *File) mayBeKnown() bool {
	text := bytes.ToLower(bytes.ReplaceAll(f.Data, []byte{0}, nil)) // UTF-16 has zeros
	return slices.ContainsFunc(f.Scanner.Formats, func(r Reader) bool {
		return (r.Files == nil || f.HasName(r.Files...)) &&
			slices.ContainsFunc(r.Keys, func(keys string) bool { return hasKeys(text, keys) })
	})
}

func hasKeys(text []byte, keys string) bool {
	for key := range strings.FieldsSeq(strings.ToLower(keys)) {
		if !hasKey(text, key) {
			return false
		}
	}
	return true
}

// hasKey reports whether a word is a key in JSON or YAML at least once.
func hasKey(text []byte, key string) bool {
	for from := 0; ; {
		next := bytes.Index(text[from:], []byte(key))
		if next < 0 {
			return false
		}
		at := from + next
		from = at + len(key)
		if (at == 0 || strings.IndexByte("\n\r \t\"'{,[\xbf", text[at-1]) >= 0) && endsKey(text[from:]) {
			return true
		}
	}
}

// endsKey reports whether a colon follows a key. After one without quotes it is followed by a blank, unlike in minified programs.
func endsKey(rest []byte) bool {
	quoted := len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'')
	if quoted {
		rest = rest[1:]
	}
	value, found := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
	return found && (quoted || len(value) == 0 || strings.IndexByte(" \t\r\n", value[0]) >= 0)
}
