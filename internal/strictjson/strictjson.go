// Package strictjson decodes a JSON request body so that it can be read in one way only.
//
// Duplicate names, trailing data, invalid UTF-8 and deep nesting are refused; names match to the
// letter; unknown names are skipped, since clients of newer API versions send more, and Unknown lists them. An array that is
// null is empty, and not missing: that is how Go clients write an empty one. Values of the
// wrong type don't stop the reading: every one of them is reported, with its path. The package does
// not know which fields are required: that is for the decoded type to say.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regwarden/regwarden/internal/fault"
)

// MaxDepth is the deepest nesting of objects and arrays that is read.
const MaxDepth = 32

// MaxElements is how many elements an array, or members an object, may have: each takes many times the memory in
// which it is written.
const MaxElements = 10_000

// Body is the name of the whole body in a fault.Field, where no single field is meant.
const Body = "body"

// Decode reads data into v, a pointer to a struct. The fields returned had a value of the wrong type and keep
// their zero value. The error is a *fault.Error of kind Invalid: data is not one strict JSON object,
// and v must not be used.
func Decode(data []byte, v any) ([]fault.Field, error) {
	if err := wellFormed(data); err != nil {
		return nil, err
	}
	var wrong []fault.Field
	hook := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v any) error {
		value := reflect.ValueOf(v).Elem()
		want := wanted(value.Type())
		got := dec.PeekKind()
		if got == 'n' && value.Kind() == reflect.Slice {
			value.Set(reflect.MakeSlice(value.Type(), 0, 0))
			return dec.SkipValue()
		}
		if got == 'n' || want == "" || want == kindName(got) {
			return errors.ErrUnsupported // the library's own decoding goes on
		}
		// The pointer names the value only once it has been read.
		if err := dec.SkipValue(); err != nil {
			return err
		}
		if len(wrong) > fault.MaxFields { // more are not shown, and what they are called takes long to write
			return nil
		}
		wrong = append(wrong, fault.Field{
			Field:   path(dec.StackPointer()),
			Problem: fmt.Sprintf("must be %s, not %s", want, kindName(got)),
		})
		return nil
	})
	err := json.Unmarshal(data, v, json.WithUnmarshalers(hook))
	if err == nil {
		return wrong, nil
	}
	// What the hook lets through, such as a number out of range, is still one field's problem.
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return nil, fault.InvalidFields(append(wrong, fault.Field{Field: path(semantic.JSONPointer), Problem: "has a value that does not fit"})...)
	}
	return nil, malformed("is not JSON that can be read in one way only", err)
}

// maxUnknown is how many unknown members are listed: an answer must not be many times what was asked.
const maxUnknown = 10

// Unknown lists the paths of members in data that v, a pointer to a struct, does not have (the first ten), and the
// paths of all that it has. data is what Decode has read; members of an unknown object are not listed.
func Unknown(data []byte, v any) (unknown, known []string) {
	isObject := map[jsontext.Pointer]bool{}
	known = members(reflect.TypeOf(v).Elem(), "", isObject)
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for len(unknown) < maxUnknown {
		if _, err := dec.ReadToken(); err != nil { // the end
			break
		}
		if kind, read := dec.StackIndex(dec.StackDepth()); kind != '{' || read%2 == 0 {
			continue // only after a name is the number of names and values odd
		}
		at := dec.StackPointer()
		object, exists := isObject[at]
		if !exists {
			unknown = append(unknown, path(at))
		}
		if !object || dec.PeekKind() != '{' {
			if err := dec.SkipValue(); err != nil {
				break
			}
		}
	}
	return unknown, known
}

// members lists the paths of all members that t is decoded from, and says of each whether it is an object.
func members(t reflect.Type, parent jsontext.Pointer, isObject map[jsontext.Pointer]bool) (paths []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		value := f.Type
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		at := parent.AppendToken(name)
		isObject[at] = value.Kind() == reflect.Struct && wanted(value) == "an object"
		paths = append(paths, path(at))
		if isObject[at] {
			paths = append(paths, members(value, at, isObject)...)
		}
	}
	return paths
}

// wellFormed reads data once for its form alone: one object, strict, bounded depth.
func wellFormed(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return malformed("is empty; a JSON object is required", nil)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		return malformed("must be a JSON object, not "+kindName(kind), nil)
	}
	for {
		_, err := dec.ReadToken()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			return malformed("names a member twice in the same object (byte "+strconv.FormatInt(dec.InputOffset(), 10)+")", err)
		case err != nil:
			return malformed(fmt.Sprintf("is not valid JSON (byte %d)", dec.InputOffset()), err)
		case dec.StackDepth() > MaxDepth:
			return malformed(fmt.Sprintf("is nested more than %d levels deep", MaxDepth), nil)
		case tooLong(dec):
			return malformed(fmt.Sprintf("has a list or an object of more than %d elements", MaxElements), nil)
		case dec.StackDepth() == 0 && len(bytes.TrimSpace(data[dec.InputOffset():])) > 0:
			return malformed("has data after the JSON object", nil)
		}
	}
}

// tooLong looks at the array or object that was just read from.
func tooLong(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	if kind == '{' {
		length /= 2 // names count too
	}
	return length > MaxElements
}

// malformed leaves the library's error out of the message: it may quote the input, which may be a secret.
func malformed(problem string, cause error) error {
	f := fault.InvalidFields(fault.Field{Field: Body, Problem: problem})
	f.Message = "The request body " + problem + "."
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](cause); ok {
		f.Cause = fmt.Errorf("syntax error at byte %d", syntactic.ByteOffset)
	}
	return f
}

// wanted names the JSON type that t is decoded from, "" when t decides for itself.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64:
		return "a number"
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
			return "a string"
		}
		return "an object"
	case reflect.Map:
		return "an object"
	case reflect.Slice:
		return "an array"
	default:
		return ""
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	default:
		return "something else"
	}
}

// path writes a JSON pointer as people write a field: auth.tls.ca, tokens[0].
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return Body
	}
	return b.String()
}
