package directory_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// mustRecord stores a record and returns its uid.
func (w *world) mustRecord(t *testing.T, p auth.Principal, action audit.Action, at time.Duration) string {
	t.Helper()
	e := p.AuditRecord(origin, action)
	e.UID, e.At, e.Outcome = uuid.NewString(), start.Add(at), audit.Succeeded
	if err := w.db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Audits.Append(t.Context(), e) }); err != nil {
		t.Fatal(err)
	}
	return e.UID
}

func TestAuditRecordAccess(t *testing.T) {
	w := mustWorld(t)
	acme, other := w.mustOrg(t, "Acme"), w.mustOrg(t, "Other")
	admin, member := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "member@acme.example", auth.RoleMember)
	friend, outsider := w.mustUser(t, acme, "friend@acme.example", auth.RoleMember),
		w.mustUser(t, other, "admin@other.example", auth.RoleAdmin)
	login, check := w.mustRecord(t, member, audit.Login, time.Hour), w.mustRecord(t, member, audit.RegistryValidate, time.Hour)
	noOrg, change := w.mustRecord(t, auth.Principal{}, audit.Login, time.Hour), w.mustRecord(t, admin, audit.RegistryUpdate, 30*time.Second)
	for _, row := range []struct {
		name   string
		who    auth.Principal
		record string
		sees   bool
	}{
		{"administrator", admin, login, true}, {"administrator", admin, check, true},
		{"actor", member, login, true}, {"actor", member, check, true},
		{"colleague", friend, login, false}, {"colleague", friend, check, true}, {"colleague", friend, change, false},
		{"administrator", admin, change, true},
		{"outsider", outsider, login, false}, {"outsider", outsider, check, false},
		{"zero principal", auth.Principal{}, noOrg, false}, {"administrator", admin, noOrg, false}, {"operator", operator, noOrg, true},
		{"operator", operator, login, true},
		{"operator", operator, "unknown", false},
	} {
		record, err := w.Audit(t.Context(), row.who, row.record)
		if row.sees {
			if err != nil || record.UID != row.record {
				t.Errorf("%s: %v, %v", row.name, record.Action, err)
			}
			continue
		}
		wantCode(t, err, fault.CodeResourceNotFound)
	}
	for _, row := range []struct {
		who   auth.Principal
		input directory.AuditQuery
		want  int
	}{
		{admin, directory.AuditQuery{From: start.Add(time.Minute)}, 2}, {member, directory.AuditQuery{}, 2},
		{friend, directory.AuditQuery{}, 0},
		{outsider, directory.AuditQuery{From: start.Add(time.Minute)}, 0},
		{operator, directory.AuditQuery{From: start.Add(time.Minute)}, 3},
		{w.operatorOf(t, "ACME"), directory.AuditQuery{From: start.Add(time.Minute)}, 2},
		{admin, directory.AuditQuery{Action: audit.RegistryValidate}, 1},
		{admin, directory.AuditQuery{Kind: "auth", Change: audit.ChangeCreate}, 0},
		{admin, directory.AuditQuery{Change: audit.ChangeCreate}, 4},
	} {
		page, err := w.Audits(t.Context(), row.who, row.input)
		if err != nil || len(page.Items) != row.want || page.Count != int64(row.want) || page.Continue != "" {
			t.Errorf("%s, %+v: %d records, counted %d, %v; want %d", row.who.Email, row.input, len(page.Items), page.Count, err, row.want)
		}
	}
	_, err := w.Audits(t.Context(), member, directory.AuditQuery{ActorUID: friend.UserUID})
	wantCode(t, err, fault.CodeOperationForbidden)
}

// TestAuditsNameWhatTheirReaderMayRead lists records of a user who has no rights any more.
func TestAuditsNameWhatTheirReaderMayRead(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin, friend := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin), w.mustUser(t, acme, "friend@acme.example", auth.RoleMember)
	former := w.mustUser(t, acme, "former@acme.example", auth.RoleMember)
	former.Role = access.None
	project, err := w.CreateProject(t.Context(), admin, origin, directory.NewProject{Name: "Staging"})
	if err != nil {
		t.Fatal(err)
	}
	registry := store.Registry{UID: uuid.NewString(), OrgUID: acme.UID, Name: "harbor", Canonical: "harbor", Version: 1, CreatedAt: start,
		UpdatedAt: start}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Insert(ctx, registry) })
	for _, row := range []struct {
		action               audit.Action
		object, own, ofAdmin string
	}{
		{audit.RegistryUpdate, registry.UID, "", "harbor"},
		{audit.ProjectUpdate, project.UID, "", "Staging"},
		{audit.UserDelete, friend.UserUID, "", friend.Email},
		{audit.UserUpdate, former.UserUID, former.Email, former.Email},
	} {
		e := former.AuditRecord(origin, row.action)
		e.UID, e.At, e.Outcome, e.Object = uuid.NewString(), start, audit.Failed, row.object
		w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error { return tx.Audits.Append(ctx, e) })
		seen, errSeen := w.Audit(t.Context(), former, e.UID)
		all, errAll := w.Audit(t.Context(), admin, e.UID)
		if seen.ObjectName != row.own || all.ObjectName != row.ofAdmin || errSeen != nil || errAll != nil {
			t.Errorf("%s: the actor sees %q, an administrator %q, %v, %v", row.action, seen.ObjectName, all.ObjectName, errSeen, errAll)
		}
	}
}

func TestAuditPages(t *testing.T) {
	w := mustWorld(t)
	admin := w.mustUser(t, w.mustOrg(t, "Acme"), "admin@acme.example", auth.RoleAdmin)
	for range 7 {
		w.mustRecord(t, admin, audit.Login, time.Hour) // all at the same time
	}
	seen := map[string]bool{}
	input := directory.AuditQuery{Action: audit.Login, Request: paging.Request{Limit: 3}}
	for _, size := range []int{3, 3, 1} {
		page, err := w.Audits(t.Context(), admin, input)
		if err != nil || len(page.Items) != size || page.Count != 7 {
			t.Fatalf("a page of %d, counted %d, %v; want %d", len(page.Items), page.Count, err, size)
		}
		for _, e := range page.Items {
			seen[e.UID] = true
		}
		if page.Offset != len(seen) || (page.Continue == "") != (len(seen) == 7) {
			t.Errorf("after %d records: offset %d, continue %q", len(seen), page.Offset, page.Continue)
		}
		input.Continue = page.Continue
	}
	if len(seen) != 7 {
		t.Errorf("%d records on all pages", len(seen))
	}
	_, err := w.Audits(t.Context(), admin,
		directory.AuditQuery{Action: "x.y", Kind: "x", Change: "z", Outcome: "q", Request: paging.Request{Limit: -1, Continue: "%"}})
	wantFields(t, err, "action", "resourceKind", "actionType", "outcome", "limit", "continue")
}
