package fairqueue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Shares of the tests: the first has half of the turns.
const (
	first = iota
	second
	third
)

var testTurns = []int{first, second, first, third}

func anyCaller(Caller) bool { return true }

// parseCaller reads "share source account".
func parseCaller(text string) Caller {
	words := strings.Fields(text)
	names := map[string]int{"known": first, "unknown": second, "admin": third}
	return Caller{Share: names[words[0]], Source: words[1], Account: words[2]}
}

func repeated(n int, caller string) []string { return slices.Repeat([]string{caller}, n) }

func TestQueue(t *testing.T) {
	for _, row := range []struct {
		name      string
		limit     int
		arrive    []string
		displaced []string // in order
		refused   int
		served    []string
	}{
		{name: "one source, in order of arrival", limit: 8, arrive: []string{"unknown a 1", "unknown a 2", "unknown a 3"},
			served: []string{"unknown a 1", "unknown a 2", "unknown a 3"}},
		{name: "sources take turns", limit: 8,
			arrive: []string{"unknown a 1", "unknown a 2", "unknown a 3", "unknown b 4", "unknown c 5", "unknown c 6"},
			served: []string{"unknown a 1", "unknown b 4", "unknown c 5", "unknown a 2", "unknown c 6", "unknown a 3"}},
		{name: "an account with many callers waits behind others of its source", limit: 8,
			arrive: []string{"known a 1", "known a 1", "known a 1", "known a 2"},
			served: []string{"known a 1", "known a 2", "known a 1", "known a 1"}},
		{name: "shares take turns, known logins every other one", limit: 12,
			arrive: slices.Concat(repeated(3, "admin o 1"), repeated(3, "unknown a 1"), repeated(4, "known a 1")),
			served: []string{"known a 1", "unknown a 1", "known a 1", "admin o 1", "known a 1", "unknown a 1", "known a 1", "admin o 1",
				"unknown a 1", "admin o 1"}},
		{name: "one source fills the queue", limit: 4, arrive: repeated(6, "unknown a 1"), refused: 2, served: repeated(4, "unknown a 1")},
		{name: "a source with few displaces one with many", limit: 4,
			arrive:    slices.Concat(repeated(4, "unknown a 1"), repeated(3, "unknown b 2")),
			displaced: repeated(2, "unknown a 1"), refused: 1,
			served: []string{"unknown a 1", "unknown b 2", "unknown a 1", "unknown b 2"}},
		{name: "an account with few displaces one of its source with many", limit: 4,
			arrive:    slices.Concat(repeated(4, "unknown a 1"), repeated(3, "unknown a 2")),
			displaced: repeated(2, "unknown a 1"), refused: 1,
			served: []string{"unknown a 1", "unknown a 2", "unknown a 1", "unknown a 2"}},
		{name: "many sources with one each are not displaced by another", limit: 4,
			arrive:  []string{"unknown a 1", "unknown b 1", "unknown c 1", "unknown d 1", "unknown e 1"},
			refused: 1, served: []string{"unknown a 1", "unknown b 1", "unknown c 1", "unknown d 1"}},
		{name: "known logins have half of the queue", limit: 4,
			arrive:    append([]string{"unknown a 1", "unknown b 1", "unknown c 1", "unknown d 1"}, repeated(3, "known a 2")...),
			displaced: []string{"unknown a 1", "unknown b 1"}, refused: 1,
			served: []string{"known a 2", "unknown c 1", "known a 2", "unknown d 1"}},
		{name: "each other share has a quarter", limit: 4,
			arrive:    slices.Concat(repeated(4, "known a 1"), repeated(2, "admin o 1"), repeated(2, "unknown a 1")),
			displaced: repeated(2, "known a 1"), refused: 2, served: []string{"known a 1", "unknown a 1", "known a 1", "admin o 1"}},
		{name: "a queue for one belongs to known logins", limit: 1,
			arrive:    []string{"unknown a 1", "admin o 1", "known a 2", "unknown b 1"},
			displaced: []string{"unknown a 1"}, refused: 2, served: []string{"known a 2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := newQueue(row.limit, testTurns)
			refused := 0
			var displaced, served []string
			for _, text := range row.arrive {
				added, gone := q.push(parseCaller(text))
				if added == nil {
					refused++
				}
				if gone != nil {
					displaced = append(displaced, nameOf(gone))
				}
			}
			for w := q.pop(anyCaller, nil); w != nil; w = q.pop(anyCaller, nil) {
				served = append(served, nameOf(w))
			}
			if !slices.Equal(served, row.served) || !slices.Equal(displaced, row.displaced) || refused != row.refused {
				t.Errorf("served %q, displaced %q, refused %d; want %q, %q, %d", served, displaced, refused, row.served,
					row.displaced, row.refused)
			}
		})
	}
}

func nameOf(w *waiter) string {
	return fmt.Sprintf("%s %s %s", []string{"known", "unknown", "admin"}[w.Share], w.Source, w.Account)
}

// TestQueueInvariants has callers arrive, cancel and be served in any order. Each of them ends once, the queue
// never exceeds its limit, and a waiter is served within a bounded number of turns, whatever others do.
func TestQueueInvariants(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const sources = 4
		q := newQueue(rapid.IntRange(1, 20).Draw(r, "limit"), testTurns)
		var waiting []*waiter
		end := func(w *waiter) {
			i := slices.Index(waiting, w)
			if i < 0 {
				r.Fatalf("%s ends twice", nameOf(w))
			}
			waiting = slices.Delete(waiting, i, i+1)
		}
		turns := map[*waiter]int{} // since it became the first of its source
		r.Repeat(map[string]func(*rapid.T){
			"arrive": func(r *rapid.T) {
				c := Caller{Share: rapid.IntRange(0, 2).Draw(r, "share"), Source: fmt.Sprint(rapid.IntRange(1, sources).Draw(r, "source")),
					Account: fmt.Sprint(rapid.IntRange(1, 3).Draw(r, "account"))}
				full := q.length() == q.limit
				added, displaced := q.push(c)
				if displaced != nil {
					end(displaced)
				}
				if added != nil {
					waiting = append(waiting, added)
				}
				if full != (added == nil || displaced != nil) {
					r.Fatalf("full: %v, but added: %v, displaced: %v", full, added != nil, displaced != nil)
				}
			},
			"give up": func(r *rapid.T) {
				if len(waiting) == 0 {
					r.Skip("no waiter")
				}
				w := rapid.SampledFrom(waiting).Draw(r, "waiter")
				if !q.remove(w) || q.remove(w) {
					r.Fatal("a waiter was removed twice")
				}
				end(w)
			},
			"serve": func(r *rapid.T) {
				w := q.pop(anyCaller, nil)
				if (w == nil) != (len(waiting) == 0) {
					r.Fatalf("served %v of %d", w, len(waiting))
				}
				if w == nil {
					return
				}
				end(w)
				for _, other := range waiting { // whose source was not served
					if turns[other]++; other.Share == w.Share && other.Source == w.Source {
						turns[other] = 0
					}
					if most := len(testTurns) * sources; turns[other] > most {
						r.Fatalf("%s was passed over %d times", nameOf(other), turns[other])
					}
				}
			},
			"": func(r *rapid.T) {
				if q.length() != len(waiting) || q.length() > q.limit {
					r.Fatalf("%d in the queue, %d wait, the limit is %d", q.length(), len(waiting), q.limit)
				}
			},
		})
	})
}
