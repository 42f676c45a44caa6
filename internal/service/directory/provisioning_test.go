package directory_test

import (
	"context"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

type provisioned = directory.ProvisionedUser

// keyOf is a key of a user that may provision only.
func keyOf(user auth.Principal) auth.Principal {
	user.Method, user.APIKeyUID, user.Limit = audit.MethodAPIKey, "key", access.Limit{Scope: access.ScopeProvision}
	return user
}

func active(is bool) func(provisioned) (provisioned, error) {
	return func(u provisioned) (provisioned, error) {
		u.Active = is
		return u, nil
	}
}

// Provisioning a user is recorded with the key, and a request that changes nothing is not recorded.
func TestProvisionUser(t *testing.T) {
	w := mustWorld(t)
	org := w.mustOrg(t, "acme")
	d, key := directory.Provisioning{Directory: w.Directory}, keyOf(w.mustUser(t, org, "root@acme.example", auth.RoleAdmin))
	user, err := d.CreateUser(t.Context(), key, origin, provisioned{Email: "Ada@acme.example", ExternalID: "00u1", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	session := store.Session{UID: "session", OrgUID: org.UID, UserUID: user.UID, Generation: 1, CreatedAt: start,
		IdleUntil: start.AddDate(0, 0, 1), MaxUntil: start.AddDate(0, 0, 1)}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error { return tx.Sessions.Insert(ctx, session) })
	for _, is := range []bool{true, false, false, true} {
		next, err := d.ChangeUser(t.Context(), key, origin, user.UID, active(is))
		if err != nil || next.Active != is || next.UID != user.UID {
			t.Errorf("%+v, %v", next, err)
		}
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		stored, err := tx.Users.Get(ctx, org.UID, user.UID)
		if stored.PasswordHash != "" || stored.Role != "member" || !stored.DisabledAt.IsZero() {
			t.Errorf("%+v", stored)
		}
		ended, errSession := tx.Sessions.Get(ctx, session.UID)
		if errSession != nil || ended.EndedAt.IsZero() {
			t.Errorf("the session of a deactivated user: %+v, %v", ended, errSession)
		}
		return err
	})
	next, err := d.ChangeUser(t.Context(), key, origin, user.UID, func(u provisioned) (provisioned, error) {
		u.Email, u.FirstName, u.Active = "countess@acme.example", "Ada", false
		return u, nil
	})
	if err != nil || next.Email != "countess@acme.example" || next.Active {
		t.Errorf("%+v, %v", next, err)
	}
	if err := d.DeleteUser(t.Context(), key, origin, user.UID); err != nil {
		t.Error(err)
	}
	var got []string
	for _, r := range w.audits(t) {
		if r.Method == audit.MethodAPIKey {
			got = append(got, string(r.Action)+" "+r.Reason)
			if r.Target != "key" || r.ActorUID != key.UserUID || r.Object != user.UID || r.Outcome != audit.Succeeded {
				t.Errorf("%+v", r)
			}
		}
	}
	slices.Sort(got)
	want := []string{"user.create ", "user.delete ", "user.disable changed emailId,firstName,isActive", "user.disable changed isActive",
		"user.enable changed isActive"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// Whom a key may not provision: others of another organization, its own user, the last administrator, and who may do more than its user.
func TestProvisionRefuses(t *testing.T) {
	w := mustWorld(t)
	org, rival := w.mustOrg(t, "acme"), w.mustOrg(t, "rival")
	root, second := w.mustUser(t, org, "root@acme.example", auth.RoleAdmin), w.mustUser(t, org, "second@acme.example", auth.RoleAdmin)
	theirs := w.mustUser(t, rival, "root@rival.example", auth.RoleAdmin)
	mate := w.mustUser(t, org, "mate@acme.example", auth.RoleMember)
	d, key := directory.Provisioning{Directory: w.Directory}, keyOf(root)
	for _, tt := range []struct {
		name string
		by   auth.Principal
		uid  string
		kind fault.Kind
	}{
		{"another organization's user", key, theirs.UserUID, fault.NotFound},
		{"an email", key, mate.Email, fault.NotFound},
		{"its own user", key, root.UserUID, fault.Forbidden},
		{"by a member", keyOf(mate), second.UserUID, fault.Forbidden},
		{"by a key that reads", auth.Principal{UserUID: root.UserUID, OrgUID: org.UID, Role: auth.RoleAdmin,
			Limit: access.Limit{Scope: access.ScopeRead}}, mate.UserUID, fault.Forbidden},
		{"by a key of a project", auth.Principal{UserUID: root.UserUID, OrgUID: org.UID, Role: auth.RoleAdmin,
			Limit: access.Limit{Scope: access.ScopeProvision, Project: "p"}}, mate.UserUID, fault.Forbidden},
	} {
		if _, err := d.ChangeUser(t.Context(), tt.by, origin, tt.uid, active(false)); fault.KindOf(err) != tt.kind {
			t.Errorf("deactivate %s: %v", tt.name, err)
		}
		if err := d.DeleteUser(t.Context(), tt.by, origin, tt.uid); fault.KindOf(err) != tt.kind {
			t.Errorf("delete %s: %v", tt.name, err)
		}
	}
	lone := keyOf(w.mustUser(t, org, "robot@acme.example", auth.RoleAdmin))
	for _, uid := range []string{root.UserUID, second.UserUID} { // the robot remains
		if _, err := d.ChangeUser(t.Context(), lone, origin, uid, active(false)); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.ChangeUser(t.Context(), key, origin, lone.UserUID, active(false)); err == nil {
		t.Error("the last administrator was deactivated")
	} else {
		wantCode(t, err, directory.CodeLastAdmin)
	}
	wantCode(t, d.DeleteUser(t.Context(), key, origin, lone.UserUID), directory.CodeLastAdmin)
	for name, input := range map[string]provisioned{directory.CodeUserExists: {Email: "MATE@acme.example"},
		fault.CodeInvalidRequest: {Email: "x"}} {
		_, err := d.CreateUser(t.Context(), key, origin, input)
		wantCode(t, err, name)
	}
}

// A provider that decides about teams gives a new user no role, and a team that was created has none until an administrator gives it one.
func TestProvisionTeam(t *testing.T) {
	w := mustWorld(t)
	org, rival := w.mustOrg(t, "acme"), w.mustOrg(t, "rival")
	root, theirs := w.mustUser(t, org, "root@acme.example", auth.RoleAdmin), w.mustUser(t, rival, "root@rival.example", auth.RoleAdmin)
	d, key := directory.Provisioning{Directory: w.Directory}, keyOf(root)
	user, err := d.CreateUser(t.Context(), key, origin, provisioned{Email: "ada@acme.example", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	member := func(uid string) []directory.TeamMember { return []directory.TeamMember{{UserUID: uid}} }
	team, err := d.CreateTeam(t.Context(), key, origin, directory.ProvisionedTeam{Name: "Ops", ExternalID: "g1", Members: member(user.UID)})
	if err != nil || len(team.Members) != 1 || team.Members[0].Email != user.Email {
		t.Fatalf("%+v, %v", team, err)
	}
	_, err = d.CreateTeam(t.Context(), key, origin, directory.ProvisionedTeam{Name: "Ops"})
	wantCode(t, err, directory.CodeTeamExists)
	_, err = d.CreateTeam(t.Context(), key, origin, directory.ProvisionedTeam{Name: "ops", ExternalID: "g1"})
	wantCode(t, err, directory.CodeExternalIDExists)
	_, err = d.CreateTeam(t.Context(), key, origin, directory.ProvisionedTeam{Name: "ops", Members: member(theirs.UserUID)})
	wantFields(t, err, "users[0]")
	set := func(by auth.Principal, uid string, members []directory.TeamMember) error {
		_, err := d.ChangeTeam(t.Context(), by, origin, uid, func(stored directory.ProvisionedTeam) (directory.ProvisionedTeam, error) {
			stored.Members = members
			return stored, nil
		})
		return err
	}
	wantFields(t, set(key, team.UID, member(theirs.UserUID)), "users[0]")
	wantCode(t, set(keyOf(theirs), team.UID, nil), fault.CodeResourceNotFound)
	wantCode(t, d.DeleteTeam(t.Context(), keyOf(theirs), origin, team.UID), fault.CodeResourceNotFound)
	list, total, err := d.Teams(t.Context(), keyOf(theirs), directory.Lookup{Limit: 10}, true)
	if len(list) != 0 || total != 0 || err != nil {
		t.Errorf("another organization sees %+v, %d, %v", list, total, err)
	}

	admin := auth.RoleAdmin
	if err := (directory.Teams{Directory: w.Directory}).Change(t.Context(), w.operatorOf(t, org.Name), origin, team.UID,
		func(directory.Team) (directory.TeamChange, error) { return directory.TeamChange{Role: &admin}, nil }); err != nil {
		t.Fatal(err)
	}
	if err := set(key, team.UID, nil); err != nil {
		t.Error(err)
	}
	limited := keyOf(w.mustUser(t, org, "limited@acme.example", "registry-editor"))
	limited.Grants = &access.Grants{Custom: access.Custom{"custom": {access.Provision, access.ChangeTeams, access.ReadTeams}}}
	limited.Role = "custom registry-editor"
	wantCode(t, set(limited, team.UID, member(limited.UserUID)), fault.CodeOperationForbidden) // it would be an administrator
	if err := d.DeleteTeam(t.Context(), key, origin, team.UID); err != nil {
		t.Error(err)
	}
}
