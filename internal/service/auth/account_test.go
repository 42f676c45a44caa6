package auth

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const otherPassword = "seven green herons in fog"

// mustOutsider creates an organization with one administrator and returns the administrator.
func (w *world) mustOutsider(t *testing.T) Principal {
	t.Helper()
	org := store.Org{UID: uuid.NewString(), Name: "Other", Canonical: "other", CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.Insert(t.Context(), org) })
	return asPrincipal(org, w.mustUser(t, org, "root@other.example", RoleAdmin))
}

func asPrincipal(org store.Org, user store.User) Principal {
	return Principal{OrgUID: org.UID, OrgName: org.Name, UserUID: user.UID, Email: user.Email, Role: Role(user.Role),
		Method: audit.MethodToken}
}

// mustSetPassword writes the changes of a new password set by an administrator (internal/service/directory).
func (w *world) mustSetPassword(t *testing.T, user store.User, password secret.String) {
	t.Helper()
	hash, err := w.passwords.Hash(t.Context(), user.OrgUID, password)
	if err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(tx *store.Tx) error {
		return errors.Join(tx.Users.SetPassword(t.Context(), user.OrgUID, user.UID, hash, w.clock.now()),
			tx.Throttling.ForgiveAccount(t.Context(), []byte(user.UID)),
			tx.Sessions.EndOfUser(t.Context(), user.OrgUID, user.UID, "", EndedByPassword, w.clock.now()))
	})
}

func wantFields(t *testing.T, err error, want ...string) {
	t.Helper()
	wantFault(t, err, fault.CodeInvalidRequest, "")
	f, _ := errors.AsType[*fault.Error](err)
	var got []string
	for _, field := range f.Fields {
		got = append(got, field.Field)
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields %v, want %v", f.Fields, want)
	}
}

// wantAudit checks the newest record.
func (w *world) wantAudit(t *testing.T, action audit.Action, outcome audit.Outcome, object, orgUID string) {
	t.Helper()
	list := w.newAudits(t)
	if !slices.ContainsFunc(list, func(e audit.Record) bool {
		return e.Action == action && e.Outcome == outcome && e.Object == object && e.OrgUID == orgUID && e.Origin == origin
	}) {
		t.Errorf("recorded: %+v, want %s %s of %s", list, action, outcome, object)
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	w := mustWorld(t, nil)
	first := w.mustLogin(t)
	w.clock.move(time.Minute)
	second := w.mustLogin(t)
	p := w.mustPrincipal(t, second)
	outsider := w.mustOutsider(t)
	list, err := w.Sessions.List(t.Context(), p)
	if err != nil || len(list) != 2 || !list[0].Current || list[1].Current || list[0].Address != origin.Address ||
		!list[1].CreatedAt.Equal(start) ||
		!list[0].ExpiresAt.Equal(w.clock.now().Add(defaultSessionIdle)) {
		t.Errorf("listed %+v, %v", list, err)
	}
	if none, err := w.Sessions.List(t.Context(), outsider); len(none) != 0 || err != nil {
		t.Errorf("an outsider sees %+v, %v", none, err)
	}
	uid := w.sessionOf(t, first).UID
	colleague := asPrincipal(w.org, w.mustUser(t, w.org, "root@example.com", RoleAdmin))
	var responses []string
	for _, refused := range []error{w.Sessions.End(t.Context(), outsider, origin, uid), w.Sessions.End(t.Context(), colleague, origin, uid),
		w.Sessions.End(t.Context(), p, origin, uuid.NewString()), w.Sessions.End(t.Context(), p, origin, "")} {
		wantFault(t, refused, fault.CodeResourceNotFound, "")
		responses = append(responses, refused.Error())
	}
	if len(slices.Compact(responses)) != 1 {
		t.Errorf("a foreign session is confirmed: %v", responses)
	}
	if err := w.Sessions.End(t.Context(), p, origin, uid); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.SessionEnd, audit.Succeeded, uid, w.org.UID)
	wantFault(t, w.Sessions.End(t.Context(), p, origin, uid), fault.CodeResourceNotFound, "")
	w.wantRefused(t, first.Refresh, ReasonRevoked)
	if err := w.Logout(t.Context(), p, origin); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.Logout, audit.Succeeded, p.SessionUID, w.org.UID)
	if left, err := w.Sessions.List(t.Context(), p); len(left) != 0 || err != nil {
		t.Errorf("left: %+v, %v", left, err)
	}
	wantFields(t, w.Logout(t.Context(), Principal{UserUID: p.UserUID, OrgUID: p.OrgUID, APIKeyUID: "k"}, origin), "Authorization")
}

