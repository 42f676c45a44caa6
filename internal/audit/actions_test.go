package audit

import (
	"slices"
	"strings"
	"testing"
)

func TestActionsAreUniqueAndNamedByKindAndVerb(t *testing.T) {
	if !slices.Contains(Actions, Login) || !slices.Contains(Actions, StoreBackup) {
		t.Errorf("the list lacks an action: %v", Actions)
	}
	seen := map[Action]bool{}
	for _, a := range Actions {
		// The store filters by a comma-separated list.
		if seen[a] || strings.ContainsAny(string(a), ",%_\\") || strings.Count(string(a), ".") != 1 {
			t.Errorf("%s is declared twice, or does not have the form kind.verb", a)
		}
		seen[a] = true
	}
}

func TestKindAndChange(t *testing.T) {
	for action, want := range map[Action]string{
		Login: "auth ", RegistryValidate: "registry ", UserCreate: "user create", UserRole: "user update",
		APIKeyDelete: "apikey delete", Logout: "auth update", SessionEnd: "session update",
	} {
		if got := action.Kind() + " " + action.Change(); got != want {
			t.Errorf("%s: %q, want %q", action, got, want)
		}
	}
}
