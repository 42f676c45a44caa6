package queue

import (
	"slices"
	"time"
)

// slowAfter is how long a job runs until it is slow.
const slowAfter = 2 * time.Second

// job is a running job. A slow one has no worker.
type job struct {
	org   string
	began time.Time
	slow  bool
}

// load counts running jobs.
type load struct {
	all   int
	byOrg map[string]int
}

func (l *load) add(org string, n int) {
	l.all += n
	if l.byOrg[org] += n; l.byOrg[org] == 0 {
		delete(l.byOrg, org)
	}
}

// add adds a job that begins.
func (r *run[T]) add(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = append(r.jobs, j)
	r.busy.add(j.org, 1)
}

func (r *run[T]) remove(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.slow {
		r.slow.add(j.org, -1)
	} else {
		r.busy.add(j.org, -1)
		r.jobs = slices.DeleteFunc(r.jobs, func(other *job) bool { return other == j })
	}
}

// freeSlow takes the workers of slow jobs and returns how many workers are free.
func (r *run[T]) freeSlow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(j *job) bool {
		j.slow = time.Since(j.began) >= slowAfter && r.slowRoom(j.org) > 0
		if j.slow {
			r.busy.add(j.org, -1)
			r.slow.add(j.org, 1)
		}
		return j.slow
	})
	return r.Workers - r.busy.all
}

// slowRoom returns how many more jobs of an organization may be slow.
func (r *run[T]) slowRoom(org string) int {
	return min(r.SlowWorkers-r.slow.all, mostOf(r.SlowWorkers)-r.slow.byOrg[org])
}

// maxOf returns how many workers an organization may have. One with slow jobs gets a worker for each job that may become slow: more
// of its jobs would keep their workers.
func (r *run[T]) maxOf(org string) int {
	most := mostOf(r.Workers)
	if r.slow.byOrg[org] > 0 {
		most = min(most, max(1, r.slowRoom(org)))
	}
	return most
}

// mostOf leaves a quarter to other organizations, since all jobs of one may be long.
func mostOf(n int) int { return n - n/4 }
