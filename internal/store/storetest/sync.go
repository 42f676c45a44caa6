package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
)

func mustSynced(t *testing.T, db *store.DB, org store.Org, name string, at time.Time) store.Registry {
	t.Helper()
	r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: name, Canonical: name, Version: 1, CreatedAt: start, UpdatedAt: start,
		Endpoint: "https://registry.example.com", SyncSupported: true}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.InsertRegistry(ctx, r), tx.ScheduleSync(ctx, org.UID, r.UID, at))
	})
	return r
}

func mustTake(t *testing.T, db *store.DB, owner string, now time.Time) (s store.RegistrySync) {
	t.Helper()
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = tx.TakeSync(ctx, owner, "", now, now.Add(time.Minute))
		return err
	})
	return s
}

func syncOf(t *testing.T, db *store.DB, r store.Registry) (s store.RegistrySync) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = tx.RegistrySync(ctx, r.OrgUID, r.UID)
		return err
	})
	return s
}

func contentsOf(t *testing.T, db *store.DB, s store.RegistrySync, prefix string) (list []store.RegistryContent) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.RegistryContents(ctx, s, s.ShownRun, prefix, store.RegistryContent{}, 100)
		return err
	})
	return list
}

// syncRuns goes through the life of a synchronization: asked for, taken once, advanced, resumed, finished.
func syncRuns(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustSynced(t, db, org, "r", start)
	if s := syncOf(t, db, r); s.Status != store.SyncPending || !s.NextAt.Equal(start) || s.ShownRun != 0 {
		t.Errorf("after it was made: %+v", s)
	}
	first := mustTake(t, db, "a", start)
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.TakeSync(ctx, "b", "", start.Add(59*time.Second), start.Add(time.Hour))
		return err
	})
	one := []store.RegistryContent{{Repository: "a/x", Tag: "1", Kind: "helm", Digest: "sha256:1"}}
	first.ResumeAfter, first.RunRepositories, first.RunTags = "a/x", 1, 1
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddContents(ctx, first, one), tx.AddContents(ctx, first, one), tx.AdvanceSync(ctx, first, start.Add(time.Minute)))
	})
	if s := syncOf(t, db, r); s.Status != store.SyncInProgress || s.ShownRun != 0 || s.RunRepositories != 1 || !s.LastRunAt.Equal(start) {
		t.Errorf("under way: %+v", s)
	}
	// The process is killed; another goes on where it stood, and the first may not write any more.
	second := mustTake(t, db, "b", start.Add(time.Minute))
	if second.Run != first.Run || second.ResumeAfter != "a/x" || second.RunTags != 1 {
		t.Errorf("resumed: %+v", second)
	}
	for name, late := range map[string]func(context.Context, *store.Tx) error{
		"keep":    func(ctx context.Context, tx *store.Tx) error { return tx.KeepSync(ctx, first, start) },
		"add":     func(ctx context.Context, tx *store.Tx) error { return tx.AddContents(ctx, first, one) },
		"advance": func(ctx context.Context, tx *store.Tx) error { return tx.AdvanceSync(ctx, first, start) },
		"pause":   func(ctx context.Context, tx *store.Tx) error { return tx.PauseSync(ctx, first, start, "") },
		"finish":  func(ctx context.Context, tx *store.Tx) error { return tx.FinishSync(ctx, first, start, start, "") },
		"fail":    func(ctx context.Context, tx *store.Tx) error { return tx.FailSync(ctx, first, start, "") },
	} {
		if err := db.InTx(t.Context(), func(tx *store.Tx) error { return late(t.Context(), tx) }); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s with a lease that is lost: %v", name, err)
		}
	}
	two := []store.RegistryContent{{Repository: "a/y", Tag: "", Problem: "no tags"}, {Repository: "b", Tag: "2", Kind: "other"}}
	second.ResumeAfter, second.RunRepositories, second.RunTags = "b", 3, 2
	ended := start.Add(2 * time.Minute)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddContents(ctx, second, two), tx.AdvanceSync(ctx, second, ended), tx.FinishSync(ctx, second, ended, time.Time{}, "done"))
	})
	s := syncOf(t, db, r)
	want := store.RegistrySync{Status: store.SyncSuccess, Message: "done", LastRunAt: start.Add(time.Minute), LastSyncedAt: ended, ShownRun: second.Run, Run: second.Run,
		Repositories: 3, Tags: 2, OrgUID: org.UID, RegistryUID: r.UID}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(append([]store.RegistryContent{}, one...), two...), contentsOf(t, db, s, "")); diff != "" {
		t.Error(diff)
	}
	syncReplaces(t, db, r)
}

// syncReplaces runs once more over other content, which is seen when the run is finished and not before.
func syncReplaces(t *testing.T, db *store.DB, r store.Registry) {
	at := start.Add(time.Hour)
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.TakeSync(ctx, "c", "", at, at.Add(time.Minute)) // nobody asked
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.AskForSync(ctx, r.OrgUID, r.UID, at) })
	run := mustTake(t, db, "c", at)
	fresh := []store.RegistryContent{{Repository: "c", Tag: "3", Kind: "zarf"}}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddContents(ctx, run, fresh), tx.AskForSync(ctx, r.OrgUID, r.UID, at.Add(time.Second)))
	})
	if s := syncOf(t, db, r); s.Status != store.SyncInProgress || len(contentsOf(t, db, s, "")) != 3 {
		t.Errorf("asked for while it is under way: %+v", s)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishSync(ctx, run, at, at.Add(time.Hour), "")
	})
	for _, left := range []int64{3, 0} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.DeleteContents(ctx, run, 100)
			if n != left {
				t.Errorf("%d old rows deleted, want %d", n, left)
			}
			return err
		})
	}
	if diff := cmp.Diff(fresh, contentsOf(t, db, syncOf(t, db, r), "")); diff != "" {
		t.Error(diff)
	}
}

