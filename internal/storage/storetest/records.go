package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

func orgs(t *testing.T, db *store.DB) {
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Orgs.Any(ctx)
		return err
	})
	b, a := mustOrg(t, db, "b"), mustOrg(t, db, "a")
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Insert(ctx, newOrg("a")) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		byName, errA := tx.Orgs.ByName(ctx, "a")
		byUID, errB := tx.Orgs.Get(ctx, b.UID)
		list, errL := tx.Orgs.List(ctx)
		if diff := cmp.Diff([]store.Org{a, b, a, b}, append([]store.Org{byName, byUID}, list...)); diff != "" {
			t.Error(diff)
		}
		return errors.Join(errA, errB, errL)
	})
}

func projects(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	user, foreign := mustUser(t, db, org, "u@example.com"), mustUser(t, db, other, "u@example.com")
	seen := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "Seen", Canonical: "seen", CreatedAt: start}
	hidden := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "Hidden", Canonical: "hidden", CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Projects.Insert(ctx, seen), tx.Projects.Insert(ctx, hidden),
			tx.Projects.InsertMember(ctx, org.UID, seen.UID, user.UID, ""), tx.Projects.InsertMember(ctx, org.UID, seen.UID, user.UID, ""))
	})
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		return tx.Projects.Insert(ctx, store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "SEEN", Canonical: "seen",
			CreatedAt: start})
	})
	for _, wrong := range []string{org.UID, other.UID} {
		err := db.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.Projects.InsertMember(t.Context(), wrong, seen.UID, foreign.UID, "")
		})
		if err == nil {
			t.Error("a project has a member of another organization")
		}
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		all, _, errAll := tx.Projects.List(ctx, org.UID, store.Project{})
		own, _, errOwn := tx.Projects.OfUser(ctx, org.UID, user.UID, store.Project{})
		one, errOne := tx.Projects.OneForUser(ctx, org.UID, user.UID, seen.UID)
		if diff := cmp.Diff([]store.Project{hidden, seen, seen, seen}, append(append(all, own...), one)); diff != "" {
			t.Error(diff)
		}
		for _, look := range []func() (store.Project, error){
			func() (store.Project, error) { return tx.Projects.Get(ctx, other.UID, seen.UID) },
			func() (store.Project, error) { return tx.Projects.OneForUser(ctx, org.UID, user.UID, hidden.UID) },
			func() (store.Project, error) { return tx.Projects.OneForUser(ctx, other.UID, user.UID, seen.UID) },
			func() (store.Project, error) { return tx.Projects.OneForUser(ctx, org.UID, foreign.UID, seen.UID) },
		} {
			if project, err := look(); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %v, %v", project, err)
			}
		}
		return errors.Join(errAll, errOwn, errOne)
	})
}

func users(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	user, namesake := mustUser(t, db, org, "u@example.com"), mustUser(t, db, other, "u@example.com")
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		again := user
		again.UID = uuid.NewString()
		return tx.Users.Insert(ctx, again)
	})
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Users.Insert(t.Context(), store.User{UID: uuid.NewString(), OrgUID: uuid.NewString(), Email: "x@y", Canonical: "x@y",
			Role: "member"})
	}); err == nil {
		t.Error("a user without an organization")
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		byEmail, errE := tx.Users.ByEmail(ctx, org.UID, "u@example.com")
		byUID, errU := tx.Users.Get(ctx, other.UID, namesake.UID)
		list, _, errL := tx.Users.List(ctx, org.UID, store.User{})
		if diff := cmp.Diff([]store.User{user, namesake, user}, append([]store.User{byEmail, byUID}, list...)); diff != "" {
			t.Error(diff)
		}
		if _, err := tx.Users.Get(ctx, org.UID, namesake.UID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a user of another organization: %v", err)
		}
		return errors.Join(errE, errU, errL)
	})
}

