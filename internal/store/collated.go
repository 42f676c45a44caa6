package store

import (
	"regexp"
	"strings"
)

// textColumn finds the type TEXT; the word before it tells a column from a CAST.
var textColumn = regexp.MustCompile(`(\w+)(\s+)TEXT\b`)

const inOrderOfKey = " WITHOUT ROWID" // SQLite's word for a table that is kept in its primary key

// elements finds SQLite's function for the elements of a JSON array. PostgreSQL's also has them in a column named value.
var elements = regexp.MustCompile(`json_each\(([\w.]+)\)`)

// collate writes a migration as PostgreSQL gets it: with its words in place of SQLite's, and texts compare byte by byte, as in
// SQLite. The order of a language would differ from one database to the next, and with the C library of a machine: a
// standby that takes over on another one would find its unique indexes out of order. Comments and casts stay.
func collate(migration string) string {
	var b strings.Builder
	for line := range strings.Lines(migration) {
		code, comment, commented := strings.Cut(line, "--")
		code = elements.ReplaceAllString(strings.Replace(code, inOrderOfKey, "", 1), "json_array_elements_text(CAST($1 AS json))")
		b.WriteString(textColumn.ReplaceAllStringFunc(code, func(found string) string {
			if strings.EqualFold(found[:2], "AS") && (found[2] == ' ' || found[2] == '\t') {
				return found
			}
			return found + ` COLLATE "C"`
		}))
		if commented {
			b.WriteString("--" + comment)
		}
	}
	return b.String()
}
