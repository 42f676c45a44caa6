package scanner

import (
	"bytes"
	"slices"
	"strings"
)

// keySet has a bit for each key of the formats, of which there are at most 256.
type keySet [4]uint64

func (s *keySet) add(n int) { s[n/64] |= 1 << (n % 64) }

// has reports whether all of other are in the set.
func (s *keySet) has(other keySet) bool {
	for i := range s {
		if s[i]&other[i] != other[i] {
			return false
		}
	}
	return true
}

// keyIndex finds the keys by which all formats are recognized in one pass over a text.
type keyIndex struct {
	number map[string]int // of a key in lower case
	needed [][]keySet     // by format: each set that is enough
	length int            // of the longest key
}

func newKeyIndex(formats []Reader) *keyIndex {
	x := &keyIndex{number: map[string]int{}, needed: make([][]keySet, len(formats))}
	for i, r := range formats {
		for _, keys := range r.Keys {
			var set keySet
			for key := range strings.FieldsSeq(strings.ToLower(keys)) {
				if _, known := x.number[key]; !known {
					x.number[key] = len(x.number)
				}
				set.add(x.number[key])
				x.length = max(x.length, len(key))
			}
			x.needed[i] = append(x.needed[i], set)
		}
	}
	return x
}

// beforeKey are the bytes that may be before a key: blanks, quotes, what begins a flow in YAML, and bytes of byte order marks.
const beforeKey = "\n\r \t\"'{,[\xbf\xfe\xff"

// in returns which keys a text in JSON or YAML has, without parsing it.
func (x *keyIndex) in(text []byte) (found keySet) {
	lower := make([]byte, x.length)
	for at := 0; ; at++ {
		colon := bytes.IndexByte(text[at:], ':')
		if colon < 0 {
			return found
		}
		at += colon
		key, quoted := keyBefore(text[:at], x.length)
		if len(key) == 0 || !quoted && !endsKey(text[at+1:]) {
			continue
		}
		for i, c := range key {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower[i] = c
		}
		if n, known := x.number[string(lower[:len(key)])]; known {
			found.add(n)
		}
	}
}

// keyBefore returns the word at the end of a text, nothing if it is longer than most, and whether it has quotes.
func keyBefore(text []byte, most int) (key []byte, quoted bool) {
	end := len(text)
	for end > 0 && (text[end-1] == ' ' || text[end-1] == '\t' || text[end-1] == '\n' || text[end-1] == '\r') {
		end--
	}
	if quoted = end > 0 && (text[end-1] == '"' || text[end-1] == '\''); quoted {
		end--
	}
	start := end
	for start > 0 && strings.IndexByte(beforeKey, text[start-1]) < 0 {
		if start--; end-start > most {
			return nil, false
		}
	}
	return text[start:end], quoted
}

// endsKey reports whether the colon before a text ends a key that has no quotes. A blank follows, unlike in minified programs; in JSON5 it
// may also be a list or an object.
func endsKey(rest []byte) bool { return len(rest) == 0 || strings.IndexByte(" \t\r\n[{", rest[0]) >= 0 }

// keys returns the keys of formats that the file has.
func (f *File) keys() *keySet {
	if f.known == nil {
		text := f.Data
		if bytes.IndexByte(text, 0) >= 0 {
			text = bytes.ReplaceAll(text, []byte{0}, nil) // UTF-16 has zeros
		}
		found := f.Scanner.keyIndex().in(text)
		f.known = &found
	}
	return f.known
}

func (s *Scanner) keyIndex() *keyIndex {
	if s.index == nil {
		s.index = newKeyIndex(s.Formats)
	}
	return s.index
}

// hasKeys reports whether the file has all keys by which a format is recognized.
func (f *File) hasKeys(format int) bool {
	return slices.ContainsFunc(f.Scanner.keyIndex().needed[format], f.keys().has)
}

// mayHave reports whether a file of a walk may have a format, before anything is parsed.
func (f *File) mayHave(format int) bool {
	r := &f.Scanner.Formats[format]
	switch {
	case r.Files != nil && !f.HasName(r.Files...):
		return false
	case r.Keys == nil, r.Files != nil && !f.isData(): // TOML and HCL
		return true
	}
	return f.hasKeys(format) || f.HasName(r.Names...)
}

// mayBeKnown reports whether the text has all keys by which a reader recognizes a file, without parsing it.
func (f *File) mayBeKnown() bool {
	for i := range f.Scanner.Formats {
		if r := &f.Scanner.Formats[i]; (r.Files == nil || f.HasName(r.Files...)) && f.hasKeys(i) {
			return true
		}
	}
	return false
}