func noteLogin(t *testing.T, db *store.DB) {
	user := mustUser(t, db, mustOrg(t, db, "one"), "u@example.com")
	at := start.Add(time.Minute)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.NoteLogin(ctx, user.UID, "hash", "stronger", at)
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.NoteLogin(ctx, user.UID, "hash", "hash", at) // the password has changed
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		now, err := tx.Users.Get(ctx, user.OrgUID, user.UID)
		if now.PasswordHash != "stronger" || !now.LastLoginAt.Equal(at) {
			t.Errorf("got %q at %v", now.PasswordHash, now.LastLoginAt)
		}
		return err
	})
}

func apiKeys(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	user, colleague := mustUser(t, db, org, "u@example.com"), mustUser(t, db, org, "v@example.com")
	key := store.APIKey{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID, Name: "CI", Canonical: "ci", Prefix: "rwk_abcdef",
		Hash: []byte("hash"), CreatedAt: start, ExpiresAt: start.Add(time.Hour), Scope: "read", ProjectUID: "a project"}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.APIKeys.Insert(ctx, key) })
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		again := key
		again.UID, again.Hash = uuid.NewString(), []byte("another")
		return tx.APIKeys.Insert(ctx, again)
	})
	for _, use := range []time.Duration{time.Minute, 2 * time.Minute, 10 * time.Minute} {
		at := start.Add(use)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.APIKeys.NoteUse(ctx, key.UID, at, at.Add(-5*time.Minute))
		})
		want := map[time.Duration]time.Duration{time.Minute: time.Minute, 2 * time.Minute: time.Minute,
			10 * time.Minute: 10 * time.Minute}[use]
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			found, err := tx.APIKeys.ByHash(ctx, []byte("hash"))
			if !found.LastUsedAt.Equal(start.Add(want)) {
				t.Errorf("used after %v: stored is %v", use, found.LastUsedAt)
			}
			return err
		})
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		own, errO := tx.APIKeys.OfUser(ctx, org.UID, user.UID)
		none, errN := tx.APIKeys.OfUser(ctx, org.UID, colleague.UID)
		all, _, errA := tx.APIKeys.OfOrg(ctx, org.UID, store.APIKey{})
		want := key
		want.LastUsedAt, want.Email, want.Role, want.OrgName = start.Add(10*time.Minute), "u@example.com", "member", "one"
		if diff := cmp.Diff([]store.APIKey{want, want}, append(own, all...)); diff != "" || len(none) != 0 {
			t.Error(diff, none)
		}
		return errors.Join(errO, errN, errA)
	})
}

func serviceKeys(t *testing.T, db *store.DB) {
	sign := store.ServiceKey{UID: "kid-1", Purpose: store.KeySign, Public: []byte("public"), Secret: []byte("marked-signing-secret"),
		CreatedAt: start}
	mac := store.ServiceKey{UID: "mac-1", Purpose: store.KeyMAC, Secret: []byte("marked-mac-secret"), CreatedAt: start.Add(time.Second)}
	for _, key := range []store.ServiceKey{sign, mac} {
		for i, wanted := range []bool{true, false} {
			next := key
			next.UID = key.UID + strings.Repeat("+", i)
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
				added, err := tx.Keys.Insert(ctx, next)
				if added != wanted {
					t.Errorf("key %s added: %v", next.UID, added)
				}
				return err
			})
		}
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		keys, err := tx.Keys.List(ctx)
		if diff := cmp.Diff([]store.ServiceKey{sign, mac}, keys); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

