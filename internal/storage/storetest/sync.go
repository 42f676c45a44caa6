package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func mustSynced(t *testing.T, db *store.DB, org store.Org, name string, at time.Time) store.Registry {
	t.Helper()
	r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: name, Canonical: name, Version: 1, CreatedAt: start, UpdatedAt: start,
		Endpoint: "https://registry.example.com", SyncSupported: true}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Insert(ctx, r), tx.Syncs.Schedule(ctx, org.UID, r.UID, at))
	})
	return r
}

// take claims the due synchronizations of an organization.
func take(t *testing.T, db *store.DB, orgUID, owner string, now time.Time, count int) (taken []store.RegistrySync) {
	t.Helper()
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		taken, err = tx.Syncs.Claim(ctx, owner, now, now.Add(time.Minute), []store.Share{{OrgUID: orgUID, Count: count}})
		return err
	})
	return taken
}

func mustTake(t *testing.T, db *store.DB, orgUID, owner string, now time.Time) store.RegistrySync {
	t.Helper()
	taken := take(t, db, orgUID, owner, now, 1)
	if len(taken) != 1 {
		t.Fatalf("%d synchronizations were due, want 1", len(taken))
	}
	return taken[0]
}

func syncOf(t *testing.T, db *store.DB, r store.Registry) (s store.RegistrySync) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = tx.Syncs.Get(ctx, r.OrgUID, r.UID)
		return err
	})
	return s
}

func contentsOf(t *testing.T, db *store.DB, s store.RegistrySync, prefix string) (list []store.RegistryContent) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Contents.List(ctx, s, s.ShownRun, prefix, store.RegistryContent{}, 100)
		return err
	})
	return list
}

// syncRuns requests, claims, advances, resumes and finishes a synchronization.
func syncRuns(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustSynced(t, db, org, "r", start)
	if s := syncOf(t, db, r); s.Status != store.SyncPending || !s.NextAt.Equal(start) || s.ShownRun != 0 {
		t.Errorf("after its creation: %+v", s)
	}
	first := mustTake(t, db, org.UID, "a", start)
	if twice := take(t, db, org.UID, "b", start.Add(59*time.Second), 9); len(twice) != 0 {
		t.Errorf("claimed twice: %+v", twice)
	}
	one := []store.RegistryContent{{Repository: "a/x", Tag: "1", Kind: "helm", Digest: "sha256:1"}}
	first.ResumeAfter, first.RunRepositories, first.RunTags = "a/x", 1, 1
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Contents.Add(ctx, first, one), tx.Contents.Add(ctx, first, one),
			tx.Syncs.Advance(ctx, first, start.Add(time.Minute)))
	})
	if s := syncOf(t, db, r); s.Status != store.SyncInProgress || s.ShownRun != 0 || s.RunRepositories != 1 || !s.LastRunAt.Equal(start) {
		t.Errorf("while it runs: %+v", s)
	}
	// The process is killed. Another one continues the run, and the first can no longer write.
	second := mustTake(t, db, org.UID, "b", start.Add(time.Minute))
	if second.Run != first.Run || second.ResumeAfter != "a/x" || second.RunTags != 1 {
		t.Errorf("resumed: %+v", second)
	}
	for name, late := range map[string]func(context.Context, *store.Tx) error{
		"keep":    func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Extend(ctx, first, start) },
		"add":     func(ctx context.Context, tx *store.Tx) error { return tx.Contents.Add(ctx, first, one) },
		"advance": func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Advance(ctx, first, start) },
		"pause":   func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Pause(ctx, first, start, "") },
		"finish":  func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Finish(ctx, first, start, start, "") },
		"fail":    func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Fail(ctx, first, start, "") },
	} {
		if err := db.InTx(t.Context(), func(tx *store.Tx) error { return late(t.Context(), tx) }); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s with a lost lease: %v", name, err)
		}
	}
	two := []store.RegistryContent{{Repository: "a/y", Tag: "", Problem: "no tags"}, {Repository: "b", Tag: "2", Kind: "other"}}
	second.ResumeAfter, second.RunRepositories, second.RunTags = "b", 3, 2
	ended := start.Add(2 * time.Minute)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Contents.Add(ctx, second, two), tx.Syncs.Advance(ctx, second, ended),
			tx.Syncs.Finish(ctx, second, ended, time.Time{}, "done"))
	})
	s := syncOf(t, db, r)
	want := store.RegistrySync{Status: store.SyncSuccess, Message: "done", LastRunAt: start.Add(time.Minute), LastSyncedAt: ended,
		ShownRun: second.Run, Run: second.Run, Repositories: 3, Tags: 2, OrgUID: org.UID, RegistryUID: r.UID}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(append([]store.RegistryContent{}, one...), two...), contentsOf(t, db, s, "")); diff != "" {
		t.Error(diff)
	}
	syncReplaces(t, db, r)
}

