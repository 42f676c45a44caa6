package changehistory

import (
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestQueue follows changes from the queue to the list, two of them with the same subject.
func TestQueue(t *testing.T) {
	var q Queue
	first, second, other := change(1, "a"), change(2, "a"), change(3, "b")
	queued := []store.Change{first, second}
	if got := q.NewSubjects(queued); !slices.Equal(got, []string{"a", "a"}) {
		t.Errorf("new are %v", got)
	}
	if q.Moved(first) || q.Lost(nil) {
		t.Error("a change is known that was not remembered")
	}
	q.Remember(queued)
	q.Remember(queued) // they are still in it at the next poll
	queued = append(queued, other)
	if got := q.NewSubjects(queued); !slices.Equal(got, []string{"b"}) {
		t.Errorf("new are %v", got)
	}
	q.Remember(queued)
	if q.Lost(queued) || !q.Lost([]store.Change{first, other}) || !q.Lost([]store.Change{first, second}) {
		t.Error("a change is lost that is in the queue, or not that is not")
	}
	if !q.Moved(change(41, "a")) || q.Lost([]store.Change{first, other}) || !q.Lost([]store.Change{other}) {
		t.Error("the first one moved")
	}
	if !q.Moved(change(42, "a")) || q.Moved(change(43, "a")) || !q.Moved(change(44, "b")) || q.Lost(nil) {
		t.Error("all have moved")
	}
}
