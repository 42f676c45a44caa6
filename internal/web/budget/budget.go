// Package budget bounds the memory that clients use, with shares of organizations, users and client addresses.
package budget

import "sync"

// shares counts bytes by holder. It is safe for concurrent use.
type shares struct {
	mu   sync.Mutex
	held map[string]int64
}

// share is how many bytes a holder may have. A single request may have more.
type share struct {
	holder string
	limit  int64
	leaves *share // of the organization, of which the holder leaves as much as it has to others; may be nil
}

func newShares() *shares { return &shares{held: map[string]int64{}} }

// replace gives back n bytes of the holders in from, and takes m bytes for those in to. It reports whether that is within their limits;
// if not, it changes nothing.
func (s *shares) replace(n int64, from []share, m int64, to []share) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(-n, from)
	for _, of := range to {
		limit := of.limit
		if of.leaves != nil {
			limit = min(limit, of.leaves.limit-s.held[of.leaves.holder]-m)
		}
		if held := s.held[of.holder]; held > 0 && held+m > limit {
			s.add(n, from)
			return false
		}
	}
	s.add(m, to)
	return true
}

// add must be called with mu held.
func (s *shares) add(n int64, to []share) {
	for _, of := range to {
		if s.held[of.holder] += n; s.held[of.holder] == 0 {
			delete(s.held, of.holder)
		}
	}
}
