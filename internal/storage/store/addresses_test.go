package store

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestAddressesOfOldChannelsAreConfirmed upgrades a store: addresses that got alerts before still get them.
func TestAddressesOfOldChannelsAreConfirmed(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	upgrade{file: "00012_alert_addresses.sql", undo: "DROP TABLE alert_addresses",
		before: func(ctx context.Context, tx *Tx) error { return oldChannels(ctx, tx, at) },
		after: func(t *testing.T, tx *Tx) error {
			for org, want := range map[string][]string{"all": {"a@example.com", `"b\\"@example.com`, "member@example.com", "ü@example.com"},
				"own": {"a@example.com"}, "none": nil} {
				list, err := tx.Addresses.List(t.Context(), org)
				if err != nil {
					return err
				}
				var got []string
				for _, a := range list {
					if !a.ConfirmedAt.Equal(at) {
						t.Errorf("%s is confirmed at %v", a.Address, a.ConfirmedAt)
					}
					got = append(got, a.Address)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s: confirmed %q, want %q", org, got, want)
				}
			}
			return nil
		}}.run(t)
}

// oldChannels stores three organizations: one with users that get alerts, one with addresses only, one with a webhook.
func oldChannels(ctx context.Context, tx *Tx, at time.Time) error {
	for _, c := range []Channel{
		{OrgUID: "all", Type: "email", AlertAllUsers: true,
			Identifiers: []string{"a@example.com", "A@EXAMPLE.com", `"b\\"@example.com`, "ü@example.com"}},
		{OrgUID: "own", Type: "email", Identifiers: []string{"a@example.com"}},
		{OrgUID: "none", Type: "http", AlertAllUsers: true, Identifiers: []string{"a@example.com"}},
	} {
		project := Project{UID: "project of " + c.OrgUID, OrgUID: c.OrgUID, Name: "P", Canonical: "p", CreatedAt: at}
		user := User{UID: "user of " + c.OrgUID, OrgUID: c.OrgUID, Email: "Member@example.com", Canonical: "member@example.com",
			Role: "member", PasswordChangedAt: at, CreatedAt: at}
		c.UID, c.ProjectUID, c.Component, c.CreatedAt = "channel of "+c.OrgUID, project.UID, "c", at
		for _, step := range []func() error{
			func() error {
				return tx.Orgs.Insert(ctx, Org{UID: c.OrgUID, Name: c.OrgUID, Canonical: c.OrgUID, CreatedAt: at})
			},
			func() error { return tx.Projects.Insert(ctx, project) },
			func() error { return tx.Users.Insert(ctx, user) },
			func() error { return tx.Channels.Insert(ctx, c) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}
