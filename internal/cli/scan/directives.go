package scan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/internal/spelling"
)

// directive begins the codes to ignore in a comment.
const directive = "regwarden:ignore"

// parseDirectives returns the codes by the lines on which their directive is, and what is wrong with directives,
// after their line.
func parseDirectives(data []byte) (codes map[int][]string, wrong []string) {
	if !bytes.Contains(data, []byte(directive)) {
		return nil, nil
	}
	codes = map[int][]string{}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		before, after, found := strings.Cut(text, directive)
		if !found || !strings.Contains(before, "#") && !strings.Contains(before, "//") {
			continue
		}
		words := directiveCodes(after)
		if len(words) == 0 {
			wrong = append(wrong, fmt.Sprintf("%d: %s requires a code, such as secretInRepository", line, directive))
		}
		for _, word := range words {
			if problem := unknownCode(word); problem != "" {
				wrong = append(wrong, fmt.Sprintf("%d: %s", line, problem))
			}
		}
		codes[line] = words
	}
	return codes, wrong
}

// directiveCodes returns the codes, which commas and blanks separate. What follows -- is the reason.
func directiveCodes(text string) []string {
	text, _, _ = strings.Cut(text, "--")
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
}

func unknownCode(word string) string {
	all := scanreport.Codes()
	if slices.ContainsFunc(all, func(id string) bool { return scanreport.IsCode(id, word) }) {
		return ""
	}
	var known []string
	for _, id := range all {
		known = append(known, strings.Split(id, "/")...)
	}
	return fmt.Sprintf("%s: %q is not a code%s", directive, Clean(word), spelling.Hint(word, known))
}

// directives has the directives of files, which are read when they are needed.
type directives struct {
	files map[string]map[int][]string
	wrong []string // with the name of the file
	stdin []byte
}

// ignores reports whether a directive on the line of an issue or above it has its code.
func (d *directives) ignores(f scanreport.Issue) bool {
	of, known := d.files[f.At.File]
	if !known {
		of = d.read(f.At.File)
	}
	line := max(f.At.Line, 1)
	is := func(code string) bool { return scanreport.IsCode(f.Code, code) }
	return slices.ContainsFunc(of[line], is) || slices.ContainsFunc(of[line-1], is)
}

// read reads a file again. One that cannot be read now has no directives.
func (d *directives) read(file string) map[int][]string {
	data := d.stdin
	if file != stdinName {
		data, _ = readCredentialFile(file)
	}
	codes, wrong := parseDirectives(data)
	for _, text := range wrong {
		d.wrong = append(d.wrong, Clean(file)+":"+text)
	}
	d.files[file] = codes
	return codes
}

// Ignore removes the issues that a comment in their file names, and returns what is wrong with such comments. stdin is standard input.
func Ignore(result *model.Result, stdin []byte) (wrong []string) {
	d := directives{files: map[string]map[int][]string{}, stdin: stdin}
	result.Summary.Ignored = scanreport.Remove(result, scanreport.Options{}, d.ignores)
	return d.wrong
}
