package scan

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"strings"
)

// pattern is a line of an ignore file, with the meaning that it has in .gitignore.
type pattern struct {
	segments []string // of the path; "**" matches any number
	include  bool     // begins with !
	dirOnly  bool     // ends with /
}

// parsePattern reads a pattern, and returns false for an empty line or a comment.
func parsePattern(line string) (p pattern, ok bool, err error) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || strings.HasPrefix(line, "#") {
		return p, false, nil
	}
	line, p.include = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	if line = strings.TrimPrefix(line, "/"); line == "" {
		return p, false, nil
	}
	p.segments = strings.Split(strings.ReplaceAll(line, "[!", "[^"), "/")
	if !anchored {
		p.segments = append([]string{"**"}, p.segments...)
	}
	if p.segments[len(p.segments)-1] == "**" { // what is in the directory, not the directory itself
		p.segments = append(p.segments, "*")
	}
	for _, s := range p.segments {
		if _, err := path.Match(s, ""); err != nil {
			return p, false, fmt.Errorf("the pattern %q is not valid: %w", line, err)
		}
	}
	return p, true, nil
}

// maxPatterns limits an ignore file: each pattern is compared with each path.
const maxPatterns = 1000

// parsePatterns reads an ignore file.
func parsePatterns(data []byte) (patterns []pattern, err error) {
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	for n := 1; lines.Scan(); n++ {
		p, ok, err := parsePattern(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if ok {
			patterns = append(patterns, p)
		}
		if len(patterns) > maxPatterns {
			return nil, fmt.Errorf("more than %d patterns", maxPatterns)
		}
	}
	return patterns, lines.Err()
}

// matches reports whether the pattern matches a path with slashes, relative to the directory of the pattern.
func (p pattern) matches(name string, isDir bool) bool {
	return (isDir || !p.dirOnly) && matchSegments(p.segments, strings.Split(name, "/"))
}

// matchSegments tries each "**" with no segment at first, then with one more. Only the last "**" before a mismatch has to be tried again,
// since another pattern of a segment always matches exactly one.
func matchSegments(patterns, names []string) bool {
	i, j := 0, 0
	again, next := -1, 0 // after the last "**", and the first name that it does not match
	for j < len(names) {
		if i < len(patterns) && patterns[i] == "**" {
			i++
			again, next = i, j
			continue
		}
		if i < len(patterns) {
			if ok, _ := path.Match(patterns[i], names[j]); ok {
				i++
				j++
				continue
			}
		}
		if again < 0 {
			return false
		}
		next++
		i, j = again, next
	}
	return i == len(patterns)
}

// excludedPath reports whether the patterns of the directories on a path exclude it, or a directory above it. lists[i] are those of the
// directory with the first i names.
func excludedPath(names []string, lists [][]pattern) bool {
	for depth := 1; depth <= len(names); depth++ {
		is := false
		for i, patterns := range lists[:min(depth, len(lists))] {
			is = excludes(is, patterns, strings.Join(names[i:depth], "/"), depth < len(names))
		}
		if is {
			return true
		}
	}
	return false
}

// excludes returns whether the last pattern that matches a path excludes it. Without a match it is as before.
func excludes(before bool, patterns []pattern, name string, isDir bool) bool {
	for _, p := range patterns {
		if p.matches(name, isDir) {
			before = !p.include
		}
	}
	return before
}
