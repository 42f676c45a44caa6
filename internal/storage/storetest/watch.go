package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// mustWatched stores a registry that is due for its first check at start.
func mustWatched(t *testing.T, db *store.DB, org store.Org, name string) store.Registry {
	t.Helper()
	r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: name, Canonical: name, Version: 1, CreatedAt: start, UpdatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Insert(ctx, r), tx.Watch.Schedule(ctx, org.UID, r.UID, start))
	})
	return r
}

func mustClaim(t *testing.T, db *store.DB, now time.Time, shares ...store.Share) (rows []store.Watched) {
	t.Helper()
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		rows, err = tx.Watch.Claim(ctx, uuid.NewString(), now, now.Add(time.Minute), shares)
		return err
	})
	return rows
}

// watchClaims claims each due registry once among concurrent callers, and again when its lease has expired.
func watchClaims(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	const records = 40
	for i := range records {
		mustWatched(t, db, org, fmt.Sprint("r", i))
	}
	single := mustWatched(t, db, other, "single")
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		before, errB := tx.Watch.DueOrgs(ctx, start.Add(-time.Millisecond))
		due, errD := tx.Watch.DueOrgs(ctx, start)
		count, errC := tx.Watch.Count(ctx, start, 30)
		if len(before) != 0 || len(due) != 2 || due[0] >= due[1] || count != 30 {
			t.Errorf("waiting before %v, then %v; counted %d", before, due, count)
		}
		return errors.Join(errB, errD, errC)
	})
	var mu sync.Mutex
	var all sync.WaitGroup
	taken := map[string]int{}
	for range 8 {
		all.Go(func() {
			for range 4 {
				rows := mustClaim(t, db, start, store.Share{OrgUID: org.UID, Count: 3}, store.Share{OrgUID: other.UID, Count: 3})
				mu.Lock()
				for _, row := range rows {
					taken[row.RegistryUID]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	// A caller that was second for a row does not get it, so some may remain.
	for _, row := range mustClaim(t, db, start, store.Share{OrgUID: org.UID, Count: records}, store.Share{OrgUID: other.UID, Count: 1}) {
		taken[row.RegistryUID]++
	}
	for uid, n := range taken {
		if n != 1 {
			t.Errorf("%s was claimed %d times", uid, n)
		}
	}
	if len(taken) != records+1 || taken[single.UID] != 1 {
		t.Errorf("%d of %d were claimed, the single one %d times", len(taken), records+1, taken[single.UID])
	}
	if rows := mustClaim(t, db, start.Add(59*time.Second), store.Share{OrgUID: other.UID, Count: 3}); len(rows) != 0 {
		t.Errorf("claimed although another caller has it: %v", rows)
	}
	if rows := mustClaim(t, db, start.Add(time.Minute), store.Share{OrgUID: other.UID, Count: 3}); len(rows) != 1 {
		t.Errorf("%d were claimed after the lease expired, want the one", len(rows))
	}
}

// backlogHidesNoOrg lists an organization although another one has far more due registries, those overdue for longer and newer ones.
func backlogHidesNoOrg(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		for i := range 2 * 501 {
			r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: fmt.Sprint(i), Canonical: fmt.Sprint(i), Version: 1,
				CreatedAt: start, UpdatedAt: start}
			err = errors.Join(err, tx.Registries.Insert(ctx, r),
				tx.Watch.Schedule(ctx, org.UID, r.UID, start.Add(time.Duration(i%2)*2*time.Minute)))
		}
		return err
	})
	late, newer := start.Add(time.Minute), start.Add(2*time.Minute)
	single := mustWatched(t, db, other, "single")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Watch.Schedule(ctx, other.UID, single.UID, late)
	})
	due := func(now time.Time) (orgs []string) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			orgs, err = tx.Watch.DueOrgs(ctx, now)
			return err
		})
		return orgs
	}
	both := []string{min(org.UID, other.UID), max(org.UID, other.UID)}
	if diff := cmp.Diff([][]string{{org.UID}, both, both}, [][]string{due(late.Add(-time.Millisecond)), due(late), due(newer)}); diff !=
		"" {
		t.Error(diff)
	}
	mustClaim(t, db, late, store.Share{OrgUID: other.UID, Count: 1})
	if diff := cmp.Diff([]string{org.UID}, due(late)); diff != "" {
		t.Errorf("while the only registry of the other is checked: %s", diff)
	}
}

// ending returns the row and the history entry after a check with that result.
func ending(row store.Watched, v store.HealthResult, at time.Time) (store.Watched, store.HealthPeriod) {
	row.State, row.Since, row.LastAt, row.NextAt = v, at, at, at.Add(15*time.Minute)
	row.ControlResult, row.Unreachable = "known", 2
	row.WindowStart, row.SentCount, row.SuppressedCount = at, 3, 4
	return row, store.HealthPeriod{Counted: true, Result: v, Report: []byte(`{"valid":true}`),
		Stages: []store.StageTime{{Stage: "resolve", Took: 1500 * time.Microsecond}, {Stage: "egress"}}}
}

