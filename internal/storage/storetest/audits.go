package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func auditRecords(t *testing.T, db *store.DB) {
	started := audit.Record{UID: uuid.NewString(), At: start, OrgUID: "org-a", ActorUID: "user",
		ActorName: "u@example.com\r\n\x1b[31m\u202e" + strings.Repeat("é", 200),
		Method:    "token", Action: audit.RegistryValidate, Object: "registry.example.com", Target: "https://hooks.example.com:443",
		Outcome: audit.Started,
		Origin:  audit.Origin{RequestID: "ref", Address: "192.0.2.1"}}
	foreign := audit.Record{UID: uuid.NewString(), At: start.Add(time.Second), Action: audit.Login, Outcome: audit.Failed,
		Reason: "unknownOrganization"}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Audits.Append(ctx, started), tx.Audits.Append(ctx, foreign))
	})
	complete := func(ctx context.Context, tx *store.Tx) error {
		return tx.Audits.Complete(ctx, started.UID, audit.NotValid, "RegistryTLSFailed", []byte(`{"valid":false}`))
	}
	mustWrite(t, db, complete)
	wantError(t, db, store.ErrNotFound, complete)
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error { return tx.Audits.Append(ctx, foreign) })
	want := started
	want.ActorName = "u@example.com[31m" + strings.Repeat("é", 119) // 256 bytes, no character cut
	want.Outcome, want.Reason, want.Report = audit.NotValid, "RegistryTLSFailed", []byte(`{"valid":false}`)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		byUID, errU := tx.Audits.Get(ctx, started.UID)
		ofOrg, errO := tx.Audits.List(ctx, audits.Filter{OrgUID: "org-a"}, 10)
		newest, errN := tx.Audits.List(ctx, audits.Filter{}, 10)
		bare := want
		bare.Report = nil // not in lists
		if diff := cmp.Diff([]audit.Record{want, bare, foreign, bare}, append(append([]audit.Record{byUID}, ofOrg...),
			newest...)); diff != "" {
			t.Error(diff)
		}
		if !bytes.Contains(byUID.Report, []byte("valid")) {
			t.Error("no report")
		}
		return errors.Join(errU, errO, errN)
	})
}

// refusals share a record within a minute.
func refusals(t *testing.T, db *store.DB) {
	refused := audit.Record{At: start, OrgUID: "refusals", ActorUID: "user", Action: audit.RegistryCreate, Object: "first",
		Outcome: audit.Refused, Reason: "OperationForbidden", Origin: audit.Origin{RequestID: "ref", Address: "192.0.2.1"}}
	for i, at := range []time.Duration{0, time.Second, 2 * time.Second, time.Minute} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			next := refused
			next.At = start.Truncate(time.Minute).Add(at)
			if i > 0 {
				next.Object = "later"
			}
			return tx.Audits.Append(ctx, next)
		})
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Audits.List(ctx, audits.Filter{OrgUID: "refusals"}, 10)
		if len(list) != 2 || list[0].Repeats != 0 || list[1].Repeats != 2 || list[1].Object != "first" {
			t.Errorf("%+v; want one of the second minute, and the first with two repeats", list)
		}
		byUID, errUID := tx.Audits.Get(ctx, audit.SharedUID(refused))
		if byUID.Repeats != 2 {
			t.Errorf("found by its uid with %d repeats, want 2", byUID.Repeats)
		}
		return errors.Join(err, errUID)
	})
}

