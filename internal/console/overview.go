package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/registries"
)

const (
	maxListed  = 20 // rows of a list of the overview
	maxChanges = 10

	soon = 30 * 24 * time.Hour // as for the alerts of certificates
)

type overviewPage struct {
	Counts   map[string]int // by state of health
	Total    int
	Failing  []registries.Summary // the newest failure first
	Expiring []registries.Summary // registries whose certificate expires soon
	Keys     []auth.APIKey        // that expire soon, the first to expire first
	Changes  []change
	Empty    empty // shown without a registry
}

// change is a record of the audit log.
type change struct {
	At             time.Time
	Actor, Action  string
	Object, Reason string
}

// overview is GET /console/.
func (s *Console) overview(c *call) (err error) {
	page := overviewPage{Counts: map[string]int{},
		Empty: empty{Text: "Your organization has no registries yet. Registries that you store are checked on a schedule."}}
	if err := s.readHealth(c, &page); err != nil {
		return err
	}
	if page.Keys, err = s.expiringKeys(c); err != nil {
		return err
	}
	if page.Changes, err = s.recentChanges(c); err != nil {
		return err
	}
	return c.show("overview.html", "Overview", page)
}

// readHealth counts the registries of the organization, and lists those that need attention.
func (s *Console) readHealth(c *call, page *overviewPage) error {
	var last registries.Summary
	var buffer []registries.Summary
	for more := true; more; {
		list, next, err := s.Registries.List(c.Context(), c.principal, "", last, buffer)
		if err != nil {
			return err
		}
		for _, r := range list {
			state := r.Health.Word()
			page.Counts[string(state)]++
			if state == "failing" {
				page.Failing = append(page.Failing, r)
			}
			if r.Health.State.ExpiresSoon {
				page.Expiring = append(page.Expiring, r)
			}
			last = r
		}
		page.Total += len(list)
		buffer, more = list, next
	}
	slices.SortStableFunc(page.Failing, func(a, b registries.Summary) int { return b.Health.Since.Compare(a.Health.Since) })
	return nil
}

// expiringKeys returns the active API keys that the caller may see and that expire soon. Keys that were created for a short
// time are left out.
func (s *Console) expiringKeys(c *call) (expiring []auth.APIKey, err error) {
	var last auth.APIKey
	for more := true; more; {
		var keys []auth.APIKey
		if keys, more, err = s.Auth.ListAPIKeys(c.Context(), c.principal, "", last); err != nil {
			return nil, err
		}
		for _, key := range keys {
			left := key.ExpiresAt.Sub(s.Now())
			if key.Active && left > 0 && left < soon && key.ExpiresAt.Sub(key.CreatedAt) > soon {
				expiring = append(expiring, key)
			}
			last = key
		}
	}
	slices.SortStableFunc(expiring, func(a, b auth.APIKey) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Name, b.Name))
	})
	return expiring, nil
}

// recentChanges returns the newest records about registries that the caller may read.
func (s *Console) recentChanges(c *call) ([]change, error) {
	page, err := s.Directory.Audits(c.Context(), c.principal, directory.AuditQuery{Kind: "registry", Limit: maxChanges, Uncounted: true})
	if err != nil {
		return nil, err
	}
	changes := make([]change, len(page.Records))
	for i, record := range page.Records {
		changes[i] = change{record.At, record.ActorName, string(record.Action) + " " + string(record.Outcome), record.Object, record.Reason}
	}
	return changes, nil
}

// first returns the rows of a list that the overview shows.
func first[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// FirstFailing, FirstExpiring and FirstKeys are what the page shows of its lists.
func (p overviewPage) FirstFailing() []registries.Summary  { return first(p.Failing) }
func (p overviewPage) FirstExpiring() []registries.Summary { return first(p.Expiring) }
func (p overviewPage) FirstKeys() []auth.APIKey            { return first(p.Keys) }
