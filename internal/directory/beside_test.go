package directory_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// TestProjectsSetBesideOthers sets a user's projects twice at once: those of one of the two hold, never both.
func TestProjectsSetBesideOthers(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	for _, name := range []string{"red", "blue"} {
		if _, err := w.CreateProject(t.Context(), origin, admin, directory.NewProject{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	set := func(name string) func() error {
		return func() error { return w.SetProjects(t.Context(), origin, admin, ref(member.UserUID), []string{name}) }
	}
	postgrestest.Beside(t, w.url, "SELECT 1 FROM users FOR UPDATE", set("red"), set("blue"), set("red"))
	user, err := w.User(t.Context(), admin, ref(member.UserUID))
	if err != nil || len(user.Projects) != 1 {
		t.Errorf("in %v, %v", names(user.Projects), err)
	}
}