// watchEnds stores one row for a run of equal results, and rejects a result whose lease or version is not the newest.
func watchEnds(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustWatched(t, db, org, "r")
	share := store.Share{OrgUID: org.UID, Count: 1}
	row := mustClaim(t, db, start, share)[0]
	if !row.Since.IsZero() || row.Run != 0 || row.RegistryUID != r.UID || row.OrgUID != org.UID || row.LeaseOwner == "" {
		t.Errorf("the first claim is %+v", row)
	}
	end := func(row store.Watched, version int64, v store.HealthResult, at time.Time) error {
		return db.InTx(t.Context(), func(tx *store.Tx) error {
			after, run := ending(row, v, at)
			return tx.Watch.End(t.Context(), after, version, run)
		})
	}
	good, expiring, bad := store.HealthResult{Valid: true},
		store.HealthResult{Valid: true, CredentialsExpireSoon: true, CredentialsNotAfter: start.Add(time.Hour)},
		store.HealthResult{Code: "RegistryAuthFailed", Stage: "auth", Reason: "refused", Field: "auth.password",
			Message: "The credentials were rejected.", Hint: "Correct the username.", CertificateNotAfter: start.Add(time.Minute)}
	if err := end(row, 2, good, start); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another version: %v", err)
	}
	at := start
	renewed := bad
	renewed.CertificateNotAfter = start.Add(1000 * time.Hour)
	for _, v := range []store.HealthResult{expiring, good, bad, renewed, good} {
		if err := end(row, 1, v, at); err != nil {
			t.Fatal(err)
		}
		if err := end(row, 1, v, at); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("ended twice: %v", err)
		}
		at = at.Add(15 * time.Minute)
		row = mustClaim(t, db, at, share)[0]
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.Watch.History(ctx, org.UID, r.UID, store.HealthPeriod{}, 10)
		for i := range runs {
			runs[i].Report = nil
		}
		minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
		want := []store.HealthPeriod{
			{Run: 4, Since: minute(60), LastAt: minute(60), Checks: 1, Counted: true, Result: good},
			{Run: 3, Since: minute(30), LastAt: minute(45), Checks: 2, Counted: true, Result: withoutTexts(renewed)},
			{Run: 2, Since: minute(15), LastAt: minute(15), Checks: 1, Counted: true, Result: good},
			{Run: 1, Since: minute(0), LastAt: minute(0), Checks: 1, Counted: true, Result: expiring},
		}
		if diff := cmp.Diff(want, runs); diff != "" {
			t.Error(diff)
		}
		timeline, errT := tx.Watch.Timeline(ctx, org.UID, r.UID)
		if diff := cmp.Diff(want, timeline); diff != "" { // without reports
			t.Error(diff)
		}
		foreign, errF := tx.Watch.History(ctx, mustOrg(t, db, "other").UID, r.UID, store.HealthPeriod{}, 10)
		if len(foreign) != 0 {
			t.Error("another organization reads the history")
		}
		return errors.Join(err, errT, errF)
	})
	if row.ControlResult != "known" || row.Run != 4 || row.State != good || row.Unreachable != 2 ||
		!row.WindowStart.Equal(start.Add(time.Hour)) || row.SentCount != 3 || row.SuppressedCount != 4 {
		t.Errorf("the row is %+v", row)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Watch.Schedule(ctx, org.UID, r.UID, at) })
	if err := end(row, 1, bad, at); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a check of a replaced definition is stored: %v", err)
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		now, err := tx.Watch.Get(ctx, org.UID, r.UID)
		if now.ControlResult != "" || now.LeaseOwner != "" || now.State != good || !now.NextAt.Equal(at) || now.SentCount != 3 {
			t.Errorf("after a replacement the row is %+v", now)
		}
		return err
	})
	row = mustClaim(t, db, at, share)[0]
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, r.UID) })
	if err := end(row, 1, bad, at); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a check of a deleted definition: %v", err)
	}
}

// withoutTexts returns a result as the history has it.
func withoutTexts(v store.HealthResult) store.HealthResult {
	v.Message, v.Hint = "", ""
	return v
}

