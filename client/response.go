package client

import (
	"bytes"
	"fmt"
	"io"
)

// A response is at most maxResponse long, and one with a list maxList. It has at most maxValues JSON values, since "{}," can become a
// hundred times as large in memory; a list without pages has at most maxListed.
const (
	maxResponse = 16 << 20
	maxList     = 64 << 20
	maxValues   = 200_000
	maxListed   = 1_000_000
)

// lists says what part of a list a response has.
type lists int

const (
	nothing lists = iota
	onePage
	allItems
)

// read reads a response within the limits of its kind.
func (r request) read(body io.Reader) ([]byte, error) {
	into := response{maxLength: maxResponse, maxValues: maxValues}
	if r.lists != nothing {
		into.maxLength = maxList
	}
	if r.lists == allItems {
		into.maxValues = maxListed
	}
	_, err := io.Copy(&into, body)
	if r.received != nil {
		*r.received += int64(into.length)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Join(into.pieces, nil), nil
}

// response collects a JSON text in pieces, so that one that is too long is not copied again and again.
type response struct {
	maxLength, maxValues int

	pieces            [][]byte
	length            int
	values            int // or more: an object without members counts like one with a member
	inString, escaped bool
}

const maxPiece = 1 << 20

// Write adds to the text. Its error says which limit the text exceeds.
func (r *response) Write(b []byte) (int, error) {
	r.length += len(b)
	r.countValues(b)
	switch {
	case r.length > r.maxLength:
		return 0, fmt.Errorf("the response is larger than %d MiB", r.maxLength>>20)
	case r.values > r.maxValues:
		return 0, fmt.Errorf("the response has more than %d values", r.maxValues)
	}
	last := len(r.pieces) - 1
	if last < 0 || len(r.pieces[last])+len(b) > cap(r.pieces[last]) {
		r.pieces = append(r.pieces, make([]byte, 0, max(len(b), min(r.length, maxPiece))))
		last++
	}
	r.pieces[last] = append(r.pieces[last], b...)
	return len(b), nil
}

func (r *response) countValues(text []byte) {
	for _, b := range text {
		switch {
		case r.escaped:
			r.escaped = false
		case b == '\\':
			r.escaped = r.inString
		case b == '"':
			r.inString = !r.inString
		case !r.inString && (b == ',' || b == '{' || b == '['):
			r.values++
		}
	}
}
