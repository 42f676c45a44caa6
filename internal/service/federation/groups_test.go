package federation

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// mustTeam creates a team with a role, and returns its uid.
func (p *identityProvider) mustTeam(t *testing.T, name string, role auth.Role, users ...string) string {
	t.Helper()
	team, err := directory.Teams{Directory: p.Directory}.Create(t.Context(), p.operator(), origin,
		directory.TeamChange{Name: &name, Role: &role, Users: &users})
	if err != nil {
		t.Fatal(err)
	}
	return team.UID
}

// teamsOfAda returns the names of the teams of the user of the tests.
func (p *identityProvider) teamsOfAda(t *testing.T) (names []string) {
	t.Helper()
	user, err := p.User(t.Context(), p.operator(), "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range user.Teams {
		names = append(names, team.Name)
	}
	return names
}

// A person is in the teams that have exactly the names of its groups, whatever the provider sends.
func TestGroupsAreTeams(t *testing.T) {
	p := mustProvider(t, func(p *directory.Provider) {
		p.Claims = map[string]string{identities.ClaimGroups: "memberOf"}
	})
	for _, name := range []string{"Ops", "caf\u00e9", "Admins", "Kube"} {
		p.mustTeam(t, name, "viewer")
	}
	many := []any{}
	for range 300 {
		many = append(many, "x"+time.Now().String())
	}
	for _, tt := range []struct {
		name   string
		groups any
		want   []string
	}{
		{"one", []any{"Ops"}, []string{"Ops"}},
		{"several, one twice, one without a team", []any{"Admins", "Ops", "Ops", "Sales"}, []string{"Ops", "Admins"}},
		{"a text", "Ops", []string{"Ops"}},
		{"other case", []any{"ops", "ADMINS"}, nil},
		{"other Unicode form", []any{"cafe\u0301"}, []string{"caf\u00e9"}},
		{"spaces at the ends", []any{" Ops", "Ops ", "\u00a0Ops"}, nil},
		{"another form of one letter", []any{"\u212aube"}, nil}, // the Kelvin sign
		{"compatible characters", []any{"\uff2fps", "Op\u017f"}, nil},
		{"invisible characters", []any{"O\u200bps", "Ops\x00"}, nil},
		{"path of Keycloak", []any{"/Ops"}, nil},
		{"other types", []any{7, nil, map[string]any{"name": "Ops"}, true}, nil},
		{"an object", map[string]any{"Ops": true}, nil},
		{"back", []any{"Ops"}, []string{"Ops"}},
		{"none", nil, nil},
		{"empty", []any{}, nil},
	} {
		p.change = map[string]any{"memberOf": tt.groups}
		if _, err := p.login(t, nil); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := p.teamsOfAda(t); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	p.change = map[string]any{"memberOf": []any{"Ops"}}
	_, _ = p.login(t, nil)
	p.change = map[string]any{"_claim_names": map[string]any{"memberOf": "src1"}, // Entra ID, of a person in many groups
		"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": other + "/getMemberObjects"}}}
	if _, err := p.login(t, nil); err != nil || !slices.Equal(p.teamsOfAda(t), []string{"Ops"}) {
		t.Errorf("groups at another address: %q, %v", p.teamsOfAda(t), err)
	}
	if groups, _ := groupsOf(p.settings.Settings, map[string]any{"memberOf": many}); len(groups) != maxGroups {
		t.Errorf("%d groups", len(groups))
	}
}

// A login without a team sees nothing. Default teams are for those, and groups get teams if the organization wants that.
func TestLoginWithoutTeam(t *testing.T) {
	p := mustProvider(t, func(p *directory.Provider) { p.Claims = map[string]string{identities.ClaimGroups: "groups"} })
	login := func(groups ...any) auth.Principal {
		t.Helper()
		p.change = map[string]any{"groups": groups}
		return p.mustLogin(t)
	}
	if caller := login("Ops"); caller.CanAnywhere(access.ReadRegistries) || caller.Role != access.None {
		t.Errorf("without a team: %s", caller.Role)
	}
	everyone := p.mustTeam(t, "Everyone", "member")
	p.settings.DefaultTeams, p.settings.SyncTeams = []string{"Everyone"}, true
	p.configure(t)
	if caller := login(); !caller.Can(access.ValidateRegistries) {
		t.Errorf("in the default team: %s", caller.Role)
	}
	if caller := login("Ops"); caller.Can(access.ReadRegistries) || !slices.Equal(p.teamsOfAda(t), []string{"Ops"}) {
		t.Errorf("in a team that was made for a group: %s, %q", caller.Role, p.teamsOfAda(t))
	}
	list, _, err := directory.Teams{Directory: p.Directory}.List(t.Context(), p.operator(), "Everyone")
	if err != nil || len(list) != 1 || list[0].Source != teams.SourceSSO || list[0].Role != "" {
		t.Errorf("the new team: %+v, %v", list, err)
	}
	if err := (directory.Teams{Directory: p.Directory}).Delete(t.Context(), p.operator(), origin,
		everyone); err != nil {
		t.Fatal(err)
	}
	login() // its default team is gone
	if got := p.teamsOfAda(t); len(got) != 0 {
		t.Errorf("without groups: %q", got)
	}
}