// registryHealth is the same for a single registry and in the list, and its texts are bounded and can be stored by both databases.
func registryHealth(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustWatched(t, db, org, "r")
	want := func(what string, health store.Health, word store.HealthState) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			row, errG := tx.Watch.Get(ctx, org.UID, r.UID)
			list, _, errL := tx.Registries.OfOrg(ctx, org.UID, store.ListedRegistry{}, nil)
			if diff := cmp.Diff([]store.Health{health, health}, []store.Health{row.Health(), list[0].Health}); diff != "" ||
				health.Word() != word {
				t.Errorf("%s: %s, want %s\n%s", what, health.Word(), word, diff)
			}
			return errors.Join(errG, errL)
		})
	}
	end := func(v store.HealthResult, unconfirmed bool) store.Health {
		row := mustClaim(t, db, start.Add(time.Hour), store.Share{OrgUID: org.UID, Count: 1})[0]
		after, run := ending(row, v, start.Add(time.Hour))
		after.NextAt, after.Unconfirmed = start, unconfirmed
		if unconfirmed {
			after.State, after.Since = row.State, row.Since
		}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Watch.End(ctx, after, 1, run) })
		return after.Health()
	}
	want("stored", store.Health{NextAt: start}, store.Unknown)
	want("a failure that does not count yet", end(store.HealthResult{Code: "RegistryUnreachable", Message: "None."}, true), store.Unknown)
	failed := store.HealthResult{Code: "RegistryAuthFailed", Stage: "auth", Reason: "refused", Field: "auth.password",
		CertificateExpiresSoon: true, CredentialsExpireSoon: true, CertificateNotAfter: start.Add(time.Hour),
		CredentialsNotAfter: start.Add(-time.Hour), Message: "a\x00b\xff" + strings.Repeat("ü", 600), Hint: "Correct it."}
	health := end(failed, false)
	health.State.Message = "ab" + strings.Repeat("ü", 511)
	want("failed", health, store.Failing)
	health.Unconfirmed = end(store.HealthResult{Code: "RegistryUnreachable", Message: "None."}, true).Unconfirmed
	want("another failure that does not count yet", health, store.Failing)
	want("valid", end(store.HealthResult{Valid: true}, false), store.Healthy)
	want("certificate", end(store.HealthResult{Valid: true, CertificateExpiresSoon: true}, false), store.Healthy)
	want("credentials", end(store.HealthResult{Valid: true, CredentialsExpireSoon: true}, false), store.Healthy)
}

// watchBounds checks that histories are bounded, and that checks missed in an outage are spread.
func watchBounds(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustWatched(t, db, org, "r")
	at := start
	for i := range 205 {
		row := mustClaim(t, db, at, store.Share{OrgUID: org.UID, Count: 1})[0]
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			after, run := ending(row, store.HealthResult{Code: fmt.Sprint(i)}, at)
			return tx.Watch.End(ctx, after, 1, run)
		})
		at = at.Add(15 * time.Minute)
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.Watch.History(ctx, org.UID, r.UID, store.HealthPeriod{}, 1000)
		if len(runs) != 200 || runs[0].Result.Code != "204" || runs[199].Result.Code != "5" {
			t.Errorf("%d runs are stored", len(runs))
		}
		return err
	})
	for i := range 20 {
		mustWatched(t, db, org, fmt.Sprint("overdue", i))
	}
	now := start.Add(1000 * time.Hour)
	spread := int64(0)
	for n := int64(15); n == 15; {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.Watch.Spread(ctx, now, 15*time.Minute, now.Add(-time.Minute), 15)
			spread += n
			return err
		})
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		soon, errS := tx.Watch.Count(ctx, now.Add(time.Minute), 1000)
		all, errA := tx.Watch.Count(ctx, now.Add(15*time.Minute), 1000)
		if spread != 21 || soon > 10 || all != 21 {
			t.Errorf("%d were spread; %d are due within a minute, %d within the interval", spread, soon, all)
		}
		return errors.Join(errS, errA)
	})
}