// syncReplaces runs again over other content, which is shown only when the run is finished.
func syncReplaces(t *testing.T, db *store.DB, r store.Registry) {
	at := start.Add(time.Hour)
	if unrequested := take(t, db, r.OrgUID, "c", at, 9); len(unrequested) != 0 {
		t.Errorf("claimed without a request: %+v", unrequested)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Request(ctx, r.OrgUID, r.UID, at, at) })
	run := mustTake(t, db, r.OrgUID, "c", at)
	fresh := []store.RegistryContent{{Repository: "c", Tag: "3", Kind: "zarf"}}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Contents.Add(ctx, run, fresh),
			tx.Syncs.Request(ctx, r.OrgUID, r.UID, at.Add(time.Second), at.Add(time.Minute)))
	})
	if s := syncOf(t, db, r); s.Status != store.SyncInProgress || len(contentsOf(t, db, s, "")) != 3 {
		t.Errorf("requested while it runs: %+v", s)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Finish(ctx, run, at, at.Add(time.Hour), "")
	})
	if steps := sweep(t, db, r.OrgUID, 100); steps != 1 {
		t.Errorf("the replaced content took %d steps to delete, want 1", steps)
	}
	if diff := cmp.Diff(fresh, contentsOf(t, db, syncOf(t, db, r), "")); diff != "" {
		t.Error(diff)
	}
}

// sweep deletes the replaced content of an organization, and counts the steps.
func sweep(t *testing.T, db *store.DB, orgUID string, limit int) (steps int) {
	t.Helper()
	for more := true; more; steps++ {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			more, err = tx.Contents.Sweep(ctx, orgUID, limit)
			return err
		})
	}
	return steps - 1
}

// syncEnds discards the content of a run whose registry was replaced or deleted; the shown content stays.
func syncEnds(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	replaced, deleted := mustSynced(t, db, org, "replaced", start), mustSynced(t, db, org, "deleted", start.Add(time.Millisecond))
	a, b := mustTake(t, db, org.UID, "a", start.Add(time.Second)), mustTake(t, db, org.UID, "b", start.Add(time.Second))
	if a.RegistryUID != replaced.UID || b.RegistryUID != deleted.UID {
		t.Fatal("not the oldest first")
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		content := []store.RegistryContent{{Repository: "x", Tag: "1"}}
		return errors.Join(tx.Contents.Add(ctx, a, content), tx.Contents.Add(ctx, b, content),
			tx.Syncs.Schedule(ctx, org.UID, replaced.UID, start.Add(time.Minute)), tx.Registries.Delete(ctx, org.UID, deleted.UID))
	})
	for _, run := range []store.RegistrySync{a, b} {
		wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
			return tx.Syncs.Finish(ctx, run, start, start, "")
		})
		wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
			return tx.Contents.Add(ctx, run, []store.RegistryContent{{Repository: "late", Tag: "1"}})
		})
	}
	if s := syncOf(t, db, replaced); s.Status != store.SyncPending || s.Run <= a.Run || s.ResumeAfter != "" ||
		len(contentsOf(t, db, s, "")) != 0 {
		t.Errorf("after a replacement: %+v", s)
	}
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Syncs.Get(ctx, org.UID, deleted.UID)
		return err
	})
	var next store.RegistrySync
	for failures := range int64(2) { // they are counted although the run advanced, which counts for pauses
		at := start.Add(time.Duration(failures+1) * time.Hour)
		next = mustTake(t, db, org.UID, "c", at)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.Syncs.Advance(ctx, next, at), tx.Syncs.Fail(ctx, next, at.Add(time.Hour), "RegistryAuthFailed"))
		})
		s := syncOf(t, db, replaced)
		if s.Status != store.SyncFailed || s.Message != "RegistryAuthFailed" || !s.NextAt.Equal(at.Add(time.Hour)) || s.Failures !=
			failures+1 || !s.LastSyncedAt.IsZero() {
			t.Errorf("after a failure: %+v", s)
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Drop(ctx, org.UID, replaced.UID) })
	off := syncOf(t, db, replaced)
	want := store.RegistrySync{Status: store.SyncPending, Run: next.Run + 1, OrgUID: org.UID, RegistryUID: replaced.UID}
	if diff := cmp.Diff(want, off); diff != "" {
		t.Error(diff)
	}
}

