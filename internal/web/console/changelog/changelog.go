// Package changelog reads the changes of stored registries, and of their health, for pages.
package changelog

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// Max is how many changes are shown.
const Max = 10

// Change is a change of a stored registry, or of its health.
type Change struct {
	At          time.Time
	Actor, What string
	Name, UID   string // of the registry; Name is empty if it was deleted
}

// Log reads the changes of registries.
type Log struct {
	Directory  *directory.Directory
	Registries *registries.Service
}

// changeWords are the actions of changes, and what they did.
var changeWords = map[audit.Action]string{
	audit.RegistryCreate: "stored",
	audit.RegistryUpdate: "changed",
	audit.RegistryDelete: "deleted",
	audit.RegistryWatch:  "failing",
}

// Recent returns the newest changes that the caller may read in the audit log: of one registry, or with an empty uid of all; with
// these actions, or with all if there is none.
func (l Log) Recent(ctx context.Context, p auth.Principal, uid string, actions ...audit.Action) (changes []Change, err error) {
	records, err := l.Directory.RegistryChanges(ctx, p, uid, actions, Max)
	if err != nil {
		return nil, err
	}
	var uids []string
	for _, record := range records {
		uids = append(uids, record.Object)
	}
	names, err := l.Registries.Names(ctx, p, uids)
	for _, record := range records {
		changes = append(changes, Change{record.At, record.ActorName, whatChanged(record), names[record.Object], record.Object})
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
	case record.Outcome == audit.Unknown:
		return "unknown: the provider of its credentials is down"
	case record.Changed() != nil:
		return what + ": " + forms.Labels(record.Changed())
	case record.Reason != "":
		return what + ": " + record.Reason
	}
	return what
}