func TestEndOtherSessions(t *testing.T) {
	w := mustWorld(t, nil)
	first, second, third := w.mustLogin(t), w.mustLogin(t), w.mustLogin(t)
	p := w.mustPrincipal(t, second)
	if err := w.Sessions.EndOthers(t.Context(), w.mustOutsider(t), origin); err != nil {
		t.Fatal(err)
	}
	if list, err := w.Sessions.List(t.Context(), p); len(list) != 3 || err != nil {
		t.Errorf("another user ended sessions: %+v, %v", list, err)
	}
	if err := w.Sessions.EndOthers(t.Context(), p, origin); err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, record := range w.newAudits(t) {
		if record.Action == audit.SessionEnd && record.Outcome == audit.Succeeded {
			recorded = append(recorded, record.Object)
		}
	}
	want := []string{w.sessionOf(t, first).UID, w.sessionOf(t, third).UID}
	slices.Sort(recorded)
	slices.Sort(want)
	if !slices.Equal(recorded, want) {
		t.Errorf("recorded %v, want %v", recorded, want)
	}
	for _, ended := range []Tokens{first, third} {
		wantFault(t, w.authenticate(t, ended.Authorization), fault.CodeUnauthorizedAccess, ReasonRevoked)
	}
	if err := w.authenticate(t, second.Authorization); err != nil {
		t.Errorf("the caller's own session has ended: %v", err)
	}
}

func TestRevokeTokensAllOrNone(t *testing.T) {
	w := mustWorld(t, nil)
	tokens, later := w.mustLogin(t), w.mustLogin(t)
	p, outsider := w.mustPrincipal(t, tokens), w.mustOutsider(t)
	foreign, err := w.Login(t.Context(), origin, Credentials{Email: outsider.Email, Org: "Other", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.audits(t, 100))
	wantFields(t, w.RevokeTokens(t.Context(), p, origin, []secret.String{tokens.Refresh, "x", foreign.Refresh, "", foreign.Authorization}),
		"tokens[1]", "tokens[2]", "tokens[3]", "tokens[4]")
	wantFields(t, w.RevokeTokens(t.Context(), outsider, origin, []secret.String{tokens.Authorization}), "tokens[0]")
	wantFields(t, w.RevokeTokens(t.Context(), p, origin, nil), "tokens")
	wantFields(t, w.RevokeTokens(t.Context(), p, origin, make([]secret.String, 101)), "tokens")
	if err := w.authenticate(t, tokens.Authorization); err != nil || len(w.audits(t, 100)) != before {
		t.Errorf("a refused call ended a session or recorded its end: %v", err)
	}
	w.clock.move(16 * time.Minute) // an expired token still belongs to its session
	if err := w.RevokeTokens(t.Context(), p, origin,
		[]secret.String{"Bearer " + tokens.Authorization, tokens.Refresh, later.Refresh}); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.TokensRevoke, audit.Succeeded, w.sessionOf(t, later).UID, w.org.UID)
	if n := len(w.audits(t, 100)) - before; n != 2 {
		t.Errorf("%d records of two sessions", n)
	}
	if err := w.RevokeTokens(t.Context(), Operator(), origin, []secret.String{foreign.Refresh}); err != nil {
		t.Error(err)
	}
	w.wantRefused(t, foreign.Refresh, ReasonRevoked)
}

