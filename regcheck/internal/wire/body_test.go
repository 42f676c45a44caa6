package wire

import (
	"slices"
	"testing"
)

func TestEachName(t *testing.T) {
	for _, c := range []struct {
		body  string
		names []string
		there bool
		fails bool
	}{
		{body: `{"name":"a","tags":["1","2"]}`, names: []string{"1", "2"}, there: true},
		{body: `{"tags":null}`, there: true},
		{body: `{"tags":[]}`, there: true},
		{body: `{"x":{"tags":["no"]},"tags":["yes"]}`, names: []string{"yes"}, there: true},
		{body: `{"name":"a"}`},
		{body: `{}`},
		{body: `["1"]`, fails: true},
		{body: `"tags"`, fails: true},
		{body: ``, fails: true},
		{body: `{"tags":"1"}`, there: true, fails: true},
		{body: `{"tags":["1",2]}`, names: []string{"1"}, there: true, fails: true},
		{body: `{"tags":["1"`, names: []string{"1"}, there: true, fails: true},
		{body: `{"tags":{"a":1}}`, there: true, fails: true},
		{body: `{"x":`, fails: true},
	} {
		var names []string
		there, err := EachName([]byte(c.body), "tags", func(name string) bool {
			names = append(names, name)
			return true
		})
		if there != c.there || (err != nil) != c.fails || !slices.Equal(names, c.names) {
			t.Errorf("%s: %v %v %v", c.body, names, there, err)
		}
	}
}

func TestEachNameStops(t *testing.T) {
	seen := 0
	if _, err := EachName([]byte(`{"tags":["1","2","3"]}`), "tags", func(string) bool { seen++; return seen < 2 }); err != nil ||
		seen != 2 {
		t.Errorf("%d names, %v", seen, err)
	}
}
