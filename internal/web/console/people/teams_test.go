package people

import (
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/service/directory"
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
