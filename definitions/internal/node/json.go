package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON reads one JSON value.
func JSON(data []byte) (*Node, error) {
	r := jsonReader{data: data, line: 1}
	r.decoder = jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	root, err := r.value(0)
	if err != nil {
		return nil, r.located(err)
	}
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, r.located(errors.New("text follows the JSON value"))
	}
	return root, nil
}

type jsonReader struct {
	decoder *jsontext.Decoder
	data    []byte
	offset  int64
	line    int
	nodes   int
}

// located adds the line to an error of the decoder, and removes the names of the members around it.
func (r *jsonReader) located(err error) error {
	if errors.Is(err, ErrLimit) {
		return err
	}
	message, offset := err.Error(), r.decoder.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		message, offset = syntax.Err.Error(), syntax.ByteOffset
	}
	line := 1 + bytes.Count(r.data[:min(max(offset, 0), int64(len(r.data)))], []byte("\n"))
	return SyntaxErrors{{line, message}}
}

// here returns the line of the token that was just read.
func (r *jsonReader) here() int {
	end := r.decoder.InputOffset()
	r.line += bytes.Count(r.data[r.offset:end], []byte("\n"))
	r.offset = end
	return r.line
}

func (r *jsonReader) value(depth int) (*Node, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if r.nodes++; r.nodes > maxNodesOf(len(r.data), bytesOfJSON) {
		return nil, fmt.Errorf("%w: more than %d values", errValues, maxNodesOf(len(r.data), bytesOfJSON))
	}
	line := r.here()
	if depth > maxDepth {
		return nil, tooDeep(line)
	}
	switch token.Kind() {
	case '{':
		n := newList(line, object)
		return n, r.members(n, depth)
	case '[':
		n := newList(line, array)
		return n, r.elements(n, depth)
	case '"':
		return newScalar(line, text, token.String()), nil
	case 't', 'f':
		return newScalar(line, boolean, token.String()), nil
	case '0':
		return newScalar(line, number, token.String()), nil
	default:
		return newScalar(line, null, ""), nil
	}
}

func (r *jsonReader) members(n *Node, depth int) error {
	for r.decoder.PeekKind() != '}' {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		key, line := name.String(), r.here()
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.addMember(line, key, value)
	}
	_, err := r.decoder.ReadToken()
	return err
}

func (r *jsonReader) elements(n *Node, depth int) error {
	for r.decoder.PeekKind() != ']' {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.size += item.size
		n.items = append(n.items, item)
	}
	_, err := r.decoder.ReadToken()
	return err
}

func tooDeep(line int) error {
	return fmt.Errorf("%w: line %d is nested more than %d times", ErrLimit, line, maxDepth)
}
