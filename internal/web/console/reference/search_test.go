package reference

import (
	"slices"
	"testing"
)

// A search finds operations by summary, method and path, parameters, members and texts; schemas by name and members; errors by codes.
func TestFind(t *testing.T) {
	all, err := Read([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"":                  nil,
		"  ":                nil,
		"REPLACE thing":     {"Replace a thing", "Replace a thing"},
		"put v1/things":     {"Replace a thing"},
		"put post":          nil,
		"note":              {"Replace a thing", "Replace a thing"},
		"Replaced.":         {"Replace a thing", "Replace a thing"},
		"parts[].size":      {"Thing"},
		"kind helm":         {"Thing"},
		"missing":           {"NotFound"},
		"unused":            nil,
		"nothing has this":  nil,
		"samE":              {"Replace a thing"},
		"things {uid} post": {"Replace a thing"},
	} {
		var got []string
		for _, group := range all.Find(text).Groups {
			for _, hit := range group.Hits {
				got = append(got, hit.Title)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	hit := all.Find("parts").Groups[0].Hits[0]
	if hit.Path != "/docs/things#schema-Thing" || !slices.Equal(hit.Fields, []string{"parts", "parts[].size"}) {
		t.Errorf("%+v", hit)
	}
}
