package scim

import (
	"encoding/json"
	"strings"
	"testing"
)

// render writes a term so that it is read as the same.
func (t term) render() string {
	text := t.path.render() + " eq "
	if t.value == "true" || t.value == "false" {
		return text + t.value
	}
	quoted, _ := json.Marshal(t.value)
	return text + string(quoted)
}

func (p path) render() string {
	text := p.attr
	if p.filter != nil {
		text += "[" + p.filter.render() + "]"
	}
	if p.sub != "" {
		text += "." + p.sub
	}
	return text
}

func renderAll(terms []term) string {
	var all []string
	for _, t := range terms {
		all = append(all, t.render())
	}
	return strings.Join(all, " and ")
}

func TestParseFilter(t *testing.T) {
	for text, want := range map[string]string{
		``:                               ``,
		`userName eq "Ada@acme.example"`: `username eq "Ada@acme.example"`,
		`USERNAME EQ "a"`:                `username eq "a"`,
		`externalId  eq   "a b \"c\" ]"`: `externalid eq "a b \"c\" ]"`,
		`active eq True`:                 `active eq true`,
		`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a"`: `username eq "a"`,
		`emails[type eq "work"].value eq "a@b"`:                      `emails[type eq "work"].value eq "a@b"`,
		`id eq "1" and manager eq "2"`:                               `id eq "1" and manager eq "2"`,
		`name.familyName eq "L"`:                                     `name.familyname eq "L"`,
		`urn:ietf:params:scim:schemas:extension:x:2.0:User:x eq "a"`: `urn:ietf:params:scim:schemas:extension:x:2.0:user:x eq "a"`,
		`userName eq`:                            "refused",
		`userName eq ada`:                        "refused",
		`userName eq "ada`:                       "refused",
		`userName eq "\q"`:                       "refused",
		`userName sw "a"`:                        "refused",
		`userName pr`:                            "refused",
		`not (userName eq "a")`:                  "refused",
		`userName eq "a" or userName eq "b"`:     "refused",
		`userName eq "a" and`:                    "refused",
		`userName eq "a"and id eq "b"`:           "refused",
		`userName eq "a" x`:                      "refused",
		`emails[type eq "work" eq "a"`:           "refused",
		`emails[a[b eq "c"] eq "d"].value eq ""`: "refused",
		`a.b.c eq "d"`:                           "refused",
		` eq "d"`:                                "refused",
		`id eq "1" and id eq "1" and id eq "1" and id eq "1" and id eq "1"`: "refused",
		`userName eq "` + strings.Repeat("a", maxText) + `"`:                "refused",
	} {
		terms, err := parseFilter(text)
		got := renderAll(terms)
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParsePath(t *testing.T) {
	for text, want := range map[string]string{
		`active`: `active`, `name.familyName`: `name.familyname`, `members[value eq "1"]`: `members[value eq "1"]`,
		`emails[type eq "work"].value`: `emails[type eq "work"].value`, `members[value eq "1"`: "refused", `members[]`: "refused",
		``:    "refused",
		`a b`: "refused", `/active`: "refused", `name.`: "refused", `members[value eq "1"]x`: "refused",
		`members[value eq "1"].`:                              "refused",
		`urn:ietf:params:scim:schemas:core:2.0:Group:members`: `members`,
	} {
		p, err := parsePath(text)
		got := p.render()
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What is accepted means the same when it is written in the one form of this test.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{`userName eq "a"`, `emails[type eq "work"].value eq "\u0061"`, `id eq "1" and active eq true`,
		`a[b eq "]"]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if terms, err := parseFilter(text); err == nil {
			again, err := parseFilter(renderAll(terms))
			if err != nil && len(renderAll(terms)) <= maxText || err == nil && renderAll(again) != renderAll(terms) {
				t.Errorf("%q is %q: %v", text, renderAll(terms), err)
			}
		}
		if p, err := parsePath(text); err == nil {
			again, err := parsePath(p.render())
			if err != nil && len(p.render()) <= maxText || err == nil && again.render() != p.render() {
				t.Errorf("%q is %q: %v", text, p.render(), err)
			}
		}
	})
}
