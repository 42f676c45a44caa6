package checks

import (
	"sync"

	"github.com/regwarden/regwarden/internal/service/auth"
)

// Callers that may wait for the report of a requested check at the same time. They hold a connection and no slot of a check.
const (
	maxReportWaits     = 64
	maxOrgReportWaits  = 16
	maxUserReportWaits = 8
)

// reportWaits counts the callers that wait for reports: in all, per organization and per user.
type reportWaits struct {
	mu    sync.Mutex
	count map[string]int
}

// ReserveWait reserves a slot for a caller that waits for the report of a requested check. It reports whether one was free: a user
// cannot take those of its organization, nor an organization those of others.
func (s *Service) ReserveWait(p auth.Principal) (release func(), reserved bool) {
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := map[string]int{"all": maxReportWaits, "org " + p.OrgUID: maxOrgReportWaits, "user " + p.UserUID: maxUserReportWaits}
	for key, limit := range limits {
		if w.count[key] >= limit {
			return func() {}, false
		}
	}
	for key := range limits {
		w.count[key]++
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for key := range limits {
			if w.count[key]--; w.count[key] == 0 {
				delete(w.count, key)
			}
		}
	}, true
}
