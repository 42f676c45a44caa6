package node

import (
	"bytes"
	"errors"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON5 reads JSON with comments, trailing commas, unquoted keys and texts in single quotes.
func JSON5(data []byte) (*Node, error) {
	text, err := strictJSON(strings.TrimPrefix(string(data), "\ufeff"))
	if err != nil {
		return nil, err
	}
	return JSON(text)
}

// strictJSON translates JSON5 to JSON whose lines have the same numbers. What is not JSON5 stays what is not JSON.
func strictJSON(text string) ([]byte, error) {
	var out []byte
	for text != "" {
		var skipped string
		switch c := text[0]; {
		case strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*"):
			skipped, text = cutComment(text)
			out = append(out, skipped...)
		case c == '"' || c == '\'':
			value, rest, err := cutText5(text)
			if err != nil {
				return nil, err
			}
			if out, err = jsontext.AppendQuote(out, value); err != nil {
				return nil, err
			}
			out = append(out, newlines(text[:len(text)-len(rest)])...)
			text = rest
		case c == ']' || c == '}':
			out = append(dropComma(out), c)
			text = text[1:]
		case c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if end < 0 {
				end = len(text)
			}
			out = appendWord(out, text[:end], strings.HasPrefix(strings.TrimSpace(text[end:min(len(text), end+100)]), ":"))
			text = text[end:]
		default:
			out = append(out, c)
			text = text[1:]
		}
	}
	return out, nil
}

// appendWord appends an unquoted key as text. Other words are literals.
func appendWord(out []byte, word string, key bool) []byte {
	if !key {
		return append(out, word...)
	}
	return append(append(append(out, '"'), word...), '"')
}

func newlines(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

// cutComment returns the newlines of the comment at the beginning of text, and what follows it.
func cutComment(text string) (lines, rest string) {
	if text[1] == '/' {
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return "", text[end:]
		}
		return "", ""
	}
	comment, rest, _ := strings.Cut(text[2:], "*/")
	return newlines(comment), rest
}

// cutText5 returns the text in quotes at the beginning of text, and what follows it.
func cutText5(text string) (value, rest string, err error) {
	var b strings.Builder
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			length := appendEscape(&b, text[i+1:])
			i += length
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("a text in quotes has no end")
}

// appendEscape appends what stands for the escape sequence at the beginning of text, and returns its length.
func appendEscape(b *strings.Builder, text string) int {
	const escapes = "b\bf\fn\nr\rt\tv\v0\x00"
	switch c := text[0]; {
	case c == '\r' && strings.HasPrefix(text, "\r\n"):
		return 2
	case c == '\n':
		return 1
	case c == 'u' && len(text) > 4:
		return appendCodePoint(b, `\u`, text[:5])
	case c == 'x' && len(text) > 2:
		return appendCodePoint(b, `\u00`, text[:3])
	case strings.IndexByte(escapes, c) >= 0 && strings.IndexByte(escapes, c)%2 == 0:
		b.WriteByte(escapes[strings.IndexByte(escapes, c)+1])
	default:
		b.WriteByte(c)
	}
	return 1
}

// appendCodePoint appends the character of an escape sequence with hexadecimal digits behind one letter.
func appendCodePoint(b *strings.Builder, prefix, sequence string) int {
	value, err := jsontext.AppendUnquote(nil, `"`+prefix+sequence[1:]+`"`)
	if err != nil {
		b.WriteString(sequence)
	}
	b.Write(value)
	return len(sequence)
}

// dropComma replaces the comma behind the last element by a blank.
func dropComma(out []byte) []byte {
	text := bytes.TrimRight(out, " \t\r\n")
	element, comma := bytes.CutSuffix(text, []byte(","))
	if element = bytes.TrimRight(element, " \t\r\n"); comma && len(element) > 0 && bytes.IndexByte([]byte("[{,"),
		element[len(element)-1]) < 0 {
		text[len(text)-1] = ' '
	}
	return out
}
