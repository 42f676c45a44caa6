package command

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two  three", 0, []string{"one two  three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"größe is a word", 8, []string{"größe is", "a word"}},
		{"https://registry.example.com/v2/ is long", 10, []string{"https://registry.example.com/v2/", "is long"}},
		{"", 10, []string{""}},
	} {
		if got := Wrap(tt.text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
