package scim

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/service/directory"
)

// Members that a request adds although they are members already are passed on, those that it replaces are not.
func TestAddedMembers(t *testing.T) {
	stored := directory.ProvisionedTeam{Name: "Ops", Members: []directory.TeamMember{{UserUID: "a"}, {UserUID: "b"}}}
	members := []any{map[string]any{"value": "a"}, map[string]any{"value": "c"}}
	for op, want := range map[string][]string{opAdd: {"a"}, opReplace: nil, opRemove: nil} {
		team, err := changedGroup(stored, operation{op: op, at: path{attr: "members"}, value: members})
		if err != nil || !slices.Equal(team.Added, want) {
			t.Errorf("%s: %q, %v, want %q", op, team.Added, err, want)
		}
	}
}
