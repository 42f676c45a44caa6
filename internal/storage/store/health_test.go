package store

import (
	"context"
	"testing"
	"time"
)

// A registry that failed before the upgrade has the texts of its newest report that counts, and one that is valid or has no report has
// none.
func TestMigrationReadsHealthTexts(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	type check struct {
		valid, counted bool
		report         string
	}
	first, second := `{"valid":false,"message":"First \"ü\".","hint":"Fix it."}`, `{"valid":false,"message":"Second.","hint":null}`
	registries := map[string][]check{
		"unconfirmed": {{counted: true, report: first}, {report: second}},
		"failing":     {{counted: true, report: first}, {counted: true, report: second}},
		"valid":       {{counted: true, report: first}, {valid: true, counted: true, report: `{"valid":true,"message":null,"hint":null}`}},
		"no report":   {{counted: true}},
	}
	upgrade{file: "00015_registry_health.sql",
		undo: "ALTER TABLE registry_watch DROP COLUMN message; ALTER TABLE registry_watch DROP COLUMN hint",
		before: func(ctx context.Context, tx *Tx) error {
			if err := tx.Orgs.Insert(ctx, Org{UID: "o", Name: "o", Canonical: "o", CreatedAt: at}); err != nil {
				return err
			}
			for name, checks := range registries {
				if err := tx.Registries.Insert(ctx,
					Registry{UID: name, OrgUID: "o", Name: name, Canonical: name, Version: 1, CreatedAt: at, UpdatedAt: at}); err != nil {
					return err
				}
				for i, c := range checks {
					if err := tx.storeCheck(ctx, name,
						HealthPeriod{Counted: c.counted, Result: HealthResult{Valid: c.valid, Code: string(rune('A' + i))},
							Report: []byte(c.report)}, at); err != nil {
						return err
					}
				}
			}
			return nil
		},
		after: func(t *testing.T, tx *Tx) error {
			want := map[string][2]string{"unconfirmed": {`First "ü".`, "Fix it."}, "failing": {"Second.", ""}}
			for name := range registries {
				row, err := tx.Watch.Get(t.Context(), "o", name)
				if got := [2]string{row.State.Message, row.State.Hint}; got != want[name] || err != nil {
					t.Errorf("%s: %q, %v; want %q", name, got, err, want[name])
				}
			}
			return nil
		}}.run(t)
}

// storeCheck stores the result of a check of a registry, without texts.
func (tx *Tx) storeCheck(ctx context.Context, uid string, result HealthPeriod, at time.Time) error {
	if err := tx.Watch.Schedule(ctx, "o", uid, at); err != nil {
		return err
	}
	rows, err := tx.Watch.Claim(ctx, "owner", at, at.Add(time.Minute), []Share{{"o", 1}})
	if err != nil {
		return err
	}
	row := rows[0]
	row.LastAt, row.NextAt = at, at.Add(time.Hour)
	if result.Counted {
		row.State, row.Since = result.Result, at
	}
	if len(result.Report) == 0 {
		result.Report = nil
	}
	return tx.Watch.End(ctx, row, 1, result)
}
