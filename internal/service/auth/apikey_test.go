package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func (w *world) principal(t *testing.T) Principal {
	t.Helper()
	p, err := w.Authenticate(t.Context(), Presented{Authorization: w.mustLogin(t).Authorization})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) deactivateKey(t *testing.T, p Principal, uid string) error {
	_, err := w.APIKeys.Update(t.Context(), p, origin, uid, APIKeyChange{Active: new(false)})
	return err
}

func (w *world) operatorOf(t *testing.T, org string) Principal {
	t.Helper()
	p, err := OperatorOf(t.Context(), w.db, org)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) mustKey(t *testing.T, p Principal, input NewAPIKey) (APIKey, secret.String) {
	t.Helper()
	created, key, err := w.APIKeys.Create(t.Context(), p, origin, input)
	if err != nil {
		t.Fatal(err)
	}
	return created, key
}

func TestAPIKeyLife(t *testing.T) {
	w := mustWorld(t, nil)
	me := w.principal(t)
	created, key := w.mustKey(t, me, NewAPIKey{Name: " CI ", ExpiresAt: start.Add(time.Hour)})
	if !strings.HasPrefix(key.Reveal(), "rwk_") || len(key.Reveal()) != 62 || created.Name != "CI" ||
		created.UserUID != w.user.UID || !created.Active {
		t.Errorf("got %+v and a key of %d characters", created, len(key.Reveal()))
	}
	if e := w.audits(t, 1)[0]; e.Action != audit.APIKeyCreate || e.Object != created.UID || e.ActorUID != w.user.UID ||
		e.OrgUID != w.org.UID || e.Outcome != audit.Succeeded {
		t.Errorf("audit record: %+v", e)
	}
	use := func() (Principal, error) { return w.Authenticate(t.Context(), Presented{APIKey: key}) }
	for _, step := range []struct{ wait, lastUse time.Duration }{{time.Minute, time.Minute}, {4 * time.Minute, time.Minute},
		{time.Minute + time.Millisecond, 6*time.Minute + time.Millisecond}} {
		w.clock.move(step.wait)
		p, err := use()
		if err != nil || p.UserUID != w.user.UID || p.APIKeyUID != created.UID || p.SessionUID != "" ||
			p.Method != audit.MethodAPIKey || p.OrgName != goodOrg {
			t.Errorf("got %+v, %v", p, err)
		}
		list, _, err := w.APIKeys.List(t.Context(), me, APIKey{})
		if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(start.Add(step.lastUse)) {
			t.Errorf("after %v: %+v, %v", step.wait, list, err)
		}
	}
	w.clock.move(time.Hour)
	_, err := use()
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonExpired)
}

