package server

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestListedRegistryIsEncodedAsByReflection draws every field of a registry in a list, so that a new field cannot be forgotten.
func TestListedRegistryIsEncodedAsByReflection(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "team", "\xff", "\u2028<&>", "\"\\\x00\x7f\n"}))
	at := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var r listedRegistry
		var draw func(reflect.Value)
		draw = func(field reflect.Value) {
			switch to := field.Addr().Interface().(type) {
			case *string:
				*to = text.Draw(t, "text")
			case *bool:
				*to = rapid.Bool().Draw(t, "flag")
			case *int64:
				*to = rapid.Int64().Draw(t, "number")
			case *time.Time:
				*to = at.Draw(t, "time")
			case **string:
				*to = rapid.Ptr(text, true).Draw(t, "text or null")
			case **time.Time:
				*to = rapid.Ptr(at, true).Draw(t, "time or null")
			case *map[string]string:
				*to = rapid.MapOf(text, text).Draw(t, "pairs")
			default: // NumField panics for what is not a struct: a kind of field that appendJSON does not know
				for i := range field.NumField() {
					draw(field.Field(i))
				}
			}
		}
		draw(reflect.ValueOf(&r.OCIRegistrySummary).Elem())
		want, err := encodeJSON(&r.OCIRegistrySummary)
		if got := r.appendJSON([]byte("[")); err != nil || string(got) != "["+string(want) {
			t.Fatalf("%v\ngot   %s\nwant [%s", err, got, want)
		}
	})
}
