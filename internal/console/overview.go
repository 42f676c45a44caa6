package console

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/paging"
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
	names    map[string]string // of the registries, by uid
	Empty    empty             // shown without a registry
}

// change is a change of a stored registry, or of its health.
type change struct {
	At          time.Time
	Actor, What string
	Name, UID   string // of the registry; Name is empty if it was deleted
}

// overview is GET /console/.
func (s *Console) overview(c *call) (err error) {
	page := overviewPage{Counts: map[string]int{}, names: map[string]string{}, Empty: noRegistries(c.principal)}
	if err := s.readHealth(c, &page); err != nil {
		return err
	}
	if page.Keys, err = s.expiringKeys(c); err != nil {
		return err
	}
	if page.Changes, err = s.recentChanges(c, "", page.names, slices.Collect(maps.Keys(changeWords))...); err != nil {
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
			page.names[r.UID] = r.Name
			if state == "failing" {
				page.Failing = append(page.Failing, r)
			}
			if r.Health.State.CertificateExpiresSoon {
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

// changeWords are the actions of the overview, and what they did.
var changeWords = map[audit.Action]string{
	audit.RegistryCreate: "stored",
	audit.RegistryUpdate: "changed",
	audit.RegistryDelete: "deleted",
	audit.RegistryWatch:  "failing",
}

// recentChanges returns the newest changes of these kinds that the caller may read in the audit log: of one registry, or with an empty
// uid of all.
func (s *Console) recentChanges(c *call, uid string, names map[string]string, actions ...audit.Action) (changes []change, err error) {
	for _, action := range actions {
		query := directory.AuditQuery{Action: action, Object: uid, Outcome: audit.Succeeded, Request: paging.Request{Limit: maxChanges, Uncounted: true}}
		if action == audit.RegistryWatch {
			query.Outcome = ""
		}
		page, err := s.Directory.Audits(c.Context(), c.principal, query)
		if err != nil {
			return nil, err
		}
		for _, record := range page.Items {
			changes = append(changes, change{record.At, record.ActorName, whatChanged(record, changeWords[action]), names[record.Object], record.Object})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.UID, b.UID), cmp.Compare(a.What, b.What))
	})
	return changes[:min(len(changes), maxChanges)], nil
}

// whatChanged describes a record. Those of scheduled checks have the new status as their outcome.
func whatChanged(record audit.Record, what string) string {
	switch {
	case record.Reason == string(alerts.CertificateExpiresSoon):
		return "certificate expires soon"
	case record.Outcome == audit.Valid:
		return "healthy again"
	case record.Reason != "":
		return what + ": " + record.Reason
	}
	return what
}

// first returns the rows of a list that the overview shows.
func first[T any](list []T) []T { return list[:min(len(list), maxListed)] }

// FirstFailing, FirstExpiring and FirstKeys are what the page shows of its lists.
func (p overviewPage) FirstFailing() []registries.Summary  { return first(p.Failing) }
func (p overviewPage) FirstExpiring() []registries.Summary { return first(p.Expiring) }
func (p overviewPage) FirstKeys() []auth.APIKey            { return first(p.Keys) }