// syncFences drops what a run brings after its registry was replaced or deleted, and leaves what is seen.
func syncFences(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	replaced, deleted := mustSynced(t, db, org, "replaced", start), mustSynced(t, db, org, "deleted", start.Add(time.Millisecond))
	a, b := mustTake(t, db, "a", start.Add(time.Second)), mustTake(t, db, "b", start.Add(time.Second))
	if a.RegistryUID != replaced.UID || b.RegistryUID != deleted.UID {
		t.Fatal("not the oldest first")
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		content := []store.RegistryContent{{Repository: "x", Tag: "1"}}
		return errors.Join(tx.AddContents(ctx, a, content), tx.AddContents(ctx, b, content),
			tx.ScheduleSync(ctx, org.UID, replaced.UID, start.Add(time.Minute)), tx.DeleteRegistry(ctx, org.UID, deleted.UID))
	})
	for _, run := range []store.RegistrySync{a, b} {
		wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.FinishSync(ctx, run, start, start, "") })
		wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddContents(ctx, run, []store.RegistryContent{{Repository: "late", Tag: "1"}})
		})
	}
	if s := syncOf(t, db, replaced); s.Status != store.SyncPending || s.Run <= a.Run || s.ResumeAfter != "" || len(contentsOf(t, db, s, "")) != 0 {
		t.Errorf("after a replacement: %+v", s)
	}
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.RegistrySync(ctx, org.UID, deleted.UID)
		return err
	})
	next := mustTake(t, db, "c", start.Add(time.Hour))
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.FailSync(ctx, next, time.Time{}, "RegistryAuthFailed")
	})
	if s := syncOf(t, db, replaced); s.Status != store.SyncFailed || s.Message != "RegistryAuthFailed" || !s.NextAt.IsZero() || s.Failures != 1 || !s.LastSyncedAt.IsZero() {
		t.Errorf("after a failure: %+v", s)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.DropSync(ctx, org.UID, replaced.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.RegistrySync(ctx, org.UID, replaced.UID)
		return err
	})
}

// syncQueue has many take at once; each gets another one, and those that somebody waits for come first.
func syncQueue(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	for i := range 6 {
		r := mustSynced(t, db, org, fmt.Sprint("r", i), start)
		if i < 5 { // as after a run, with the next one due
			s := mustTake(t, db, "before", start)
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
				return tx.FinishSync(ctx, s, start, start.Add(time.Second), "")
			})
			continue
		}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.AskForSync(ctx, org.UID, r.UID, start.Add(time.Minute))
		})
		if s := mustTake(t, db, "first", start.Add(time.Minute)); s.RegistryUID != r.UID {
			t.Error("the one that is waited for is not the first")
		}
	}
	foreign := mustSynced(t, db, other, "foreign", start.Add(time.Minute))
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		s, err := tx.TakeSync(ctx, "x", org.UID, start.Add(time.Minute), start.Add(time.Hour))
		if s.RegistryUID != foreign.UID {
			t.Errorf("an organization that has its share was not passed over: %+v", s)
		}
		return err
	})
	taken := make(chan string, 12)
	for i := range 12 {
		go func() {
			var uid string
			for range 12 { // who loses a row to another looks again
				_ = db.InTx(t.Context(), func(tx *store.Tx) error {
					s, err := tx.TakeSync(t.Context(), fmt.Sprint("w", i), "", start.Add(2*time.Second), start.Add(time.Hour))
					uid = s.RegistryUID
					return err
				})
				if uid != "" {
					break
				}
			}
			taken <- uid
		}()
	}
	seen := map[string]int{}
	for range 12 {
		seen[<-taken]++
	}
	if seen[""] != 7 || len(seen) != 6 {
		t.Errorf("12 workers for 5 registries took %v", seen)
	}
}

// syncContents lists by prefix and in pages; a prefix ends at a slash.
func syncContents(t *testing.T, db *store.DB) {
	r := mustSynced(t, db, mustOrg(t, db, "one"), "r", start)
	s := mustTake(t, db, "a", start)
	var all []store.RegistryContent
	for _, repository := range []string{"charts", "charts-old", "charts.x", "charts/a", "charts/a/b", "chartsb"} {
		for _, tag := range []string{"1", "2"} {
			all = append(all, store.RegistryContent{Repository: repository, Tag: tag, Kind: "helm", Digest: "d"})
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddContents(ctx, s, all), tx.FinishSync(ctx, s, start, time.Time{}, ""))
	})
	now := syncOf(t, db, r)
	for prefix, want := range map[string]int{"": 12, "charts": 6, "charts/a": 4, "chart": 0, "charts/a/b": 2, "charts_": 0, "%": 0} {
		if got := len(contentsOf(t, db, now, prefix)); got != want {
			t.Errorf("below %q: %d, want %d", prefix, got, want)
		}
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.CountRegistryContents(ctx, now, now.ShownRun, prefix, 5)
			if n != int64(min(want, 5)) {
				t.Errorf("below %q %d are counted", prefix, n)
			}
			return err
		})
	}
	var paged []store.RegistryContent
	var after store.RegistryContent
	for range 4 {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			page, err := tx.RegistryContents(ctx, now, now.ShownRun, "", after, 5)
			if len(page) > 0 {
				after = page[len(page)-1]
			}
			paged = append(paged, page...)
			return err
		})
	}
	if len(paged) != 12 {
		t.Errorf("pages gave %d rows", len(paged))
	}
}