// checkRequests are completed only by checks that began after them.
func checkRequests(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := mustWatched(t, db, org, "r")
	share := store.Share{OrgUID: org.UID, Count: 1}
	request := func(at, now time.Time) (n int64) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.Watch.RequestCheck(ctx, org.UID, r.UID, at, now, time.Minute)
			return err
		})
		return n
	}
	want := func(what string, completed int64, nextAt time.Time, report string) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Watch.CheckRequest(ctx, org.UID, r.UID)
			if got.Completed != completed || !got.NextAt.Equal(nextAt) || string(got.Report) != report {
				t.Errorf("%s: %+v, want %d completed, due at %v, report %q", what, got, completed, nextAt, report)
			}
			return err
		})
	}
	end := func(row store.Watched, at time.Time, report string) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			after, run := ending(row, store.HealthResult{Valid: true}, at)
			run.Report = []byte(report)
			return tx.Watch.End(ctx, after, 1, run)
		})
	}
	row := mustClaim(t, db, start, share)[0]
	end(row, start, "first")
	later := start.Add(15 * time.Minute)
	want("a scheduled check", 0, later, "")
	if first, second := request(start.Add(time.Second), start), request(start.Add(time.Hour), start); first != 1 || second != 2 {
		t.Errorf("requests are numbered %d and %d", first, second)
	}
	due := start.Add(time.Second)
	want("requested twice", 0, due, "")
	row = mustClaim(t, db, due, share)[0]
	if row.Requested != 2 || request(due, due) != 3 {
		t.Errorf("the claim has %d requests, want the 2 before it", row.Requested)
	}
	want("requested while it runs", 0, due.Add(time.Minute), "")
	end(row, due.Add(time.Second), "second")
	want("the first two completed", 2, due.Add(time.Second), "second")
	row = mustClaim(t, db, due.Add(time.Second), share)[0]
	end(row, due.Add(2*time.Second), "third")
	want("all completed", 3, due.Add(2*time.Second+15*time.Minute), "third")
	end(mustClaim(t, db, later.Add(time.Hour), share)[0], later.Add(time.Hour), "fourth")
	want("a scheduled check after them", 3, later.Add(time.Hour+15*time.Minute), "third")
	at := later.Add(2 * time.Hour)
	for i, tt := range []struct {
		requests []time.Duration // since the check began, which takes a minute
		next     time.Duration
	}{
		{[]time.Duration{time.Hour}, 16 * time.Minute}, {[]time.Duration{5 * time.Minute, 9 * time.Minute}, 5 * time.Minute},
		{[]time.Duration{9 * time.Minute, 5 * time.Minute}, 5 * time.Minute}, {[]time.Duration{time.Second, 9 * time.Minute}, time.Minute},
	} {
		began := at.Add(time.Duration(i) * time.Hour)
		row := mustClaim(t, db, began, share)[0]
		for _, after := range tt.requests {
			request(began.Add(after), began)
		}
		end(row, began.Add(time.Minute), fmt.Sprint(i))
		want(fmt.Sprint("requests after ", tt.requests), row.Requested, began.Add(tt.next), []string{"third", "1", "2", "3"}[i])
	}
	lost := at.Add(10 * time.Hour)
	mustClaim(t, db, lost, share)
	lost = lost.Add(2 * time.Minute) // the server ended without a result
	request(lost.Add(10*time.Minute), lost)
	if again := mustClaim(t, db, lost, share); len(again) != 1 {
		t.Error("a request postpones a check whose lease has ended")
	}
	other := mustOrg(t, db, "other")
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Watch.RequestCheck(ctx, other.UID, r.UID, start, start, time.Minute)
		return err
	})
}

// healthByName finds the registries of a name in all organizations, with their projects, and Hasten moves the due time to an earlier one.
func healthByName(t *testing.T, db *store.DB) {
	one, two := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	r, _, _ := mustWatched(t, db, one, "r"), mustWatched(t, db, two, "r"), mustWatched(t, db, one, "other")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		project := store.Project{UID: uuid.NewString(), OrgUID: one.UID, Name: "Blue", Canonical: "blue", CreatedAt: start}
		return errors.Join(tx.Projects.Insert(ctx, project), tx.Projects.SetOfRegistry(ctx, one.UID, r.UID, project.UID))
	})
	row := mustClaim(t, db, start, store.Share{OrgUID: one.UID, Count: 2})[0]
	if row.RegistryUID != r.UID {
		row = mustClaim(t, db, start.Add(2*time.Minute), store.Share{OrgUID: one.UID, Count: 1})[0]
	}
	ended, period := ending(row, store.HealthResult{Valid: true}, start)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Watch.End(ctx, ended, 1, period), tx.Watch.Hasten(ctx, one.UID, r.UID, start.Add(time.Minute)))
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { // not later again
		return tx.Watch.Hasten(ctx, one.UID, r.UID, start.Add(2*time.Minute))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		found, errF := tx.Watch.HealthByName(ctx, "r", 3)
		missing, errM := tx.Watch.HealthByName(ctx, "none", 3)
		all, errA := tx.Watch.HealthOfAll(ctx, 2)
		if len(found) != 2 || len(missing) != 0 || len(all) != 2 {
			t.Fatalf("found %d and %d; of all at most two are %d: %v", len(found), len(missing), len(all), errors.Join(errF, errM, errA))
		}
		slices.SortFunc(found, func(a, b store.RegistryHealth) int { return strings.Compare(a.Org, b.Org) })
		want := []store.RegistryHealth{
			{UID: r.UID, OrgUID: one.UID, Org: "one", Project: "Blue", Name: "r", Kind: "oci", Stages: period.Stages,
				Health: store.Health{State: store.HealthResult{Valid: true}, Since: start, LastAt: start}},
			{UID: found[1].UID, OrgUID: two.UID, Org: "two", Name: "r", Kind: "oci"}}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		}
		due, err := tx.Watch.Get(ctx, one.UID, r.UID)
		if !due.NextAt.Equal(start.Add(time.Minute)) {
			t.Errorf("due at %s", due.NextAt)
		}
		return errors.Join(errF, errM, errA, err)
	})
}
