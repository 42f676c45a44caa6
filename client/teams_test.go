package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
)

// teamServer has a team and users whose uid is their name. It applies the operations on lists that the client sends, 1,000 at most.
func teamServer(t *testing.T, members *[]string) transport {
	return func(r *http.Request) (*http.Response, error) {
		if user, ok := strings.CutPrefix(r.URL.Path, "/v1/users/"); ok {
			return response(200, fmt.Sprintf(`{"metadata":{"uid":%q}}`, user)), nil
		}
		if r.Method == http.MethodGet {
			team, err := json.Marshal(api.Team{Spec: api.TeamSpec{Users: *members}})
			return response(200, string(team)), err
		}
		var sent []struct {
			Op, Path string
			Value    json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || len(sent) > 1000 {
			t.Errorf("%d operations: %v", len(sent), err)
		}
		for _, o := range sent {
			var user string
			var users []string
			switch o.Op + " " + o.Path {
			case "add /spec/users/-":
				if err := json.Unmarshal(o.Value, &user); err != nil {
					t.Error(err)
				}
				*members = append(*members, user)
			case "test /spec/users", "replace /spec/users":
				if err := json.Unmarshal(o.Value, &users); err != nil {
					t.Errorf("%s %s: %v", o.Op, o.Value, err)
				}
				if o.Op == "test" && !slices.Equal(users, *members) {
					return response(400, `{"code":"InvalidRequest","message":"m","details":{},"ref":"ref-1"}`), nil
				}
				*members = users
			default:
				t.Errorf("operation %s %s", o.Op, o.Path)
			}
		}
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	}
}

func TestTeamsOfManyUsers(t *testing.T) {
	var all, members []string
	for i := range 1001 {
		all = append(all, fmt.Sprintf("u%d", i))
	}
	c := newClient(t, "a.example", client.Config{APIKey: "k", Transport: teamServer(t, &members)})
	if err := c.Teams.AddUsers(t.Context(), "ops", all...); err != nil || !slices.Equal(members, all) {
		t.Errorf("added %d: %v", len(members), err)
	}
	if err := c.Teams.RemoveUsers(t.Context(), "ops", all[1:]...); err != nil || !slices.Equal(members, all[:1]) {
		t.Errorf("%d remain: %v", len(members), err)
	}
	if err := c.Teams.RemoveUsers(t.Context(), "ops", "u0", "u1"); err != nil || members == nil || len(members) > 0 {
		t.Errorf("%v remain: %v", members, err)
	}
}

// Another client adds a member after each of the first requests that read.
func TestRemoveUsersFromChangingTeam(t *testing.T) {
	for _, tt := range []struct {
		changes int
		want    []string
		fails   bool
	}{
		{2, []string{"u0", "new1", "new2"}, false},
		{99, []string{"u0", "u1", "new1", "new2", "new3", "new4"}, true},
	} {
		members, changed := []string{"u0", "u1"}, 0
		server := teamServer(t, &members)
		c := newClient(t, "a.example", client.Config{APIKey: "k", Transport: transport(func(r *http.Request) (*http.Response, error) {
			received, err := server(r)
			if r.Method == http.MethodGet && changed < tt.changes {
				changed++
				members = append(members, fmt.Sprintf("new%d", changed))
			}
			return received, err
		})})
		if err := c.Teams.RemoveUsers(t.Context(), "ops", "u1"); (err != nil) != tt.fails || !slices.Equal(members, tt.want) {
			t.Errorf("%d changes: %v remain: %v", tt.changes, members, err)
		}
	}
}
