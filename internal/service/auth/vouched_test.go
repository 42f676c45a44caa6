package auth

import (
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// TestVouchedLogins: a login is noted, and refused for a user who may not log in, or if the caller cannot store what belongs to it.
func TestVouchedLogins(t *testing.T) {
	w := mustWorld(t, nil)
	disabled := w.mustUser(t, w.org, "disabled@example.com", RoleMember)
	mustDisable(t, w, disabled)
	failed := errors.New("not stored")
	w.clock.move(time.Minute)
	for _, tt := range []struct {
		name         string
		user         store.User
		find, stored error
		want         error
	}{
		{"refused", w.user, failed, nil, failed},
		{"unknown", w.user, store.ErrNotFound, nil, ErrNoLogin},
		{"disabled", disabled, nil, nil, ErrNoLogin},
		{"not stored", w.user, nil, failed, failed},
		{"accepted", w.user, nil, nil, nil},
	} {
		for _, console := range []bool{false, true} {
			session := ""
			v := Vouched{OrgUID: w.org.UID, Method: audit.MethodOIDC, User: func(*store.Tx) (store.User, error) { return tt.user, tt.find },
				Stored: func(tx *store.Tx, uid string) error {
					_, err := tx.Sessions.Get(t.Context(), uid)
					session = uid
					return errors.Join(err, tt.stored)
				}}
			var err error
			if console {
				_, _, err = w.LoginVouchedConsole(t.Context(), origin, v)
			} else {
				_, err = w.LoginVouched(t.Context(), origin, v)
			}
			if !errors.Is(err, tt.want) || (session != "") != (tt.find == nil && tt.user.UID == w.user.UID) {
				t.Errorf("%s: %v, session %q", tt.name, err, session)
			}
			noted := w.mustUserOf(t, Principal{OrgUID: w.org.UID, UserUID: tt.user.UID}).LastLoginAt
			if tt.name == "not stored" && !noted.IsZero() || tt.name == "accepted" && !noted.Equal(w.clock.now()) {
				t.Errorf("%s: last login at %v", tt.name, noted)
			}
		}
	}
}

// TestRevocableTokens: a user may revoke the own tokens, at most a hundred at once, an administrator those of the organization.
func TestRevocableTokens(t *testing.T) {
	w := mustWorld(t, nil)
	w.mustUser(t, w.org, "colleague@example.com", RoleMember)
	colleague, err := w.Login(t.Context(), origin, Credentials{Email: "colleague@example.com", Org: goodOrg, Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	me := w.principal(t)
	admin, another := me, me
	admin.Role, another.OrgUID = RoleAdmin, "another"
	foreign := admin
	foreign.OrgUID, foreign.UserUID = "another", "another"
	own := make([]secret.String, maxRevoked+1)
	for i, token := 0, w.mustLogin(t).Authorization; i < len(own); i++ {
		own[i] = token
	}
	for _, tt := range []struct {
		name    string
		who     Principal
		tokens  []secret.String
		allowed bool
	}{
		{"none", me, nil, false},
		{"too many", me, own, false},
		{"a colleague's", me, []secret.String{colleague.Refresh}, false},
		{"of another organization", another, own[:1], false},
		{"by an administrator of another organization", foreign, own[:1], false},
		{"as many as allowed", me, own[:maxRevoked], true},
		{"by an administrator", admin, []secret.String{colleague.Refresh}, true},
	} {
		err := w.RevokeTokens(t.Context(), tt.who, origin, tt.tokens)
		if (err == nil) != tt.allowed || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
