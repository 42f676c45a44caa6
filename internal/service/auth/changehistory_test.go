package auth

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// database is a model of the list of changes on PostgreSQL: transactions change a subject and commit in any order, their changes wait in
// the queue, and are moved to the list in parts.
type database struct {
	open, queue, list []store.Change
	versions          map[string]int // by subject: committed changes
	noted             int
	queued            int64
}

func (d *database) begin(subject string) {
	d.noted++
	at := start.Add(time.Duration(d.noted/2) * time.Millisecond) // two have the same time
	d.open = append(d.open, store.Change{Subject: subject, At: at})
}

func (d *database) commit(i int) string {
	c := d.open[i]
	d.queued++
	c.Seq = d.queued
	d.open, d.queue = slices.Delete(d.open, i, i+1), append(d.queue, c)
	d.versions[c.Subject]++
	return c.Subject
}

func (d *database) move(n int) {
	for _, c := range d.queue[:n] {
		c.Seq = int64(len(d.list) + 1)
		d.list = append(d.list, c)
	}
	d.queue = slices.Clone(d.queue[n:])
}

// replica is what a process does with the list, without its queries.
type replica struct {
	*changePoller
	queued  []store.Change // read by a poll that has not read the list yet
	epoch   uint64
	polling bool
}

func newReplica() *replica {
	r := &replica{changePoller: &changePoller{cache: newCredentialCache()}}
	r.cache.Settle(0, nil, store.Change{})
	return r
}

func (r *replica) readQueue(d *database) {
	r.epoch, r.queued, r.polling = r.cache.Epoch(), slices.Clone(d.queue), true
	if subjects := r.NewSubjects(r.queued); len(subjects) > 0 {
		r.cache.Add(subjects)
	}
	r.Remember(r.queued)
}

// readList ends the poll. It reports whether the poll found the list whole.
func (r *replica) readTheList(t *rapid.T, d *database) {
	from := d.list[max(0, r.last.Seq-1):]
	added, complete := newChanges(r.last, from)
	if !complete {
		t.Fatalf("after %v comes %v", r.last, from)
	}
	if len(added) > 0 {
		if err := r.applyNumbered(t.Context(), added); err != nil {
			t.Fatal(err)
		}
		r.last = added[len(added)-1]
	}
	if r.Lost(r.queued) {
		t.Fatalf("lost of %v: %v and %v", r.Queue, r.queued, added)
	}
	r.polling = false
	r.cache.Settle(r.epoch, r.queued, r.last)
}

// modelToken has the version of its subject that its issuer read.
type modelToken struct {
	subject string
	version int
	at      changehistory.Position
}

// TestTokensAreNotAcceptedAfterAChange checks one rule for any order of commits, moves, polls of three processes, and tokens that any of
// them issues: no process accepts a token whose data were changed before its last poll began, or by itself.
func TestTokensAreNotAcceptedAfterAChange(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		d, replicas := &database{versions: map[string]int{}}, []*replica{newReplica(), newReplica(), newReplica()}
		for _, r := range replicas {
			r.cache.History = changehistory.New(4)
			r.cache.Settle(0, nil, store.Change{})
		}
		subject := rapid.SampledFrom([]string{"u0", "u1", "u2", "u3", "u4", "u5"})
		must := make([]map[string]int, len(replicas)) // what each process knows for sure
		began := make([]map[string]int, len(replicas))
		for i := range must {
			must[i] = map[string]int{}
		}
		var tokens []modelToken
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) { d.begin(subject.Draw(t, "subject")) },
			"commit": func(t *rapid.T) {
				if len(d.open) == 0 {
					return
				}
				changed := d.commit(rapid.IntRange(0, len(d.open)-1).Draw(t, "transaction"))
				by := rapid.IntRange(0, len(replicas)-1).Draw(t, "by")
				replicas[by].cache.Add([]string{changed})
				must[by][changed] = d.versions[changed]
			},
			"move": func(t *rapid.T) { d.move(rapid.IntRange(0, len(d.queue)).Draw(t, "changes")) },
			"readQueue": func(t *rapid.T) {
				i := rapid.IntRange(0, len(replicas)-1).Draw(t, "process")
				replicas[i].readQueue(d)
				began[i] = map[string]int{}
				for s, v := range d.versions {
					began[i][s] = v
				}
			},
			"readList": func(t *rapid.T) {
				i := rapid.IntRange(0, len(replicas)-1).Draw(t, "process")
				if !replicas[i].polling {
					return
				}
				replicas[i].readTheList(t, d)
				for s, v := range began[i] {
					must[i][s] = max(must[i][s], v)
				}
			},
			"issue": func(t *rapid.T) {
				at := replicas[rapid.IntRange(0, len(replicas)-1).Draw(t, "process")].cache.Position()
				s := subject.Draw(t, "subject")
				tokens = append(tokens, modelToken{s, d.versions[s], at})
			},
			"": func(t *rapid.T) {
				for i, r := range replicas {
					for _, token := range tokens {
						if !r.cache.CurrentAt(token.at, "s", token.subject) {
							continue
						}
						accepted++
						if token.version < must[i][token.subject] {
							t.Fatalf("process %d accepts version %d of %s and knows %d", i, token.version,
								token.subject, must[i][token.subject])
						}
					}
				}
			},
		})
	})
	if accepted == 0 {
		t.Error("no token is ever accepted")
	}
}

// TestPositionsOfAnotherHistory has two processes know lists that are the same up to a change, as before and after a failover that lost
// the newest commits: what one read at the end of its list is not accepted by the other.
func TestPositionsOfAnotherHistory(t *testing.T) {
	changes := func(subjects ...string) (list []store.Change) {
		for i, subject := range subjects {
			list = append(list, store.Change{Seq: int64(i + 1), Subject: subject, At: start})
		}
		return list
	}
	isNew := func(store.Change) bool { return true }
	before, after := newReplica().cache, newReplica().cache
	before.AddNumbered(changes("a", "b"), isNew)
	common := before.Position()
	before.AddNumbered([]store.Change{{Seq: 3, Subject: "lost", At: start}}, isNew)
	after.AddNumbered(changes("a", "b", "c", "d"), isNew)
	if after.CurrentAt(before.Position(), "e") {
		t.Error("a position of the lost history is accepted")
	}
	if !after.CurrentAt(common, "e") || after.CurrentAt(common, "c") || !after.CurrentAt(after.Position(), "c") {
		t.Error("positions of the common history: c changed after it, e did not")
	}
	after.AddNumbered([]store.Change{{Seq: 5, Subject: store.ChangedAll, At: start}}, isNew)
	if after.CurrentAt(common, "e") || after.Current(after.Epoch()-1, "e") {
		t.Error("something is up to date after a change of everything")
	}
}
