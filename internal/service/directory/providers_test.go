package directory_test

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/identities"
)

// A provider can be disabled after one of its default teams was deleted. The uid stays, so that new users still get no role of their own.
func TestDisableProviderWithoutDefaultTeam(t *testing.T) {
	w := mustWorld(t)
	org := w.mustOrg(t, "acme")
	admin := w.mustUser(t, org, "admin@acme.example", auth.RoleAdmin)
	teams, providers := directory.Teams{Directory: w.Directory}, directory.Providers{Directory: w.Directory}
	name := "Everyone"
	team, err := teams.Create(t.Context(), admin, origin, directory.TeamChange{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	err = providers.Set(t.Context(), admin, origin, directory.Provider{Issuer: "https://login.example.com",
		Settings: identities.Settings{ClientID: "regwarden", DefaultTeams: []string{name}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := teams.Delete(t.Context(), admin, origin, team.UID); err != nil {
		t.Fatal(err)
	}
	stored, err := providers.Provider(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	stored.Disabled = true
	if err := providers.Set(t.Context(), admin, origin, stored); err != nil {
		t.Fatal(err)
	}
	stored, err = providers.Provider(t.Context(), admin)
	if err != nil || !stored.Disabled || !stored.UseTeams() || !slices.Equal(stored.DefaultTeams, []string{team.UID}) {
		t.Errorf("%+v, %v", stored, err)
	}
	stored.DefaultTeams = append(stored.DefaultTeams, name)
	wantFields(t, providers.Set(t.Context(), admin, origin, stored), "defaultTeams[1]")
}
