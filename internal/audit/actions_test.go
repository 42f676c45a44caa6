package audit

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list is complete: an action that it lacks could not be filtered by.
func TestTheListHasEveryAction(t *testing.T) {
	source, err := os.ReadFile("audit.go")
	if err != nil {
		t.Fatal(err)
	}
	var constants []string
	for _, match := range regexp.MustCompile(`(?m)^\t\w+ +Action = "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		constants = append(constants, match[1])
	}
	var listed []string
	for _, action := range Actions {
		listed = append(listed, string(action))
	}
	slices.Sort(constants)
	slices.Sort(listed)
	if len(constants) == 0 || !slices.Equal(constants, listed) {
		t.Errorf("constants %v\nlisted %v", constants, listed)
	}
	// A store filters by a list in one text, with commas between.
	if i := slices.IndexFunc(listed, func(a string) bool { return strings.ContainsAny(a, ",%_\\") || strings.Count(a, ".") != 1 }); i >= 0 {
		t.Errorf("%s is not of the form kind.verb", listed[i])
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
