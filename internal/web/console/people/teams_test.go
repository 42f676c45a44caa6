package people

import (
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// A form of a team changes only the users that were changed in it.
func TestUsersWhoJoinedStay(t *testing.T) {
	for _, tt := range []struct{ name, now, shown, sent, want string }{
		{"nothing was changed", "ada bob", "ada bob", "ada bob", "ada bob"},
		{"one was added", "ada", "ada", "ada bob", "ada bob"},
		{"one was removed", "ada bob", "ada bob", "bob", "bob"},
		{"one joined", "ada bob eve", "ada bob", "ada bob", "ada bob eve"},
		{"one joined, one was removed", "ada bob eve", "ada bob", "ada", "ada eve"},
		{"one joined who was added", "ada eve", "ada", "ada eve", "ada eve"},
		{"one left", "ada", "ada bob", "ada bob", "ada"},
		{"all were removed, one joined", "ada eve", "ada", "", "eve"},
		{"a new team", "", "", "ada bob", "ada bob"},
	} {
		team := directory.Team{}
		for _, email := range strings.Fields(tt.now) {
			team.Users = append(team.Users, directory.TeamMember{Email: email})
		}
		if got := changedUsers(team, strings.Fields(tt.shown), strings.Fields(tt.sent)); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}

// Every field of a form of settings that may stay empty says what that means, and so does the page for those who may only read.
func TestEmptySettingsSayWhatTheyMean(t *testing.T) {
	for name, form := range map[string]*forms.Form{"provider": providerForm(directory.Provider{}, nil), "trust": trustForm(Known{}),
		"team": teamForm("Save", "/", Known{}, directory.Team{})} {
		for _, f := range form.Fields {
			shown := shownSetting(f)
			switch {
			case f.Required || f.Name == "clientSecret" || slices.Contains([]string{"checkbox", "select", "hidden", "checkboxes"}, f.Type):
			case !strings.Contains(f.Hint, "Empty"):
				t.Errorf("%s: %s does not say what empty means: %q", name, f.Label, f.Hint)
			case !strings.HasPrefix(shown, "None. ") || !strings.Contains(shown, "Empty"):
				t.Errorf("%s: %s is shown as %q", name, f.Label, shown)
			}
		}
	}
	for want, f := range map[string]forms.Field{"Yes": {Type: "checkbox", Value: "true"}, "No": {Type: "checkbox"},
		"x": {Value: "x", Hint: "h"}} {
		if got := shownSetting(f); got != want {
			t.Errorf("%+v is shown as %q, want %q", f, got, want)
		}
	}
}
