package auth

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// newestBeforeRoles is the newest migration of the version before roles, whose users were administrators or members.
const newestBeforeRoles = "00032_registry_kinds.sql"

// couldBeDone has what users could do in that version. Reading registries was part of checking them.
var couldBeDone = map[Role][]access.Permission{
	RoleAdmin: {access.ReadRegistries, access.ValidateRegistries, access.ReadAllProjects, access.CreateProjects, access.ChangeProjects,
		access.DeleteProjects, access.ReadUsers, access.CreateUsers, access.ChangeUsers, access.DeleteUsers, access.ReadAllAudits,
		access.ReadAllAPIKeys, access.CreateAllAPIKeys, access.ManageAllAPIKeys, access.SetPasswords, access.DisableUsers,
		access.RevokeAllTokens, access.ConfigureAlerts, access.ReadSettings, access.ReadTrusts, access.CreateTrusts, access.DeleteTrusts,
		access.CreateRegistries, access.ChangeRegistries, access.DeleteRegistries, access.SyncRegistries},
	RoleMember: {access.ReadRegistries, access.ValidateRegistries},
}

// TestUsersKeepWhatTheyCouldDo opens a store of the version before roles, with rows as that stored them. An administrator can do what it
// could, and a member that alone, in the projects that it was a member of.
func TestUsersKeepWhatTheyCouldDo(t *testing.T) {
	w := mustWorld(t, nil)
	hash, err := w.passwords.Hash(t.Context(), "org", goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	older := sqldb.Options{Dir: dir}
	if server != nil {
		url := server.NewDatabase(t)
		if err := postgrestest.WriteURL(dir, url); err != nil {
			t.Fatal(err)
		}
		older.URL = secret.String(url)
	}
	writeOlderStore(t, older, hash)
	db, err := store.Open(t.Context(), storeIn(dir, w.clock.now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	upgraded, err := newService(t.Context(), db, w.config)
	if err != nil {
		t.Fatal(err)
	}
	for role, could := range couldBeDone {
		tokens, err := upgraded.Login(t.Context(), origin, Credentials{Email: string(role) + "@example.com", Org: "Old",
			Password: goodPassword})
		if err != nil {
			t.Fatal(err)
		}
		p, err := upgraded.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
		if err != nil || p.Role != role {
			t.Errorf("%s: the role is %s, %v", role, p.Role, err)
		}
		for _, permission := range access.Permissions() {
			can := p.MayIn(permission, "project") == nil
			if want := slices.Contains(could, permission); can != want && (role == RoleMember || want) {
				t.Errorf("%s: %s is %t, and was %t", role, permission, can, want)
			}
		}
		projects, err := store.Read(t.Context(), db, func(tx *store.Tx) (list []store.Project, err error) {
			list, _, err = tx.Projects.OfUser(t.Context(), "org", string(role), store.Project{})
			return list, err
		})
		if err != nil || len(projects) != 1 || projects[0].UID != "project" {
			t.Errorf("%s: a member of %+v, %v", role, projects, err)
		}
	}
}

// writeOlderStore creates a store with an organization, two projects, and a user of each role in one of them.
func writeOlderStore(t *testing.T, at sqldb.Options, hash string) {
	t.Helper()
	raw, err := sqldb.OpenRaw(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := raw.Migrate(t.Context(), olderMigrations(t), false); err != nil {
		t.Fatal(err)
	}
	insert := func(query string, args ...any) {
		t.Helper()
		if _, err := raw.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	at0 := start.UnixMilli()
	insert(`INSERT INTO orgs (uid, name, canonical, created_at) VALUES ('org', 'Old', 'old', $1)`, at0)
	for _, project := range []string{"project", "another"} {
		insert(`INSERT INTO projects (uid, org_uid, name, canonical, created_at) VALUES ($1, 'org', $1, $1, $2)`, project, at0)
	}
	for role := range couldBeDone {
		insert(`INSERT INTO users (uid, org_uid, email, canonical, role, password_hash, password_changed_at, created_at)
			VALUES ($1, 'org', $2, $2, $1, $3, $4, $4)`, string(role), string(role)+"@example.com", hash, at0)
		insert(`INSERT INTO project_members (user_uid, project_uid, org_uid) VALUES ($1, 'project', 'org')`, string(role))
	}
}

// olderMigrations are the files of the store up to newestBeforeRoles.
func olderMigrations(t *testing.T) fstest.MapFS {
	t.Helper()
	const from = "../../storage/store"
	files := fstest.MapFS{}
	for _, dir := range []string{"migrations/sqlite", "migrations/postgres"} {
		entries, err := os.ReadDir(filepath.Join(from, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Name() > newestBeforeRoles {
				continue
			}
			text, err := os.ReadFile(filepath.Join(from, dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[path.Join(dir, entry.Name())] = &fstest.MapFile{Data: text}
		}
	}
	return files
}
