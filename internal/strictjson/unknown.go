package strictjson

import (
	"bytes"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// maxUnknown is the maximum number of unknown members listed, so that a response is not many times larger than its request.
const maxUnknown = 10

// Unknown returns the paths of members in data that v, a pointer to a struct, does not have (the first ten), and the paths
// of all members of v; those of an array's elements have empty brackets. data must be valid for Decode. Members of an unknown object are
// not listed, nor are those with a path in ignored, which is written as in known.
func Unknown(data []byte, v any, ignored ...string) (unknown, known []string) {
	t := reflect.TypeOf(v).Elem()
	r := unknownReader{dec: jsontext.NewDecoder(bytes.NewReader(data)), members: map[reflect.Type]map[string]reflect.Type{},
		ignored: ignored}
	r.value(t)
	return r.unknown, knownPaths(t, "")
}

var index = lazyregexp.New(`\[[0-9]+\]`)

// unknownReader lists the members that the type of a value does not have. Its methods report whether there is more to read.
type unknownReader struct {
	dec     *jsontext.Decoder
	members map[reflect.Type]map[string]reflect.Type // of the types read so far
	ignored []string
	unknown []string
}

func (r *unknownReader) value(t reflect.Type) bool {
	t = target(t)
	switch kind := r.dec.PeekKind(); {
	case kind == '{' && isObject(t):
		return r.each('}', func() bool { return r.member(t) })
	case kind == '[' && t.Kind() == reflect.Slice:
		return r.each(']', func() bool { return r.value(t.Elem()) })
	}
	return r.dec.SkipValue() == nil
}

func (r *unknownReader) each(end jsontext.Kind, next func() bool) bool {
	_, err := r.dec.ReadToken()
	for err == nil && r.dec.PeekKind() != end {
		if !next() {
			return false
		}
	}
	if err == nil {
		_, err = r.dec.ReadToken()
	}
	return err == nil
}

func (r *unknownReader) member(t reflect.Type) bool {
	name, err := r.dec.ReadToken()
	if err != nil {
		return false
	}
	if r.members[t] == nil {
		r.members[t] = maps.Collect(members(t))
	}
	if member, known := r.members[t][name.String()]; known {
		return r.value(member)
	}
	if at := path(r.dec.StackPointer()); !slices.Contains(r.ignored, index.Get().ReplaceAllString(at, "[]")) {
		r.unknown = append(r.unknown, at)
	}
	return len(r.unknown) < maxUnknown && r.dec.SkipValue() == nil
}

// knownPaths returns the paths of all members that t is decoded from, each after parent.
func knownPaths(t reflect.Type, parent string) (paths []string) {
	for name, member := range members(t) {
		at := parent + name
		paths = append(paths, at)
		if member = target(member); member.Kind() == reflect.Slice {
			member, at = target(member.Elem()), at+"[]"
		}
		if isObject(member) {
			paths = append(paths, knownPaths(member, at+".")...)
		}
	}
	return paths
}

// members yields the names and types of the members that a struct is decoded from.
func members(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && name != "-" && !yield(name, f.Type) {
				return
			}
		}
	}
}

func target(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && expectedKind(t) == "an object"
}
