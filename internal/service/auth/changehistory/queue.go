package changehistory

import "github.com/regwarden/regwarden/internal/storage/store"

// Queue is what a process knows of the changes without a number, so that it applies each of them once, and notices when one is lost.
type Queue struct {
	known    map[store.Change]bool // were in the queue at the last poll
	awaiting map[store.Change]int  // were applied and not seen in the list yet; without numbers, which differ there
}

func withoutNumber(c store.Change) store.Change { return store.Change{Subject: c.Subject, At: c.At} }

// NewSubjects returns the subjects of changes that were not in the queue before.
func (q *Queue) NewSubjects(queued []store.Change) (subjects []string) {
	for _, c := range queued {
		if !q.known[c] {
			subjects = append(subjects, c.Subject)
		}
	}
	return subjects
}

// Remember is called once the new subjects were applied.
func (q *Queue) Remember(queued []store.Change) {
	if q.awaiting == nil {
		q.awaiting = map[store.Change]int{}
	}
	known := map[store.Change]bool{}
	for _, c := range queued {
		if known[c] = true; !q.known[c] {
			q.awaiting[withoutNumber(c)]++
		}
	}
	q.known = known
}

// Moved reports whether a change of the list was in the queue before, and was applied then.
func (q *Queue) Moved(c store.Change) bool {
	key := withoutNumber(c)
	if q.awaiting[key] == 0 {
		return false
	}
	if q.awaiting[key]--; q.awaiting[key] == 0 {
		delete(q.awaiting, key)
	}
	return true
}

// Lost reports whether a change is neither in the queue any more nor in the list that was read after it: a standby without the newest
// commits took over.
func (q *Queue) Lost(queued []store.Change) bool {
	there := map[store.Change]int{}
	for _, c := range queued {
		there[withoutNumber(c)]++
	}
	for c, count := range q.awaiting {
		if there[c] < count {
			return true
		}
	}
	return false
}
