package message

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// Names of templates are replaced, those in arguments are text.
func TestNamesOfTemplates(t *testing.T) {
	name := func(path string) string { return "<" + path + ">" }
	for _, row := range []struct {
		text Text
		want string
	}{
		{"", ""},
		{"Set {auth.tls.ca} to it.", "Set <auth.tls.ca> to it."},
		{"{a}{b}", "<a><b>"},
		{`use {{"type": "noAuth"}`, `use {"type": "noAuth"}`},
		{Of("%s returned %d: %q", "{endpoint}", 401, "{program}"), `{endpoint} returned 401: "{program}"`},
		{Of("%v, {endpoint}", errors.New("{{{endpoint}}}")), "{{{endpoint}}}, <endpoint>"},
		{Of("%s %s", Of("{a} %s", "{a}"), Text("{b}")), "<a> {a} <b>"},
		{Of("%-4s|%03d|%%", "{a", 7), "{a  |007|%"},
	} {
		if got := row.text.Show(name); got != row.want {
			t.Errorf("%s: %q, want %q", row.text, got, row.want)
		}
	}
}

// No argument changes what a template names.
func TestArgumentsAreShownAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.StringOf(rapid.SampledFrom([]rune("{}%ap. ü"))).Draw(t, "sent")
		got := Of("%s{a}%s", sent, sent).Show(func(string) string { return "A" })
		renamed := Of("%s{a}%s", sent, sent).Renamed("a", "b").Show(func(name string) string { return name })
		if got != sent+"A"+sent || renamed != sent+"b"+sent {
			t.Fatalf("%q: %q, %q", sent, got, renamed)
		}
	})
}