// Who leaves a group leaves its team when the provider is asked again, but not a team to which an administrator added the user.
func TestLeftGroupsCountWhenTheProviderIsAsked(t *testing.T) {
	p := mustProvider(t, func(p *directory.Provider) { p.Claims = map[string]string{identities.ClaimGroups: "groups"} })
	p.mustTeam(t, "Ops", "registry-editor")
	p.change = map[string]any{"groups": []any{"Ops"}}
	done, err := p.login(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.mustTeam(t, "Auditors", "auditor", "ada@example.com")
	caller, err := p.principal(t, done)
	if err != nil || !caller.Can(access.CreateRegistries) || !caller.Can(access.ReadAllAudits) {
		t.Fatalf("%s, %v", caller.Role, err)
	}
	ask := func(groups any) auth.Principal {
		t.Helper()
		p.mu.Lock()
		p.at = p.at.Add(61 * time.Minute)
		p.change = map[string]any{"groups": groups}
		p.mu.Unlock()
		caller, err := p.principal(t, done)
		if err != nil {
			t.Fatal(err)
		}
		return caller
	}
	if caller := ask(nil); !caller.Can(access.CreateRegistries) {
		t.Errorf("without the claim: %s", caller.Role)
	}
	if caller := ask([]any{"Sales"}); caller.Can(access.CreateRegistries) || !caller.Can(access.ReadAllAudits) {
		t.Errorf("after leaving the group: %s", caller.Role)
	}
	// A provider whose groups are read from the userinfo endpoint is asked for its ID token only, which may have others.
	p.settings.UserInfo = map[string]string{identities.ClaimGroups: "groups"}
	p.configure(t)
	if caller := ask([]any{"Ops"}); caller.Can(access.CreateRegistries) {
		t.Errorf("by a claim that does not count: %s", caller.Role)
	}
}

// Whom an administrator or SCIM adds to a team stays in it, also a user who is a member by a group. Other changes of the team leave that as
// it is.
func TestAddedMembersStayWithoutTheirGroup(t *testing.T) {
	for name, want := range map[string][]string{"administrator": {"Ops"}, "SCIM": {"Ops"}, "neither": nil} {
		p := mustProvider(t, func(p *directory.Provider) { p.Claims = map[string]string{identities.ClaimGroups: "groups"} })
		team := p.mustTeam(t, "Ops", "registry-editor")
		provisioning, key := p.provisioning(t)
		login := func(group string) {
			t.Helper()
			p.set(func() { p.change = map[string]any{"groups": []any{group}} })
			if _, err := p.login(t, nil); err != nil {
				t.Fatal(err)
			}
		}
		login("Ops")
		_, err := provisioning.ChangeTeam(t.Context(), key, origin, team,
			func(stored directory.ProvisionedTeam) (directory.ProvisionedTeam, error) {
				if name == "SCIM" {
					stored.Added = []string{stored.Members[0].UserUID}
				}
				return stored, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		err = directory.Teams{Directory: p.Directory}.Change(t.Context(), p.operator(), origin, team,
			func(stored directory.Team) (directory.TeamChange, error) {
				users := []string{stored.Users[0].UserUID}
				if name == "administrator" {
					users = append(users, "ada@example.com")
				}
				return directory.TeamChange{Users: &users}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		login("Sales")
		if got := p.teamsOfAda(t); !slices.Equal(got, want) {
			t.Errorf("added by %s: %q, want %q", name, got, want)
		}
	}
}

// A person whose group has a full team logs in without it, and has no more than members of the team.
func TestFullTeamOfAGroup(t *testing.T) {
	p := mustProvider(t, nil)
	if caller := p.mustLogin(t); caller.Role != access.Member {
		t.Fatalf("without groups: %s", caller.Role)
	}
	p.settings.Claims = map[string]string{identities.ClaimGroups: "groups"}
	p.configure(t)
	team := p.mustTeam(t, "Ops", "viewer")
	if err := p.db.InTx(t.Context(), func(tx *store.Tx) error {
		var errs []error
		for i := range membership.MaxMembers {
			uid := fmt.Sprintf("user-%d", i)
			errs = append(errs, tx.Users.Insert(t.Context(), store.User{UID: uid, OrgUID: p.org.UID, Email: uid, Canonical: uid,
				Role: "none", PasswordChangedAt: start, CreatedAt: start}), tx.Teams.Add(t.Context(), p.org.UID, team, uid, true))
		}
		return errors.Join(errs...)
	}); err != nil {
		t.Fatal(err)
	}
	p.change = map[string]any{"groups": []any{"Ops"}}
	if caller := p.mustLogin(t); caller.Role != access.None || len(p.teamsOfAda(t)) > 0 {
		t.Errorf("of a full team: %s, teams %q", caller.Role, p.teamsOfAda(t))
	}
	if err := p.db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Teams.Remove(t.Context(), p.org.UID, team, "user-0")
	}); err != nil {
		t.Fatal(err)
	}
	if p.mustLogin(t); !slices.Equal(p.teamsOfAda(t), []string{"Ops"}) {
		t.Errorf("teams: %q", p.teamsOfAda(t))
	}
}