// TestTheLastUseIsStoredOnce for all processes: another one whose time of the last use is old does not store it again.
func TestTheLastUseIsStoredOnce(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	me := w.principal(t)
	_, key := w.mustKey(t, me, NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	for _, step := range []struct {
		wait    time.Duration
		by      *service
		lastUse time.Duration
	}{{0, w.service, 0}, {0, second, 0}, {useRecordedEvery, w.service, 0}, {time.Second, w.service, useRecordedEvery + time.Second},
		{time.Minute, second, useRecordedEvery + time.Second}} {
		w.clock.move(step.wait)
		if _, err := step.by.Authenticate(t.Context(), Presented{APIKey: key}); err != nil {
			t.Fatal(err)
		}
		list, _, err := w.APIKeys.List(t.Context(), me, APIKey{})
		if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(start.Add(step.lastUse)) {
			t.Errorf("%v later: %+v, %v", step.wait, list, err)
		}
	}
}

// Every active key within the threshold is listed, also one that was created within it.
func TestKeysThatExpireSoon(t *testing.T) {
	w := mustWorld(t, nil)
	me := w.principal(t)
	const month = 30 * 24 * time.Hour
	for name, lifetime := range map[string]time.Duration{"default": month, "short": time.Hour, "long": month + time.Millisecond} {
		w.mustKey(t, me, NewAPIKey{Name: name, ExpiresAt: start.Add(lifetime)})
	}
	for _, want := range []string{"short default", "default long"} {
		list, err := w.APIKeys.Expiring(t.Context(), me, month, 10)
		var names []string
		for _, key := range list {
			names = append(names, key.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("got %q, want %q; %v", got, want, err)
		}
		w.clock.move(time.Hour)
	}
}

func TestAPIKeyIsRevokedByItself(t *testing.T) {
	w := mustWorld(t, nil)
	created, key := w.mustKey(t, w.principal(t), NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	if created.Prefix != key.Reveal()[:10] {
		t.Errorf("the visible prefix is %q", created.Prefix)
	}
	use := func() error {
		_, err := w.Authenticate(t.Context(), Presented{APIKey: key})
		return err
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	w.newAudits(t)
	finder := audit.Origin{RequestID: "ref-2", Address: "198.51.100.7"}
	unknown, _ := randomkey.New(apiKeyPrefix)
	for _, presented := range []secret.String{unknown, key, key} {
		if err := w.APIKeys.RevokePresented(t.Context(), finder, presented); err != nil {
			t.Error(err)
		}
	}
	wantFault(t, use(), fault.CodeUnauthorizedAccess, ReasonInactive)
	records := w.newAudits(t)
	if len(records) != 1 || records[0].Action != audit.APIKeyRevoke || records[0].Object != created.UID ||
		records[0].ActorUID != w.user.UID ||
		records[0].OrgUID != w.org.UID || records[0].Method != audit.MethodAPIKey || records[0].Origin != finder {
		t.Errorf("records: %+v", records)
	}
	for _, part := range []secret.String{"", key[:61], key + "a", "rwk_", "x"} {
		wantFault(t, w.APIKeys.RevokePresented(t.Context(), finder, part), fault.CodeInvalidRequest, "")
	}
}

func TestRevocationsOfASourceAreLimited(t *testing.T) {
	w := mustWorld(t, nil)
	unknown, _ := randomkey.New(apiKeyPrefix)
	revoke := func(address string) error {
		return w.APIKeys.RevokePresented(t.Context(), audit.Origin{Address: address}, unknown)
	}
	for i := range revocationsPerMinute {
		if err := revoke(fmt.Sprintf("2001:db8::%d", i)); err != nil { // one source: a /64 network
			t.Fatal(err)
		}
	}
	wantFault(t, revoke("2001:db8::1"), fault.CodeTooManyRequests, "")
	if err := revoke("192.0.2.1"); err != nil {
		t.Errorf("another source: %v", err)
	}
	w.clock.move(2 * time.Second)
	if err := revoke("2001:db8::1"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func TestInvalidAPIKeysAreRefused(t *testing.T) {
	w := mustWorld(t, nil)
	_, key := w.mustKey(t, w.principal(t), NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	good := key.Reveal()
	outsider, _ := randomkey.New(apiKeyPrefix)
	for token, reason := range map[string]string{
		outsider.Reveal(): ReasonUnknown, good + "a": ReasonMalformed, good[:61]: ReasonMalformed, strings.ToUpper(good): ReasonMalformed,
		good[4:]: ReasonMalformed, "rwk_": ReasonMalformed, "rwk_" + strings.Repeat("a", 58): ReasonMalformed,
		good[:20] + "\n" + good[21:]:    ReasonMalformed,
		w.mustLogin(t).Refresh.Reveal(): ReasonMalformed, w.mustLogin(t).Authorization.Reveal(): ReasonMalformed,
	} {
		_, err := w.Authenticate(t.Context(), Presented{APIKey: secret.String(token)})
		wantFault(t, err, fault.CodeUnauthorizedAccess, reason)
	}
	wantFault(t, w.authenticate(t, key), fault.CodeUnauthorizedAccess, ReasonMalformed) // keys and tokens are not interchangeable
	for i := 4; i < len(good); i++ {
		other := byte('a')
		if good[i] == other {
			other = 'b'
		}
		if _, err := w.Authenticate(t.Context(), Presented{APIKey: secret.String(good[:i] + string(other) + good[i+1:])}); err == nil {
			t.Errorf("character %d is not checked", i)
		}
	}
	mustDisable(t, w, w.user)
	_, err := w.Authenticate(t.Context(), Presented{APIKey: key})
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonInactive)
}

func TestBothCredentials(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	me := w.principal(t)
	created, key := w.mustKey(t, me, NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	w.mustUser(t, w.org, "other@example.com", RoleMember)
	_, foreign := w.mustKey(t, w.operatorOf(t, goodOrg), NewAPIKey{User: "Other@Example.com", Name: "CI", ExpiresAt: start.Add(time.Hour)})

	p, err := w.Authenticate(t.Context(), Presented{Authorization: token, APIKey: key})
	if err != nil || p.APIKeyUID != created.UID || p.SessionUID == "" {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, row := range []struct {
		presented Presented
		reason    string
	}{
		{Presented{}, ReasonMissing},
		{Presented{Authorization: " "}, ReasonMissing},
		{Presented{Authorization: "Bearer"}, ReasonMalformed},
		{Presented{Authorization: token, APIKey: foreign}, ReasonMismatch},
		{Presented{Authorization: token, APIKey: "x"}, ReasonMalformed},
		{Presented{Authorization: "x", APIKey: key}, ReasonMalformed},
	} {
		_, err := w.Authenticate(t.Context(), row.presented)
		wantFault(t, err, fault.CodeUnauthorizedAccess, row.reason)
	}
}

func TestPermissionToCreateAPIKeys(t *testing.T) {
	w := mustWorld(t, nil)
	otherOrg := store.Org{UID: uuid.NewString(), Name: "Other", Canonical: "other", CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.Insert(t.Context(), otherOrg) })
	foreigner := w.mustUser(t, otherOrg, "foreigner@example.com", RoleMember)
	colleague := w.mustUser(t, w.org, "colleague@example.com", RoleMember)
	member := w.principal(t)
	admin := member
	admin.Role = RoleAdmin
	keeper := member // has a role of the organization
	custom := access.Custom{}
	custom.Add(uuid.NewString(), []string{string(access.CreateAllAPIKeys)})
	for role := range custom {
		keeper.Role, keeper.Grants = role, &access.Grants{Custom: custom}
	}
	boss := w.mustUser(t, w.org, "boss@example.com", RoleAdmin)
	workload := store.User{UID: uuid.NewString(), OrgUID: w.org.UID, Email: "ci", Canonical: "ci", Role: string(RoleMember), Workload: true,
		PasswordChangedAt: start, CreatedAt: start}
	w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Insert(t.Context(), workload) })
	later := start.Add(time.Hour)
	for _, row := range []struct {
		name  string
		who   Principal
		input NewAPIKey
		code  string
	}{
		{"member for itself", member, NewAPIKey{Name: "a", ExpiresAt: later}, ""},
		{"member for itself by uid", member, NewAPIKey{Name: "b", User: member.UserUID, ExpiresAt: later}, ""},
		{"member for itself by name, in its organization", member,
			NewAPIKey{Name: "c", User: goodEmail, ExpiresAt: later}, ""},
		{"member, name taken", member, NewAPIKey{Name: "A", ExpiresAt: later}, "ApiKeyAlreadyExists"},
		{"member for a colleague", member, NewAPIKey{Name: "d", User: colleague.UID, ExpiresAt: later}, fault.CodeOperationForbidden},
		{"member for an unknown user", member, NewAPIKey{Name: "d", User: "unknown", ExpiresAt: later}, fault.CodeOperationForbidden},
		{"admin for a colleague", admin, NewAPIKey{Name: "a", User: "COLLEAGUE@example.com", ExpiresAt: later}, ""},
		{"admin for a foreigner", admin, NewAPIKey{Name: "a", User: foreigner.UID, ExpiresAt: later}, fault.CodeResourceNotFound},
		{"operator", w.operatorOf(t, "other"), NewAPIKey{Name: "z", User: foreigner.Email, ExpiresAt: later}, ""},
		{"operator without organization", Operator(), NewAPIKey{Name: "z", User: foreigner.Email, ExpiresAt: later},
			fault.CodeInvalidRequest},
		{"operator for a workload", w.operatorOf(t, goodOrg), NewAPIKey{Name: "z", User: workload.UID, ExpiresAt: later},
			fault.CodeOperationForbidden},
		{"who may create keys, for an administrator", keeper, NewAPIKey{Name: "z", User: boss.UID, ExpiresAt: later},
			fault.CodeOperationForbidden},
		{"zero principal", Principal{}, NewAPIKey{Name: "z", ExpiresAt: later}, ""},
	} {
		_, key, err := w.APIKeys.Create(t.Context(), row.who, origin, row.input)
		f, _ := errors.AsType[*fault.Error](err)
		switch {
		case row.name == "zero principal":
			if err == nil {
				t.Error("the zero principal created a key")
			}
		case row.code == "" && (err != nil || key == ""):
			t.Errorf("%s: %v", row.name, err)
		case row.code != "" && (f == nil || f.Code != row.code || key != ""):
			t.Errorf("%s: %v", row.name, err)
		}
	}
	w.wantAudit(t, audit.APIKeyCreate, audit.Refused, colleague.UID, w.org.UID)
	own, _, errO := w.APIKeys.List(t.Context(), member, APIKey{})
	all, _, errA := w.APIKeys.List(t.Context(), admin, APIKey{})
	if len(own) != 3 || len(all) != 4 || errO != nil || errA != nil {
		t.Errorf("a member sees %d, an administrator %d: %v, %v", len(own), len(all), errO, errA)
	}
	_, _, err := w.APIKeys.Create(t.Context(), Operator(), origin, NewAPIKey{ExpiresAt: start})
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil || len(f.Fields) != 3 {
		t.Errorf("problems: %v", err)
	}
}

func FuzzAPIKey(f *testing.F) {
	key, _ := randomkey.New(apiKeyPrefix)
	f.Add(key.Reveal())
	f.Add("rwk_" + strings.Repeat("a", 58))
	f.Fuzz(func(t *testing.T, text string) {
		if hash, ok := randomkey.Hash(apiKeyPrefix, secret.String(text)); ok && (len(hash) != 32 || len(text) != 62) {
			t.Errorf("%q is accepted as a key", text)
		}
	})
}

// Who may change the keys of others cannot make the key of a user valid who may do more.
func TestKeysOfUsersWhoMayDoMore(t *testing.T) {
	w := mustWorld(t, nil)
	boss := w.mustUser(t, w.org, "boss@example.com", RoleAdmin)
	keeper := w.principal(t)
	custom := access.Custom{}
	custom.Add(uuid.NewString(), []string{string(access.ReadAllAPIKeys), string(access.ManageAllAPIKeys)})
	for role := range custom {
		keeper.Role, keeper.Grants = role, &access.Grants{Custom: custom}
	}
	admin := keeper
	admin.UserUID, admin.Role, admin.Grants = boss.UID, RoleAdmin, nil
	created, _ := w.mustKey(t, admin, NewAPIKey{Name: "CI", ExpiresAt: start.Add(time.Hour)})
	for _, active := range []bool{false, true} {
		change := APIKeyChange{Active: &active}
		if _, err := w.APIKeys.Update(t.Context(), keeper, origin, created.UID, change); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("active %t: %v", active, err)
		}
		if _, err := w.APIKeys.Update(t.Context(), admin, origin, created.UID, change); err != nil {
			t.Error(err)
		}
	}
	w.wantAudit(t, audit.APIKeyUpdate, audit.Refused, created.UID, w.org.UID)
	if err := w.APIKeys.Delete(t.Context(), keeper, origin, created.UID); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("deleted: %v", err)
	}
	w.wantAudit(t, audit.APIKeyDelete, audit.Refused, created.UID, w.org.UID)
}

// Lists and expiry alerts contain every key of a user, so their number is limited.
func TestKeysOfAUserAreBounded(t *testing.T) {
	w := mustWorld(t, nil)
	me := w.principal(t)
	input := func(i int) NewAPIKey {
		return NewAPIKey{Name: fmt.Sprint("key ", i), ExpiresAt: start.Add(time.Hour)}
	}
	first, _ := w.mustKey(t, me, input(0))
	for i := 1; i < maxAPIKeys; i++ {
		w.mustKey(t, me, input(i))
	}
	if _, _, err := w.APIKeys.Create(t.Context(), me, origin, input(maxAPIKeys)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one more: %v", err)
	}
	if err := w.APIKeys.Delete(t.Context(), me, origin, first.UID); err != nil {
		t.Fatal(err)
	}
	w.mustKey(t, me, input(maxAPIKeys))
}