// projectChanges replaces projects, and deletes them only while nothing is in them.
func projectChanges(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	user, registry := mustUser(t, db, org, "u@example.com"), fullRegistry(org, "Full")
	project := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "A", Canonical: "a", Annotations: map[string]string{"k": "\x00"},
		CreatedAt: start}
	taken := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "B", Canonical: "b", CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Projects.Insert(ctx, project), tx.Projects.Insert(ctx, taken), tx.Registries.Insert(ctx, registry))
	})
	renamed := project
	renamed.Name, renamed.Canonical, renamed.Annotations, renamed.Labels = "C", "c", nil, map[string]string{"l": ""}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Update(ctx, renamed) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.Projects.Get(ctx, org.UID, project.UID)
		if diff := cmp.Diff(renamed, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
	foreign, clash := renamed, renamed
	foreign.OrgUID, clash.Canonical = other.UID, "b"
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Update(ctx, foreign) })
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Update(ctx, clash) })

	remove := func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Delete(ctx, org.UID, project.UID) }
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Projects.InsertMember(ctx, org.UID, project.UID, user.UID, ""),
			tx.Projects.SetOfRegistry(ctx, org.UID, registry.UID, project.UID))
	})
	wantError(t, db, store.ErrNotFound, remove)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		members, errM := tx.Projects.Members(ctx, org.UID, project.UID, 2)
		registries, errR := tx.Projects.Registries(ctx, org.UID, project.UID, 2)
		none, errN := tx.Projects.Registries(ctx, org.UID, taken.UID, 2)
		if diff := cmp.Diff([][]string{{"u@example.com"}, {"Full"}, nil}, [][]string{members, registries, none}); diff != "" {
			t.Error(diff)
		}
		return errors.Join(errM, errR, errN)
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Projects.DeleteMemberships(ctx, org.UID, user.UID)
	})
	wantError(t, db, store.ErrNotFound, remove)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, registry.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Projects.Delete(ctx, other.UID, project.UID)
	})
	contained := fullRegistry(org, "Contained")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		channel := store.Channel{UID: "of-project", OrgUID: org.UID, ProjectUID: project.UID, Component: "RegistryHealth", Type: "http",
			CreatedAt: project.CreatedAt}
		return errors.Join(tx.Channels.Insert(ctx, channel), tx.Registries.Insert(ctx, contained),
			tx.Projects.SetOfRegistry(ctx, org.UID, contained.UID, project.UID),
			tx.Projects.InsertMember(ctx, org.UID, project.UID, user.UID, ""))
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if cleared, err := tx.Projects.Clear(ctx, other.UID, project.UID, 2); err != nil || len(cleared) != 0 {
			t.Errorf("of another organization: %v, %v", cleared, err)
		}
		return nil
	})
	wantError(t, db, store.ErrNotFound, remove)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		cleared, err := tx.Projects.Clear(ctx, org.UID, project.UID, 2)
		if !slices.Equal(cleared, []string{contained.UID}) {
			t.Errorf("cleared %v", cleared)
		}
		return err
	})
	wantError(t, db, store.ErrNotFound, remove)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		foreign, err1 := tx.Channels.DeleteOf(ctx, other.UID, project.UID)
		deleted, err := tx.Channels.DeleteOf(ctx, org.UID, project.UID)
		if len(foreign) != 0 || len(deleted) != 1 || deleted[0].UID != "of-project" {
			t.Errorf("deleted the channels %v and %v", foreign, deleted)
		}
		return errors.Join(err1, err)
	})
	mustWrite(t, db, remove)
	for _, late := range []func(context.Context, *store.Tx) error{
		remove,
		func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Lock(ctx, org.UID, project.UID) },
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Projects.InsertMember(ctx, org.UID, project.UID, user.UID, "")
		},
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Channels.Insert(ctx, store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: project.UID, Component: "c",
				Type: "email", CreatedAt: start})
		},
	} {
		wantError(t, db, store.ErrNotFound, late)
	}
}

