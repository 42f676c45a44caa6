package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// pages of a list together have each record once, in their order, and none of another organization.
func pages(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	const count = 205 // two full pages and a part, of projects 20 and a part
	member := mustUser(t, db, org, "0000@example.com")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for i := range count {
			name := fmt.Sprintf("%04d", (i*7)%count+1) // in another order than that of the list
			natural := "r-" + strings.TrimLeft(name, "0")
			r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: natural, Canonical: natural, Version: 1, CreatedAt: start,
				UpdatedAt: start, Scope: strings.Repeat("ü", 40)}
			user := store.User{UID: uuid.NewString(), OrgUID: org.UID, Email: name + "@example.com",
				Canonical: name + "@example.com", Role: "member", PasswordChangedAt: start, CreatedAt: start}
			key := store.APIKey{UID: uuid.NewString(), OrgUID: org.UID, UserUID: user.UID, Name: "k", Canonical: "k", Hash: []byte(name),
				CreatedAt: start, ExpiresAt: start}
			project := store.Project{UID: uuid.NewString(), OrgUID: org.UID, Name: name, Canonical: name, CreatedAt: start}
			for _, err := range []error{tx.Registries.Insert(ctx, r), tx.Users.Insert(ctx, user), tx.APIKeys.Insert(ctx, key),
				tx.Projects.Insert(ctx, project), tx.Projects.InsertMember(ctx, org.UID, project.UID, member.UID, "")} {
				if err != nil {
					return err
				}
			}
		}
		return tx.Registries.Insert(ctx, fullRegistry(other, "0001 of another"))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		registries := readPages(t, func(after store.ListedRegistry) ([]store.ListedRegistry, bool, error) {
			return tx.Registries.OfOrg(ctx, org.UID, after, nil)
		})
		users := readPages(t, func(after store.User) ([]store.User, bool, error) { return tx.Users.List(ctx, org.UID, after) })
		keys := readPages(t, func(after store.APIKey) ([]store.APIKey, bool, error) { return tx.APIKeys.OfOrg(ctx, org.UID, after) })
		projects := readPages(t, func(after store.Project) ([]store.Project, bool, error) { return tx.Projects.List(ctx, org.UID, after) })
		own := readPages(t, func(after store.Project) ([]store.Project, bool, error) {
			return tx.Projects.OfUser(ctx, org.UID, member.UID, after)
		})
		inOrder(t, "registries", count, registries, func(r store.ListedRegistry) string {
			return fmt.Sprintf("%4s", strings.TrimPrefix(r.Name, "r-"))
		})
		inOrder(t, "users", count+1, users, func(u store.User) string { return u.Canonical })
		inOrder(t, "API keys", count, keys, func(k store.APIKey) string { return k.UserUID })
		inOrder(t, "projects", count, projects, func(p store.Project) string { return p.Canonical })
		inOrder(t, "projects of a user", count, own, func(p store.Project) string { return p.Canonical })
		if scope := registries[0].Scope; scope != strings.Repeat("ü", 32) {
			t.Errorf("a scope in a list is %q", scope)
		}
		return nil
	})
}

func readPages[T any](t *testing.T, read func(after T) ([]T, bool, error)) (list []T) {
	t.Helper()
	var last T
	for more := true; more; {
		var page []T
		var err error
		if page, more, err = read(last); err != nil || more && len(page) == 0 || len(page) > 100 {
			t.Fatalf("a page of %d, %v", len(page), err)
		}
		if list = append(list, page...); len(list) > 0 {
			last = list[len(list)-1]
		}
	}
	return list
}

func inOrder[T any](t *testing.T, what string, count int, list []T, key func(T) string) {
	t.Helper()
	keys := make([]string, len(list))
	for i, one := range list {
		keys[i] = key(one)
	}
	if len(slices.Compact(slices.Clone(keys))) != count || !slices.IsSorted(keys) {
		t.Errorf("%s: %d of %d, sorted: %t", what, len(keys), count, slices.IsSorted(keys))
	}
}