// syncQueue claims concurrently: each caller gets another synchronization, and requested ones come first.
func syncQueue(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	for i := range 6 {
		r := mustSynced(t, db, org, fmt.Sprint("r", i), start)
		if i < 5 { // as after a run, with the next one due
			s := mustTake(t, db, org.UID, "before", start)
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
				return tx.Syncs.Finish(ctx, s, start, start.Add(time.Second), "")
			})
			continue
		}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return tx.Syncs.Request(ctx, org.UID, r.UID, start.Add(time.Minute), start.Add(time.Minute))
		})
		if s := mustTake(t, db, org.UID, "first", start.Add(time.Minute)); s.RegistryUID != r.UID {
			t.Error("the requested one is not the first")
		}
	}
	foreign := mustSynced(t, db, other, "foreign", start.Add(time.Minute))
	if s := mustTake(t, db, other.UID, "x", start.Add(time.Minute)); s.RegistryUID != foreign.UID {
		t.Errorf("claimed in another organization: %+v", s)
	}
	taken := make(chan string, 12)
	for i := range 12 {
		go func() {
			var uid string
			for range 12 { // a caller that gets no row tries again
				_ = db.InTx(t.Context(), func(tx *store.Tx) error {
					list, err := tx.Syncs.Claim(t.Context(), fmt.Sprint("w", i), start.Add(2*time.Second), start.Add(time.Hour),
						[]store.Share{{OrgUID: org.UID, Count: 1}})
					for _, s := range list {
						uid = s.RegistryUID
					}
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
		t.Errorf("12 workers claimed %v of 5 registries", seen)
	}
}

// syncTurns lists the organizations with due synchronizations: requested ones first, the others after an hour.
func syncTurns(t *testing.T, db *store.DB) {
	orgs := func(now time.Time) (list []string) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Syncs.DueOrgs(ctx, now)
			return err
		})
		return list
	}
	if list := orgs(start); len(list) != 0 {
		t.Errorf("due in an empty store: %v", list)
	}
	org, later, never := mustOrg(t, db, "one"), mustOrg(t, db, "later"), mustOrg(t, db, "never")
	unrequested := mustSynced(t, db, org, "unasked", start)
	s := mustTake(t, db, org.UID, "before", start)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Finish(ctx, s, start, start, "") })
	mustSynced(t, db, later, "later", start.Add(2*time.Hour))
	mustSynced(t, db, never, "never", time.Time{})
	for hours, want := range map[time.Duration][]string{0: {org.UID}, 1: {org.UID}, 2: {later.UID, org.UID}} {
		slices.Sort(want)
		if diff := cmp.Diff(want, orgs(start.Add(hours*time.Hour))); diff != "" {
			t.Errorf("due after %d h: %s", hours, diff)
		}
	}
	early, late := mustSynced(t, db, org, "early", start.Add(59*time.Minute)), mustSynced(t, db, org, "late", start.Add(61*time.Minute))
	var order []string
	for range 3 {
		order = append(order, mustTake(t, db, org.UID, "a", start.Add(2*time.Hour)).RegistryUID)
	}
	if diff := cmp.Diff([]string{early.UID, unrequested.UID, late.UID}, order); diff != "" {
		t.Error(diff)
	}
}

// syncSweeps deletes content that is no longer shown in steps, and nothing else. The rows of an organization are
// counted until they are deleted.
func syncSweeps(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "other")
	rows := make([]store.RegistryContent, 25)
	for i := range rows {
		rows[i] = store.RegistryContent{Repository: fmt.Sprint("r", i/10), Tag: fmt.Sprintf("%02d", i)}
	}
	at := start
	filled := func(org store.Org, name string, finished bool) (r store.Registry, s store.RegistrySync) {
		r = mustSynced(t, db, org, name, at)
		s = mustTake(t, db, org.UID, name, at)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Contents.Add(ctx, s, rows); err != nil || !finished {
				return err
			}
			return tx.Syncs.Finish(ctx, s, at, time.Time{}, "")
		})
		return r, s
	}
	counted := func(s store.RegistrySync) (n int64) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.Contents.CountOthers(ctx, s)
			return err
		})
		return n
	}
	shown, _ := filled(org, "shown", true)
	foreign, _ := filled(other, "foreign", true)
	for _, drop := range []func(context.Context, *store.Tx, store.Registry, store.RegistrySync) error{
		func(ctx context.Context, tx *store.Tx, r store.Registry, _ store.RegistrySync) error {
			return tx.Registries.Delete(ctx, org.UID, r.UID)
		},
		func(ctx context.Context, tx *store.Tx, r store.Registry, _ store.RegistrySync) error {
			return tx.Syncs.Drop(ctx, org.UID, r.UID)
		},
		func(ctx context.Context, tx *store.Tx, r store.Registry, _ store.RegistrySync) error {
			return tx.Syncs.Hold(ctx, org.UID, r.UID)
		},
		func(ctx context.Context, tx *store.Tx, _ store.Registry, s store.RegistrySync) error {
			return tx.Syncs.Fail(ctx, s, time.Time{}, "")
		},
		func(ctx context.Context, tx *store.Tx, _ store.Registry, s store.RegistrySync) error {
			return tx.Syncs.Pause(ctx, s, at, "")
		}, // and claimed again
	} {
		r, run := filled(org, "dropped"+uuid.NewString(), false)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return drop(ctx, tx, r, run) })
		take(t, db, org.UID, "next", at, 9)
		if n := counted(run); n != 50 {
			t.Errorf("%d rows are counted before they are deleted, want 50", n)
		}
		if steps := sweep(t, db, org.UID, 10); steps != 3 {
			t.Errorf("25 rows were deleted in %d steps of 10, want 3", steps)
		}
		if n := counted(run); n != 25 {
			t.Errorf("%d rows are counted afterwards, want 25", n)
		}
	}
	for _, r := range []store.Registry{shown, foreign} {
		if s := syncOf(t, db, r); len(contentsOf(t, db, s, "")) != 25 || counted(s) != 0 {
			t.Errorf("shown content was deleted, or counted: %d", counted(s))
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Drop(ctx, other.UID, foreign.UID) })
	if steps := sweep(t, db, org.UID, 100) + sweep(t, db, "", 100); steps != 1 {
		t.Errorf("the content of one organization was deleted in %d steps, want 1, only for that organization", steps)
	}
}

