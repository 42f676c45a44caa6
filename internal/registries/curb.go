package registries

import (
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

// Bounds of what is told of one registry: whoever makes one come and go, in its definition or on its server, must not
// fill the mailboxes of an organization.
const (
	toldMost   = 20
	toldWithin = 24 * time.Hour // from the first of them on
)

// notice is what is told of a check.
type notice struct {
	kind    alerts.Kind // "": nothing
	until   time.Time   // not zero: nothing more is told until then
	untold  int64       // changes before this one that were not told of
	changed bool        // the state changed, whether that is told or not
}

// curb lets an alert through as long as there were few of late, and counts the others. When their time has passed, the
// next check that counts tells how it ended, so that nobody goes by what was told last. It changes after, which is what
// is known of the registry from now on.
func curb(after *store.Watched, wanted alerts.Kind, counted bool, now time.Time) notice {
	n := notice{kind: wanted, changed: wanted != ""}
	past := !now.Before(after.ToldSince.Add(toldWithin)) || after.ToldSince.After(now) // or a clock was wrong
	if past {
		after.Told = 0
		if after.Untold > 0 && counted && wanted == "" {
			n.kind = stateKind(after.State)
		}
	}
	switch {
	case n.kind == "":
		return n
	case after.Told >= toldMost:
		after.Untold++
		n.kind = ""
		return n
	case after.Told == 0:
		after.ToldSince, n.untold, after.Untold = now, after.Untold, 0
	}
	if after.Told++; after.Told == toldMost {
		n.until = after.ToldSince.Add(toldWithin)
	}
	return n
}

func stateKind(v store.Verdict) alerts.Kind {
	if v.Valid {
		return alerts.RegistryValid
	}
	return alerts.RegistryNotValid
}