// auditLists reads records by every filter, and pages that omit and repeat nothing although all records have the same
// time.
func auditLists(t *testing.T, db *store.DB) {
	record := func(org, actor string, action audit.Action, outcome audit.Outcome, at time.Duration) audit.Record {
		return audit.Record{UID: uuid.NewString(), At: start.Add(at), OrgUID: org, ActorUID: actor, Action: action,
			Object: "object-" + actor, Outcome: outcome}
	}
	mine := record("a", "me", audit.RegistryValidate, audit.NotValid, 3*time.Second)
	login := record("a", "me", audit.Login, audit.Succeeded, 2*time.Second)
	other := record("a", "other", audit.Login, audit.Failed, time.Second)
	foreign := record("b", "me", audit.Login, audit.Succeeded, 0)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Audits.Append(ctx, mine), tx.Audits.Append(ctx, login), tx.Audits.Append(ctx, other),
			tx.Audits.Append(ctx, foreign))
	})
	for name, row := range map[string]struct {
		filter audits.Filter
		want   []audit.Record
	}{
		"all":          {audits.Filter{}, []audit.Record{mine, login, other, foreign}},
		"organization": {audits.Filter{OrgUID: "a"}, []audit.Record{mine, login, other}},
		"actor":        {audits.Filter{OrgUID: "a", ActorUID: "me"}, []audit.Record{mine, login}},
		"no one":       {audits.Filter{OrgUID: "c"}, nil},
		"object":       {audits.Filter{OrgUID: "a", Object: "object-other"}, []audit.Record{other}},
		"outcome":      {audits.Filter{OrgUID: "a", Outcome: audit.Succeeded}, []audit.Record{login}},
		"action":       {audits.Filter{OrgUID: "a", Actions: []audit.Action{audit.Login}}, []audit.Record{login, other}},
		"actions": {audits.Filter{OrgUID: "a", Actions: []audit.Action{audit.Refresh, audit.RegistryValidate}},
			[]audit.Record{mine}},
		"from":  {audits.Filter{OrgUID: "a", From: start.Add(2 * time.Second)}, []audit.Record{mine, login}},
		"until": {audits.Filter{OrgUID: "a", Until: start.Add(2 * time.Second)}, []audit.Record{other}},
	} {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Audits.List(ctx, row.filter, 10)
			counted, errC := tx.Audits.Count(ctx, row.filter, 2)
			if diff := cmp.Diff(row.want, got); diff != "" || counted != int64(min(2, len(row.want))) {
				t.Errorf("%s: counted %d: %s", name, counted, diff)
			}
			return errors.Join(err, errC)
		})
	}
	auditPages(t, db)
	registryChanges(t, db)
}

// registryChanges are listed by object, actor and action, without those that were refused or failed and without other records.
func registryChanges(t *testing.T, db *store.DB) {
	t.Helper()
	at := start
	record := func(org, actor, object string, action audit.Action, outcome audit.Outcome) audit.Record {
		at = at.Add(-time.Second)
		r := audit.Record{UID: uuid.NewString(), At: at, OrgUID: org, ActorUID: actor, Action: action, Object: object, Outcome: outcome}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Audits.Append(ctx, r) })
		return r
	}
	failing := record("changes", "", "one", audit.RegistryWatch, audit.NotValid)
	healthy := record("changes", "", "two", audit.RegistryWatch, audit.Valid)
	record("changes", "me", "one", audit.RegistryUpdate, audit.Failed)
	record("changes", "me", "one", audit.RegistryValidate, audit.Valid)
	record("other", "me", "one", audit.RegistryCreate, audit.Succeeded)
	deleted := record("changes", "you", "one", audit.RegistryDelete, audit.Succeeded)
	updated := record("changes", "me", "one", audit.RegistryUpdate, audit.Succeeded)
	created := record("changes", "me", "two", audit.RegistryCreate, audit.Succeeded)
	for _, row := range []struct {
		filter audits.Filter
		limit  int
		want   []audit.Record
	}{
		{audits.Filter{}, 10, []audit.Record{failing, healthy, deleted, updated, created}},
		{audits.Filter{}, 2, []audit.Record{failing, healthy}},
		{audits.Filter{ActorUID: "me"}, 10, []audit.Record{updated, created}},
		{audits.Filter{Object: "two"}, 10, []audit.Record{healthy, created}},
		{audits.Filter{Object: "one", Actions: []audit.Action{audit.RegistryCreate, audit.RegistryUpdate}}, 10,
			[]audit.Record{updated}},
	} {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			row.filter.OrgUID = "changes"
			got, err := tx.Audits.RegistryChanges(ctx, row.filter, row.limit)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%d of %+v: %s", row.limit, row.filter, diff)
			}
			return err
		})
	}
}

func auditPages(t *testing.T, db *store.DB) {
	t.Helper()
	want := map[string]bool{}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for range 25 {
			e := audit.Record{UID: uuid.NewString(), At: start, OrgUID: "pages", Action: audit.Login, Outcome: audit.Succeeded}
			want[e.UID] = true
			if err := tx.Audits.Append(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	filter := audits.Filter{OrgUID: "pages"}
	for len(want) > 0 {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			page, err := tx.Audits.List(ctx, filter, 7)
			if err == nil && len(page) == 0 {
				t.Fatalf("%d records are on no page", len(want))
			}
			for _, e := range page {
				if !want[e.UID] {
					t.Errorf("%s is on two pages", e.UID)
				}
				delete(want, e.UID)
				filter.Until, filter.BeforeUID = e.At, e.UID
			}
			return err
		})
	}
}
