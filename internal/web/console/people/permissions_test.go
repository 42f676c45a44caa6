package people

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/service/access"
)

// Each permission that a role can grant has words, once.
func TestPermissionsHaveWords(t *testing.T) {
	var named []access.Permission
	for _, g := range groups {
		for _, w := range g.words {
			named = append(named, w.permission)
		}
	}
	slices.Sort(named)
	if want := slices.Sorted(slices.Values(access.Permissions())); !slices.Equal(named, want) {
		t.Errorf("%q, want %q", named, want)
	}
}
