package queue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// running returns a queue of 8 workers and 4 for slow jobs, of which an organization may have 6 and 3.
func running(last string, jobs ...*job) *run[string] {
	r := &run[string]{Queue: Queue[string]{Workers: 8, SlowWorkers: 4}, last: last, busy: load{byOrg: map[string]int{}},
		slow: load{byOrg: map[string]int{}}}
	for _, j := range jobs {
		if j.slow {
			r.slow.add(j.org, 1)
		} else {
			r.add(j)
		}
	}
	return r
}

// jobsOf returns so many jobs of an organization.
func jobsOf(n int, org string, runs time.Duration, slow bool) (jobs []*job) {
	for range n {
		jobs = append(jobs, &job{org, time.Now().Add(-runs), slow})
	}
	return jobs
}

// Free workers are assigned in turn, beginning after the organization that was served last, and none gets more than three quarters. One
// with slow jobs gets as many as may become slow, and at least one.
func TestShare(t *testing.T) {
	for name, row := range map[string]struct {
		jobs     []*job
		reserved int
		last     string
		waiting  []string
		want     []Share
	}{
		"nothing waits":               {nil, 0, "", nil, []Share{}},
		"one may have three quarters": {nil, 0, "", []string{"a"}, []Share{{"a", 6}}},
		"two share":                   {nil, 0, "", []string{"a", "b"}, []Share{{"a", 4}, {"b", 4}}},
		"after the last":              {jobsOf(7, "x", 0, false), 0, "b", []string{"a", "b", "c"}, []Share{{"c", 1}}},
		"the first after the end":     {jobsOf(7, "x", 0, false), 0, "c", []string{"a", "b", "c"}, []Share{{"a", 1}}},
		"no worker is free":           {jobsOf(8, "x", 0, false), 0, "", []string{"a"}, []Share{}},
		"what it has counts":          {jobsOf(5, "a", 0, false), 0, "", []string{"a"}, []Share{{"a", 1}}},
		"reserved for others":         {jobsOf(4, "a", 0, false), 3, "", []string{"a"}, []Share{{"a", 1}}},
		"only reserved ones are free": {jobsOf(5, "a", 0, false), 3, "", []string{"a", "b"}, []Share{{"b", 1}}},
		"slow jobs":                   {jobsOf(1, "a", 0, true), 0, "", []string{"a"}, []Share{{"a", 2}}},
		"slow jobs of others":         {jobsOf(3, "b", 0, true), 0, "", []string{"a"}, []Share{{"a", 6}}},
		"as many slow jobs as it may": {jobsOf(3, "a", 0, true), 0, "", []string{"a"}, []Share{{"a", 1}}},
		"slow jobs of several": {append(jobsOf(2, "b", 0, true), jobsOf(1, "a", 0, true)...), 0, "", []string{"a"},
			[]Share{{"a", 1}}},
	} {
		r := running(row.last, row.jobs...)
		r.ReservedWorkers = row.reserved
		if diff := cmp.Diff(row.want, r.share(row.waiting)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A job that runs for long gives its worker back while there is room for slow jobs, in all and of its organization.
func TestFreeSlow(t *testing.T) { synctest.Test(t, freeSlow) }

func freeSlow(t *testing.T) {
	for name, row := range map[string]struct {
		jobs       []*job
		free, slow int
	}{
		"young jobs":                  {jobsOf(2, "a", slowAfter-time.Second, false), 6, 0},
		"old jobs":                    {jobsOf(2, "a", slowAfter, false), 8, 2},
		"old and young ones":          {append(jobsOf(2, "a", slowAfter, false), jobsOf(3, "a", 0, false)...), 5, 2},
		"more than one may have":      {jobsOf(5, "a", slowAfter, false), 6, 3},
		"as many as are slow already": {append(jobsOf(3, "a", 0, true), jobsOf(1, "a", slowAfter, false)...), 7, 3},
		"more than all may have":      {append(jobsOf(3, "a", slowAfter, false), jobsOf(3, "b", slowAfter, false)...), 6, 4},
	} {
		r := running("", row.jobs...)
		if free := r.freeSlow(); free != row.free || r.slow.all != row.slow || r.busy.all != 8-row.free || len(r.jobs) != r.busy.all {
			t.Errorf("%s: %d workers are free, %d jobs slow, %d not", name, free, r.slow.all, len(r.jobs))
		}
		for _, j := range row.jobs {
			r.remove(j)
		}
		if len(r.jobs)+len(r.busy.byOrg)+len(r.slow.byOrg)+r.busy.all+r.slow.all != 0 {
			t.Errorf("%s: after the jobs there are %v, %v, %v", name, r.jobs, r.busy, r.slow)
		}
	}
}

// A poll reports that rows remain only if workers were missing for them.
func TestPollReportsWhatRemains(t *testing.T) {
	for name, row := range map[string]struct {
		workers int
		waiting []string
		more    bool
	}{
		"nothing waits":     {8, nil, false},
		"no worker is free": {0, []string{"a"}, true},
		"all were claimed":  {8, []string{"a"}, false},
	} {
		r := running("")
		r.Workers = row.workers
		r.Waiting = func(context.Context) ([]string, error) { return slices.Clone(row.waiting), nil }
		r.Claim = func(context.Context, []Share) ([]string, error) { return nil, nil }
		if more, err := r.poll(t.Context()); more != row.more || err != nil {
			t.Errorf("%s: %v, %v", name, more, err)
		}
	}
}

// A queue is polled each second, and less often while its store does not respond.
func TestPollIntervals(t *testing.T) {
	for _, row := range []struct {
		err    error
		want   time.Duration
		logged bool
	}{{nil, pollInterval, false}, {errors.New("away"), errorBackoff, true}} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			var at []time.Duration
			began := time.Now()
			q := Queue[string]{Name: "q", Workers: 1, Log: slog.New(slog.NewTextHandler(&log, nil))}
			q.Waiting = func(context.Context) ([]string, error) {
				at = append(at, time.Since(began))
				return nil, row.err
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*row.want-time.Millisecond)
			defer cancel()
			q.Run(ctx)
			if diff := cmp.Diff([]time.Duration{0, row.want, 2 * row.want, 3 * row.want}, at); diff != "" {
				t.Errorf("%v:\n%s", row.err, diff)
			}
			if strings.Contains(log.String(), "store unavailable") != row.logged {
				t.Errorf("%v: the log is %q", row.err, log.String())
			}
		})
	}
}
