package console

import (
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
)

const (
	maxListed  = 20 // rows of a list of the overview
	maxChanges = 10

	soon = 30 * 24 * time.Hour // as for the alerts of certificates
)

type overviewPage struct {
	Counts   registries.HealthCounts
	Failing  []registries.Summary // the newest failure first
	Expiring shortList[registries.Summary]
	Keys     shortList[auth.APIKey] // that expire soon, the first to expire first
	Changes  []change
	Empty    empty // shown without a registry
}

// Total is the number of registries.
func (p overviewPage) Total() int64 { return p.Counts.Healthy + p.Counts.Failing + p.Counts.Unknown }

// shortList is the beginning of a list.
type shortList[T any] struct {
	Items []T
	More  bool // there are others
}

// shorten returns a short list of up to maxListed + 1 items.
func shorten[T any](items []T) shortList[T] {
	return shortList[T]{items[:min(len(items), maxListed)], len(items) > maxListed}
}

// change is a change of a stored registry, or of its health.
type change struct {
	At          time.Time
	Actor, What string
	Name, UID   string // of the registry; Name is empty if it was deleted
}

// overview is GET /console/. It reads only what it shows.
func (s *Console) overview(c *call) (err error) {
	page := overviewPage{Empty: noRegistries(c.principal)}
	if err := s.readHealth(c, &page); err != nil {
		return err
	}
	keys, err := s.Auth.APIKeys.Expiring(c.Context(), c.principal, soon, maxListed+1)
	if err != nil {
		return err
	}
	page.Keys = shorten(keys)
	if page.Changes, err = s.recentChanges(c, ""); err != nil {
		return err
	}
	return c.show("overview.html", "Overview", page)
}

// readHealth counts the registries of the organization, and lists those that need attention.
func (s *Console) readHealth(c *call, page *overviewPage) (err error) {
	if page.Counts, err = s.Registries.CountHealth(c.Context(), c.principal, ""); err != nil {
		return err
	}
	failing, err := s.Registries.Search(c.Context(), c.principal, "", registries.Query{Health: registries.Failing, Sort: registries.SortBySince, Request: paging.Request{Limit: maxListed, Uncounted: true}})
	if err != nil {
		return err
	}
	expiring, err := s.Registries.Expiring(c.Context(), c.principal, maxListed+1)
	page.Failing, page.Expiring = failing.Items, shorten(expiring)
	return err
}

// changeWords are the actions of changes, and what they did.
var changeWords = map[audit.Action]string{
	audit.RegistryCreate: "stored",
	audit.RegistryUpdate: "changed",
	audit.RegistryDelete: "deleted",
	audit.RegistryWatch:  "failing",
}

// recentChanges returns the newest changes that the caller may read in the audit log: of one registry, or with an empty uid of all; with
// these actions, or with all if there is none.
func (s *Console) recentChanges(c *call, uid string, actions ...audit.Action) (changes []change, err error) {
	records, err := s.Directory.RegistryChanges(c.Context(), c.principal, uid, actions, maxChanges)
	if err != nil {
		return nil, err
	}
	var uids []string
	for _, record := range records {
		uids = append(uids, record.Object)
	}
	names, err := s.Registries.Names(c.Context(), c.principal, uids)
	for _, record := range records {
		changes = append(changes, change{record.At, record.ActorName, whatChanged(record), names[record.Object], record.Object})
	}
	return changes, err
}

// whatChanged describes a record. Those of scheduled checks have the new status as their outcome.
func whatChanged(record audit.Record) string {
	what := changeWords[record.Action]
	switch {
	case record.Reason == string(alerts.CertificateExpiresSoon):
		return "certificate expires soon"
	case record.Reason == string(alerts.CredentialsExpireSoon):
		return "credentials expire soon"
	case record.Outcome == audit.Valid:
		return "healthy again"
	case record.Reason != "":
		return what + ": " + record.Reason
	}
	return what
}
