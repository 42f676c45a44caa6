package scim

import (
	"encoding/json"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
)

// Limits of what is parsed.
const (
	maxText  = 2048
	maxTerms = 4
)

// path names an attribute (RFC 7644 section 3.10), in lower case: attr[filter].sub. An attribute of an extension has its URN.
type path struct {
	attr, sub string
	filter    *term
}

// term is a comparison for equality. Names are case-insensitive, and so are the values that are not texts.
type term struct {
	path
	value string
}

// core are the schemas whose attributes need no URN.
var core = []string{"urn:ietf:params:scim:schemas:core:2.0:user:", "urn:ietf:params:scim:schemas:core:2.0:group:"}

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$:.-"

// readName reads the name of an attribute.
func readName(text string) (p path, rest string, ok bool) {
	rest = strings.TrimLeft(text, nameChars)
	name := strings.ToLower(text[:len(text)-len(rest)])
	for _, urn := range core {
		name = strings.TrimPrefix(name, urn)
	}
	if strings.HasPrefix(name, "urn:") {
		return path{attr: name}, rest, true
	}
	p.attr, p.sub, ok = strings.Cut(name, ".")
	isWord := func(word string) bool { return word != "" && !strings.ContainsAny(word, ".:") }
	return p, rest, isWord(p.attr) && (!ok || isWord(p.sub))
}

// readPath reads a path, which may have one filter.
func readPath(text string) (p path, rest string, ok bool) {
	if p, rest, ok = readName(text); !ok || !strings.HasPrefix(rest, "[") {
		return p, rest, ok
	}
	if p.sub != "" {
		return p, rest, false
	}
	inner, rest, ok := readTerm(rest[1:], readName)
	if !ok || !strings.HasPrefix(rest, "]") {
		return p, rest, false
	}
	p.filter, rest = &inner, rest[1:]
	if !strings.HasPrefix(rest, ".") {
		return p, rest, true
	}
	sub, rest, ok := readName(rest[1:])
	p.sub = sub.attr
	return p, rest, ok && sub.sub == "" && !strings.Contains(sub.attr, ":")
}

// readTerm reads a comparison of what read reads.
func readTerm(text string, read func(string) (path, string, bool)) (t term, rest string, ok bool) {
	if t.path, rest, ok = read(text); !ok {
		return t, rest, false
	}
	operator, rest, ok := word(rest)
	if !ok || !strings.EqualFold(operator, "eq") || !strings.HasPrefix(rest, " ") {
		return t, rest, false
	}
	t.value, rest, ok = readValue(strings.TrimLeft(rest, " "))
	return t, rest, ok
}

// word reads the word after spaces, up to the next one.
func word(text string) (first, rest string, ok bool) {
	trimmed := strings.TrimLeft(text, " ")
	end := strings.IndexByte(trimmed+" ", ' ')
	return trimmed[:end], trimmed[end:], len(trimmed) < len(text)
}

// readValue reads a text of JSON, or one of the other values, which are compared as texts.
func readValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text+" ", " ]")
		value, rest = strings.ToLower(text[:end]), text[end:]
		return value, rest, value == "true" || value == "false"
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			err := json.Unmarshal([]byte(text[:i+1]), &value)
			return value, text[i+1:], err == nil
		}
	}
	return "", "", false
}

// parsePath parses the path of an operation of a PATCH.
func parsePath(text string) (path, error) {
	p, rest, ok := readPath(text)
	if !ok || rest != "" || len(text) > maxText {
		return p, fault.InvalidField("path", `must be like name.familyName or members[value eq "…"]`)
	}
	return p, nil
}

// parseFilter parses a filter of comparisons for equality that must all hold. The empty text is no filter.
func parseFilter(text string) (terms []term, err error) {
	refused := fault.InvalidField("filter", `must be like userName eq "…"; only eq is supported, and several joined by and`)
	if len(text) > maxText {
		return nil, refused
	}
	for rest := text; text != ""; {
		one, after, ok := readTerm(rest, readPath)
		if terms = append(terms, one); !ok || len(terms) > maxTerms {
			return nil, refused
		}
		if after == "" {
			break
		}
		and, next, ok := word(after)
		if rest = strings.TrimLeft(next, " "); !ok || !strings.EqualFold(and, "and") || !strings.HasPrefix(next, " ") {
			return nil, refused
		}
	}
	return terms, nil
}
