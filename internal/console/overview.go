package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/watch"
)

// Rows of the lists of the overview.
const (
	maxFailing = 20
	maxChanges = 10
)

type overviewPage struct {
	Total, Healthy, Unknown int
	Failing                 []watch.RegistrySummary // the newest failure first
	Changes                 []change
	Empty                   empty // shown without a registry
}

// Listed returns the failing registries that the page lists.
func (p overviewPage) Listed() []watch.RegistrySummary {
	return p.Failing[:min(len(p.Failing), maxFailing)]
}

// change is a record of the audit log.
type change struct {
	At             time.Time
	Actor, Action  string
	Object, Reason string
}

// overview is GET /console/.
func (s *Console) overview(c *call) error {
	registries, err := s.Watch.Summaries(c.Context(), c.principal, "")
	if err != nil {
		return err
	}
	page := overviewPage{Total: len(registries), Empty: empty{Text: "Your organization has no registries yet. Registries that you store are checked on a schedule."}}
	for _, r := range registries {
		switch {
		case r.Since.IsZero():
			page.Unknown++
		case r.Valid:
			page.Healthy++
		default:
			page.Failing = append(page.Failing, r)
		}
	}
	slices.SortStableFunc(page.Failing, func(a, b watch.RegistrySummary) int { return cmp.Compare(b.Since.UnixMilli(), a.Since.UnixMilli()) })
	if page.Changes, err = s.recentChanges(c); err != nil {
		return err
	}
	return c.show("overview.html", "Overview", page)
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