func TestChangePassword(t *testing.T) {
	w := mustWorld(t, nil)
	here, other := w.mustLogin(t), w.mustLogin(t)
	p := w.mustPrincipal(t, here)
	change := func(current, next secret.String) error {
		return w.ChangePassword(t.Context(), p, origin, current, next)
	}
	wantFields(t, change("", "short"), "currentPassword", "newPassword")
	wantFields(t, change(goodPassword, goodPassword), "newPassword")
	wantFields(t, change("not this one", otherPassword), "currentPassword")
	w.wantAudit(t, audit.PasswordChange, audit.Refused, w.user.UID, w.org.UID)
	if err := w.authenticate(t, other.Authorization); err != nil {
		t.Errorf("a wrong password ended a session: %v", err)
	}
	if err := change(goodPassword, otherPassword); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.PasswordChange, audit.Succeeded, w.user.UID, w.org.UID)
	if err := w.authenticate(t, here.Authorization); err != nil {
		t.Errorf("the caller's own session ended: %v", err)
	}
	w.wantRefused(t, other.Refresh, ReasonRevoked)
	wantWrong(t, w.tryFrom(t, "192.0.2.1", goodEmail, goodPassword))
	if err := w.tryFrom(t, "192.0.2.1", goodEmail, otherPassword); err != nil {
		t.Error(err)
	}
}

func TestKeysOfADisabledUserAreInactive(t *testing.T) {
	w := mustWorld(t, nil)
	_, key, err := w.APIKeys.Create(t.Context(), asPrincipal(w.org, w.user), origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	use := func() error { _, err := w.Authenticate(t.Context(), Presented{APIKey: key}); return err }
	if err := use(); err != nil {
		t.Fatal(err)
	}
	mustDisable(t, w, w.user)
	wantFault(t, use(), fault.CodeUnauthorizedAccess, ReasonInactive)
	wantWrong(t, w.tryFrom(t, "192.0.2.1", goodEmail, goodPassword))
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Enable(t.Context(), w.org.UID, w.user.UID) })
	if err := errors.Join(use(), w.tryFrom(t, "192.0.2.1", goodEmail, goodPassword)); err != nil {
		t.Error(err)
	}
}

// TestRoleChangesTakeEffectAtOnce: a cached credential has the role of its user's last change.
func TestRoleChangesTakeEffectAtOnce(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	for _, role := range []Role{RoleAdmin, RoleMember} {
		w.mustWrite(t, func(tx *store.Tx) error {
			return tx.Users.SetRole(t.Context(), w.org.UID, w.user.UID, string(role), true)
		})
		if p := w.mustPrincipal(t, tokens); p.Role != role {
			t.Errorf("is %s, not %s", p.Role, role)
		}
	}
}

