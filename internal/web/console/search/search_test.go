package search

import (
	"fmt"
	"testing"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/console/reference"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

// All pages are found, since no list has the others. More operations than are shown are those of the same search in the reference.
func TestManyHits(t *testing.T) {
	s, caller := Search{Reference: &reference.Reference{Groups: make([]reference.Group, 1)}}, auth.Principal{Role: auth.RoleAdmin}
	for i := range 12 {
		s.Pages = append(s.Pages, views.NavEntry{Label: fmt.Sprintf("A key %d", i)})
		operations := &s.Reference.Groups[0].Operations
		*operations = append(*operations, reference.Operation{Summary: fmt.Sprintf("A key %d", i)})
	}
	pages, err := s.pages(t.Context(), caller, "a key")
	if err != nil || len(pages.Hits) != 12 || pages.More {
		t.Errorf("pages: %+v, %v", pages, err)
	}
	operations, err := s.operations(t.Context(), caller, "a key")
	if err != nil || len(operations.Hits) != maxHits || !operations.More || operations.All != "/docs?q=a+key" {
		t.Errorf("operations: %+v, %v", operations, err)
	}
}
