// Package strictjson decodes JSON request bodies strictly: a body has one meaning or is rejected.
//
// It rejects duplicate names, trailing data, invalid UTF-8 and deep nesting. Names are case-sensitive. Unknown names are
// skipped, since newer clients may send more, and Unknown lists them. A null array or map is empty, not missing: Go clients
// write an empty one so. An element of an array must not be null. All values of the wrong type are reported with their paths. Required
// fields are checked by the caller.
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

// MaxDepth is the maximum nesting of objects and arrays.
const MaxDepth = 32

// MaxElements is the maximum number of elements of an array, or members of an object. A decoded element takes many times
// the memory of its text.
const MaxElements = 10_000

// Body is the name of the whole body in a fault.Field.
const Body = "body"

// Decode decodes data into v, a pointer to a struct. It returns the fields with a value of the wrong type, which have their
// zero value. The error is a *fault.Error of kind Invalid if data is not a strict JSON object; v must not be used then.
func Decode(data []byte, v any) ([]fault.Field, error) {
	if err := wellFormed(data); err != nil {
		return nil, err
	}
	var wrong []fault.Field
	hook := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v any) error {
		value := reflect.ValueOf(v).Elem()
		want := expectedKind(value.Type())
		got := dec.PeekKind()
		if got == 'n' && setEmpty(value, inArray(dec)) {
			return dec.SkipValue()
		}
		if got == 'n' && !inArray(dec) || want == "" || want == kindName(got) {
			return errors.ErrUnsupported // the library decodes it
		}
		// StackPointer refers to the value only after it was read.
		if err := dec.SkipValue(); err != nil {
			return err
		}
		if len(wrong) > fault.MaxFields { // more are not reported, and their paths are costly
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
	// The hook does not check values, such as a number out of range.
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return nil, fault.InvalidFields(append(wrong, fault.Field{Field: path(semantic.JSONPointer), Problem: "is out of range"})...)
	}
	return nil, malformed("is not strict JSON", err)
}

// setEmpty sets a slice, or a map that is not an element of an array, to an empty one, and reports whether value is one.
func setEmpty(value reflect.Value, element bool) bool {
	switch kind := value.Kind(); {
	case kind == reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 0, 0))
	case kind == reflect.Map && !element:
		value.Set(reflect.MakeMap(value.Type()))
	default:
		return false
	}
	return true
}

// inArray reports whether the next value is an element of an array. A null element is not an empty object: it stands for nothing.
func inArray(dec *jsontext.Decoder) bool {
	kind, _ := dec.StackIndex(dec.StackDepth())
	return kind == '['
}

// wellFormed checks that data is one strict JSON object of limited depth.
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
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			return malformed("has a duplicate member (byte "+strconv.FormatInt(dec.InputOffset(), 10)+")", err)
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

// tooLong reports whether the array or object that is being read has too many elements.
func tooLong(dec *jsontext.Decoder) bool {
	kind, length := dec.StackIndex(dec.StackDepth())
	if kind == '{' {
		length /= 2 // names count too
	}
	return length > MaxElements
}

// malformed omits the library's error from the message, since it may quote a secret of the input.
func malformed(problem string, cause error) error {
	f := fault.InvalidField(Body, problem)
	f.Message = "The request body " + problem + "."
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](cause); ok {
		f.Cause = fmt.Errorf("syntax error at byte %d", syntactic.ByteOffset)
	}
	return f
}

// expectedKind returns the JSON type that t is decoded from, "" if t decodes itself.
func expectedKind(t reflect.Type) string {
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

// path returns a JSON pointer in the form auth.tls.ca, tokens[0].
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