// userChanges changes and deletes users, and what belongs to them with them.
func userChanges(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	user, taken := mustUser(t, db, org, "u@example.com"), mustUser(t, db, org, "taken@example.com")
	changed := user
	changed.Email, changed.Canonical, changed.Name, changed.FirstName, changed.LastName = "U@Example.org", "u@example.org", "A L", "A", "L"
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Update(ctx, changed) })
	wantUser := func(want store.User) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Users.Get(ctx, org.UID, user.UID)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			return err
		})
	}
	wantUser(changed)
	renamed := changed
	renamed.Name, renamed.FirstName, renamed.LastName, renamed.Role, renamed.RoleNamed = "", "B", "", "admin", true
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Users.Update(ctx, store.User{UID: user.UID, OrgUID: org.UID, FirstName: "B"}),
			tx.Users.SetRole(ctx, org.UID, user.UID, "admin", true))
	})
	wantUser(renamed)
	setRoles := func(roles string) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetRole(ctx, org.UID, user.UID, roles, true)
		})
		asRole := renamed
		asRole.Role = roles
		wantUser(asRole)
		key, session := mustSession(t, db, user), store.Session{}
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			session, err = tx.Sessions.Get(ctx, key.UID)
			return err
		})
		if session.Role != roles {
			t.Errorf("the role of the session is %q, want %q", session.Role, roles)
		}
	}
	for _, roles := range []string{"viewer", "admin auditor", "member viewer", "member", "admin"} {
		setRoles(roles)
	}
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.Update(ctx, store.User{UID: user.UID, OrgUID: org.UID, Email: taken.Email, Canonical: taken.Canonical})
	})
	foreign := func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.Update(ctx, store.User{UID: user.UID, OrgUID: other.UID})
	}
	wantError(t, db, store.ErrNotFound, foreign)
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, other.UID, user.UID) })
	admins(t, db, org, user, taken)

	session := mustSession(t, db, user)
	project := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: "P", Canonical: "p", CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Projects.Insert(ctx, project), tx.Projects.InsertMember(ctx, org.UID, project.UID, user.UID, ""),
			tx.APIKeys.Insert(ctx, store.APIKey{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID, Name: "k", Canonical: "k",
				Hash: []byte("h"), CreatedAt: start, ExpiresAt: start}))
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, user.UID) })
	waitForNumbers(t, db)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		_, errS := tx.Sessions.Get(ctx, session.UID)
		_, errK := tx.APIKeys.ByHash(ctx, []byte("h"))
		members, errM := tx.Projects.Members(ctx, org.UID, project.UID, 1)
		change, errC := tx.Changes.Last(ctx)
		if !errors.Is(errS, store.ErrNotFound) || !errors.Is(errK, store.ErrNotFound) || len(members) != 0 || change.Subject != user.UID {
			t.Errorf("after the deletion: %v, %v, %v, %+v", errS, errK, members, change)
		}
		return errors.Join(errM, errC)
	})
	for _, late := range []func(context.Context, *store.Tx) error{
		func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, user.UID) },
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Projects.InsertMember(ctx, org.UID, project.UID, user.UID, "")
		},
		func(ctx context.Context, tx *store.Tx) error {
			session.UID = uuid.NewString()
			return tx.Sessions.Insert(ctx, session)
		},
	} {
		wantError(t, db, store.ErrNotFound, late)
	}
}

// admins asks whether another administrator can log in: one, an enabled administrator with a password, or the other.
func admins(t *testing.T, db *store.DB, org store.Org, one, other store.User) {
	t.Helper()
	has := func(uid string) (has bool) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			has, err = tx.Users.HasOtherAdmin(ctx, org.UID, uid, true)
			return err
		})
		return has
	}
	if has(one.UID) || !has(other.UID) {
		t.Errorf("one administrator: other than it %t, other than a member %t", has(one.UID), has(other.UID))
	}
	for _, step := range []struct {
		name   string
		want   bool
		change func(context.Context, *store.Tx) error
	}{
		{"another", true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetRole(ctx, org.UID, other.UID, "admin", true)
		}},
		{"disabled", false, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Disable(ctx, org.UID, other.UID, start) }},
		{"enabled", true, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Enable(ctx, org.UID, other.UID) }},
		{"without a password", false, func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetPassword(ctx, org.UID, other.UID, "", start)
		}},
		{"with a password", true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetPassword(ctx, org.UID, other.UID, "x", start)
		}},
		{"a member", false, func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetRole(ctx, org.UID, other.UID, "member", false)
		}},
	} {
		mustWrite(t, db, step.change)
		if got := has(one.UID); got != step.want {
			t.Errorf("%s: another administrator %t, want %t", step.name, got, step.want)
		}
	}
}
