package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestPermissionsOfAPrincipal has what a caller may do in the organization, in projects and with a limited key.
func TestPermissionsOfAPrincipal(t *testing.T) {
	inProject := &access.Grants{Projects: map[string]access.Role{"p": access.Admin}}
	ofProject := access.Limit{Project: "p"}
	calendar := access.Limit{Scope: access.ScopeCalendar}
	for _, tt := range []struct {
		name               string
		who                Principal
		can, canInP, canIn bool // change registries: in the organization, in the project p, in another one
		where              []string
	}{
		{"the zero value", Principal{}, false, false, false, nil},
		{"a member", Principal{Role: RoleMember}, false, false, false, nil},
		{"an administrator", Principal{Role: RoleAdmin}, true, true, true, nil},
		{"of a project", Principal{Role: RoleMember, Grants: inProject}, false, true, false, []string{"p"}},
		{"an administrator's key for a project", Principal{Role: RoleAdmin, Limit: ofProject}, false, true, false, []string{"p"}},
		{"a member's key for a project", Principal{Role: RoleMember, Limit: ofProject}, false, false, false, nil},
		{"a key for a project, of a user of it", Principal{Role: RoleMember, Grants: inProject, Limit: ofProject}, false, true, false,
			[]string{"p"}},
		{"a key of a calendar", Principal{Role: RoleMember, Grants: inProject, Limit: calendar}, false, false, false, nil},
	} {
		const permission = access.ChangeRegistries
		got := []bool{tt.who.Can(permission), tt.who.CanIn(permission, "p"), tt.who.CanIn(permission, "q"), tt.who.CanAnywhere(permission)}
		want := []bool{tt.can, tt.canInP, tt.canIn, tt.can || len(tt.where) > 0}
		if where := tt.who.Where(permission); !slices.Equal(got, want) || !slices.Equal(where, tt.where) {
			t.Errorf("%s: %v, want %v; in %v, want %v", tt.name, got, want, where, tt.where)
		}
		if (tt.who.May(permission) == nil) != tt.can || (tt.who.MayIn(permission, "p") == nil) != tt.canInP ||
			(tt.who.MayAnywhere(permission) == nil) != want[3] {
			t.Errorf("%s: the faults are others than the permissions", tt.name)
		}
	}
}

// TestWhomToAsk: a fault says what gives the permission.
func TestWhomToAsk(t *testing.T) {
	for _, tt := range []struct {
		who        Principal
		permission access.Permission
		want       string
	}{
		{Principal{Role: RoleMember}, access.CreateUsers, "Ask an administrator"},
		{Principal{Role: RoleAdmin}, access.RotateServiceKeys, "Only the operator"},
		{Principal{Role: RoleAdmin, Limit: access.Limit{Project: "p"}}, access.CreateUsers, "The API key is limited"},
		{Principal{Role: RoleMember, Limit: access.Limit{Project: "p"}}, access.ChangeRegistries, "Ask an administrator"},
	} {
		f, _ := errors.AsType[*fault.Error](tt.who.May(tt.permission))
		if f == nil || f.Code != fault.CodeOperationForbidden || f.Reason != string(tt.permission) ||
			!strings.Contains(f.Message, tt.want) {
			t.Errorf("%s: %v, want %q", tt.permission, f, tt.want)
		}
	}
}

// TestHasAll: an administrator with a limited key does not have all permissions.
func TestHasAll(t *testing.T) {
	for _, tt := range []struct {
		who  Principal
		want bool
	}{
		{Operator(), true}, {Principal{Role: RoleAdmin}, true}, {Principal{Role: "viewer admin"}, true},
		{Principal{Role: RoleMember}, false},
		{Principal{Role: RoleAdmin, Limit: access.Limit{Project: "p"}}, false}, {Principal{}, false},
	} {
		if got := tt.who.HasAll(); got != tt.want {
			t.Errorf("%+v: %t", tt.who, got)
		}
	}
}

// TestCovers: who could set a password of a user must have all that the user may do.
func TestCovers(t *testing.T) {
	w := mustWorld(t, nil)
	boss, auditor := w.mustUser(t, w.org, "boss@example.com", RoleAdmin), w.mustUser(t, w.org, "auditor@example.com", access.Auditor)
	viewer := w.mustUser(t, w.org, "viewer@example.com", access.Viewer)
	for _, tt := range []struct {
		name string
		who  Principal
		user store.User
		want bool
	}{
		{"an administrator", Principal{Role: RoleAdmin, OrgUID: w.org.UID}, boss, true},
		{"itself", Principal{Role: access.Viewer, OrgUID: w.org.UID, UserUID: boss.UID}, boss, true},
		{"an auditor for an administrator", Principal{Role: access.Auditor, OrgUID: w.org.UID}, boss, false},
		{"an auditor for another one", Principal{Role: access.Auditor, OrgUID: w.org.UID}, auditor, true},
		{"an auditor for a viewer", Principal{Role: access.Auditor, OrgUID: w.org.UID}, viewer, true},
		{"a viewer for an auditor", Principal{Role: access.Viewer, OrgUID: w.org.UID}, auditor, false},
	} {
		err := w.db.View(t.Context(), func(tx *store.Tx) error { return tt.who.Covers(t.Context(), tx, tt.user) })
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestOrgOfACall: a principal is in one organization, an operator names one if there are several, and an error lists them.
func TestOrgOfACall(t *testing.T) {
	w := mustWorld(t, nil)
	named := func(name string) (string, error) {
		p, err := OperatorOf(t.Context(), w.db, name)
		return p.OrgUID, err
	}
	of := func(p Principal) func(string) (string, error) {
		return func(string) (string, error) {
			return store.Read(t.Context(), w.db, func(tx *store.Tx) (string, error) { return p.FindOrgUID(t.Context(), tx) })
		}
	}
	want := func(when string, find func(string) (string, error), name, message string) {
		t.Helper()
		uid, err := find(name)
		refused := err != nil && strings.Contains(messageOf(err), message)
		if message == "" && (uid != w.org.UID || err != nil) || message != "" && !refused {
			t.Errorf("%s, %q: %s, %v, want %q", when, name, uid, err, message)
		}
	}
	want("the only organization", named, "", "")
	want("an operator, one organization", of(Operator()), "", "")
	want("an unknown name", named, "unknown", "Organizations: "+goodOrg+".")
	for i := range maxOrgsNamed + 1 {
		name := fmt.Sprintf("org %02d", i)
		org := store.Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: start}
		w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.Insert(t.Context(), org) })
		if i == maxOrgsNamed-2 {
			want("as many as are named", named, "unknown", "org 18.")
		}
	}
	for when, find := range map[string]func(string) (string, error){"many organizations": named, "an operator": of(Operator())} {
		want(when, find, "", "is required; organizations: "+goodOrg)
	}
	want("more than are named", named, "unknown", ", 2 more.")
	want("a name", named, strings.ToUpper(goodOrg), "")
	want("an operator of an organization", of(w.operatorOf(t, goodOrg)), "", "")
	want("a user", of(Principal{Role: RoleMember, OrgUID: w.org.UID, OrgName: w.org.Name}), "", "")
}

func messageOf(err error) string {
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil {
		return err.Error()
	}
	message := f.Message
	for _, field := range f.Fields {
		message += " " + field.Problem
	}
	return message
}