// syncLengths stores names of the maximum length on every database, and none that is longer: an index of PostgreSQL
// rejects it.
func syncLengths(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustSynced(t, db, org, "r", start)
	s := mustTake(t, db, org.UID, "a", start)
	name := func(length int) string { // that no index can compress
		var b strings.Builder
		for b.Len() < length {
			b.WriteString(strings.ReplaceAll(uuid.NewString(), "-", ""))
		}
		return b.String()[:length]
	}
	for _, row := range []struct {
		repository, tag int
		fits            bool
	}{{255, 128, true}, {256, 1, false}, {1, 129, false}, {4000, 1, false}} {
		err := db.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.Contents.Add(t.Context(), s, []store.RegistryContent{{Repository: name(row.repository), Tag: name(row.tag)}})
		})
		if fits := err == nil; fits != row.fits || errors.Is(err, store.ErrNotFound) || fault.KindOf(err) == fault.Unavailable {
			t.Errorf("%+v: %v", row, err)
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Finish(ctx, s, start, time.Time{}, "") })
	if list := contentsOf(t, db, syncOf(t, db, r), ""); len(list) != 1 {
		t.Errorf("%d rows are stored", len(list))
	}
}

// syncContents lists by prefix and in pages; a prefix ends at a slash.
func syncContents(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustSynced(t, db, org, "r", start)
	s := mustTake(t, db, org.UID, "a", start)
	var all []store.RegistryContent
	for _, repository := range []string{"charts", "charts-old", "charts.x", "charts/a", "charts/a/b", "charts/ü", "chartsb", "~", "ü"} {
		for _, tag := range []string{"1", "2"} {
			all = append(all, store.RegistryContent{Repository: repository, Tag: tag, Kind: "helm", Digest: "d"})
		}
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Contents.Add(ctx, s, all), tx.Syncs.Finish(ctx, s, start, time.Time{}, ""))
	})
	now := syncOf(t, db, r)
	for prefix, want := range map[string]int{"": 18, "charts": 8, "charts/a": 4, "chart": 0, "charts/a/b": 2, "charts_": 0, "%": 0} {
		if got := len(contentsOf(t, db, now, prefix)); got != want {
			t.Errorf("below %q: %d, want %d", prefix, got, want)
		}
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.Contents.Count(ctx, now, now.ShownRun, prefix, 5)
			if n != int64(min(want, 5)) {
				t.Errorf("below %q %d are counted", prefix, n)
			}
			return err
		})
	}
	for prefix, want := range map[string]int{"": 18, "charts": 8, "charts/a": 4} {
		for size := 1; size < 8; size++ {
			if paged := pagedContents(t, db, now, prefix, size); len(paged) != want || !slices.IsSortedFunc(paged, byName) {
				t.Errorf("pages of %d below %q gave %v", size, prefix, paged)
			}
		}
	}
}

func byName(a, b store.RegistryContent) int {
	return strings.Compare(a.Repository+" "+a.Tag, b.Repository+" "+b.Tag) // no name has a character before the blank
}

// pagedContents lists in pages until one is empty.
func pagedContents(t *testing.T, db *store.DB, s store.RegistrySync, prefix string, size int) (list []store.RegistryContent) {
	var after store.RegistryContent
	for range 20 {
		var page []store.RegistryContent
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			page, err = tx.Contents.List(ctx, s, s.ShownRun, prefix, after, size)
			return err
		})
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1]
		list = append(list, page...)
	}
	return list
}