func TestAPIKeysAreManagedByOwnerAndAdministrator(t *testing.T) {
	w := mustWorld(t, nil)
	owner := asPrincipal(w.org, w.user)
	admin := asPrincipal(w.org, w.mustUser(t, w.org, "root@example.com", RoleAdmin))
	colleague := asPrincipal(w.org, w.mustUser(t, w.org, "bob@example.com", RoleMember))
	outsider := w.mustOutsider(t)
	created, key, err := w.APIKeys.Create(t.Context(), owner, origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	use := func() error { _, err := w.Authenticate(t.Context(), Presented{APIKey: key}); return err }
	name, active, inactive, later, past := "Release", true, false, start.Add(48*time.Hour), start
	for _, p := range []Principal{colleague, outsider, {}} {
		_, readErr := w.APIKeys.Get(t.Context(), p, created.UID)
		_, changeErr := w.APIKeys.Update(t.Context(), p, origin, created.UID, APIKeyChange{Active: &inactive})
		for _, err := range []error{readErr, changeErr, w.deactivateKey(t, p, created.UID),
			w.APIKeys.Delete(t.Context(), p, origin, created.UID)} {
			wantFault(t, err, fault.CodeResourceNotFound, "")
		}
	}
	if got, err := w.APIKeys.Get(t.Context(), admin, created.UID); got != created || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	for i, p := range []Principal{owner, admin, Operator()} {
		if err := errors.Join(use(), w.deactivateKey(t, p, created.UID)); err != nil {
			t.Fatal(err)
		}
		w.wantAudit(t, audit.APIKeyUpdate, audit.Succeeded, created.UID, w.org.UID)
		wantFault(t, use(), fault.CodeUnauthorizedAccess, ReasonInactive)
		renamed := fmt.Sprint(name, i)
		changed, err := w.APIKeys.Update(t.Context(), p, origin, created.UID,
			APIKeyChange{Name: &renamed, ExpiresAt: &later, Active: &active})
		if err != nil || changed.Name != renamed || !changed.ExpiresAt.Equal(later) || !changed.Active {
			t.Errorf("got %+v, %v", changed, err)
		}
	}
	w.clock.move(2 * time.Hour) // past the expiry that it was created with
	if err := use(); err != nil {
		t.Errorf("a later expiry has no effect: %v", err)
	}
	bad := " "
	_, err = w.APIKeys.Update(t.Context(), owner, origin, created.UID, APIKeyChange{Name: &bad, ExpiresAt: &past})
	wantFields(t, err, "name", "expiresAt")
	second, _, err := w.APIKeys.Create(t.Context(), owner, origin, NewAPIKey{Name: "other", ExpiresAt: later})
	if err != nil {
		t.Fatal(err)
	}
	taken := "RELEASE2"
	_, err = w.APIKeys.Update(t.Context(), owner, origin, second.UID, APIKeyChange{Name: &taken})
	wantFault(t, err, "ApiKeyAlreadyExists", "")
	if err := w.APIKeys.Delete(t.Context(), admin, origin, created.UID); err != nil {
		t.Fatal(err)
	}
	w.wantAudit(t, audit.APIKeyDelete, audit.Succeeded, created.UID, w.org.UID)
	wantFault(t, use(), fault.CodeUnauthorizedAccess, ReasonUnknown)
}

// A user without a password has an account and API keys, and logs in once an administrator has set a password.
func TestUserWithoutPassword(t *testing.T) {
	w := mustWorld(t, nil)
	user := w.mustUserWithoutPassword(t, "new@example.com")
	for _, password := range []secret.String{goodPassword, "-"} {
		wantWrong(t, w.tryFrom(t, "192.0.2.1", user.Email, password))
		wantFields(t, w.ChangePassword(t.Context(), asPrincipal(w.org, user), origin, password, otherPassword), "currentPassword")
	}
	stored := func() (found store.User) {
		if err := w.db.View(t.Context(), func(tx *store.Tx) (err error) {
			found, err = tx.Users.Get(t.Context(), w.org.UID, user.UID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if now := stored(); now != user {
		t.Errorf("a refused login left %+v", now)
	}
	w.mustSetPassword(t, user, goodPassword)
	if err := w.tryFrom(t, "192.0.2.1", user.Email, goodPassword); err != nil {
		t.Error(err)
	}
	if now := stored(); !now.LastLoginAt.Equal(start) {
		t.Errorf("after a login: %+v", now)
	}
}

// Credentials of a deleted user are invalid at once, and nothing can be created for the user any more.
func TestDeletedUser(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	p := w.mustPrincipal(t, tokens)
	_, key, err := w.APIKeys.Create(t.Context(), p, origin, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(t.Context(), Presented{APIKey: key, Authorization: tokens.Authorization}); err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Delete(t.Context(), w.org.UID, w.user.UID) })
	wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonUnknown)
	_, err = w.Authenticate(t.Context(), Presented{APIKey: key})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonUnknown)
	w.wantRefused(t, tokens.Refresh, ReasonUnknown)
	wantWrong(t, w.tryFrom(t, "192.0.2.1", goodEmail, goodPassword))
	_, _, err = w.APIKeys.Create(t.Context(), p, origin, NewAPIKey{Name: "late", ExpiresAt: start.Add(time.Hour)})
	wantFault(t, err, fault.CodeResourceNotFound, "")
	again := w.mustUser(t, w.org, goodEmail, RoleMember) // the email is available again, and the new user inherits nothing
	if keys, _, err := w.APIKeys.List(t.Context(), asPrincipal(w.org, again), APIKey{}); len(keys) != 0 || err != nil {
		t.Errorf("inherited %+v, %v", keys, err)
	}
	wantFault(t, w.authenticate(t, tokens.Authorization), fault.CodeUnauthorizedAccess, ReasonUnknown)
}
