// Package storetest is what every database behind internal/store has to do. It asks a real store, and
// knows nothing of the database below it.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
)

// Run runs the suite. open returns an empty store, which it closes when the test ends.
func Run(t *testing.T, open func(*testing.T) *store.DB) {
	for _, part := range []struct {
		name string
		test func(*testing.T, *store.DB)
	}{
		{"transactions keep all or nothing", transactions},
		{"a failed transaction leaves its neighbours alone", neighbours},
		{"a caller that goes away", departures},
		{"organizations", orgs},
		{"projects and members", projects},
		{"projects are replaced, and deleted when empty", projectChanges},
		{"users", users},
		{"users are changed, and deleted with what belongs to them", userChanges},
		{"sign-ins are noted on the verified password", noteLogin},
		{"sessions", sessions},
		{"a generation is spent once", contention},
		{"a disabled user's session does not move on", disabledAdvance},
		{"an end beats or follows every advance", endContention},
		{"authorization tokens are spent once", spentJTIs},
		{"old rows are deleted in steps", deletions},
		{"sessions of a user end together", endings},
		{"changes are numbered without a gap", changes},
		{"failures are counted and tries taken once", throttles},
		{"failures of pair, account and source are counted apart", throttlesApart},
		{"allowances are used up together", allowances},
		{"slots are reserved at the pace that is allowed", slots},
		{"contacts are reserved ahead up to a bound", contacts},
		{"API keys", apiKeys},
		{"service keys are sealed and one of each is in use", serviceKeys},
		{"registries", registries},
		{"names of registries are unique in an organization", registryNames},
		{"a version of a registry is replaced once", replacements},
		{"what an organization stores is counted", usage},
		{"lists are read in pages", pages},
		{"audit", audits},
		{"refusals share a record", refusals},
		{"audit records are listed by filter and in pages", auditLists},
		{"the watch has each registry taken once", watchClaims},
		{"verdicts are kept by runs, and heard of the newest version alone", watchEnds},
		{"histories are bounded, and an outage is not made up for at once", watchBounds},
		{"a check that is asked for is answered by a later one", checkRequests},
		{"an alert ends the wait of a wrong clock", wrongClock},
		{"alert channels", channels},
		{"alerts are owed and delivered", outbox},
		{"a channel that was switched off and on owes what it owed", switchedOff},
		{"alerts are delivered once by many", outboxContention},
		{"addresses are asked once and confirm by a token", alertAddresses},
		{"a channel is woken", wokenChannels},
		{"expiring API keys are told of once", keyAlerts},
		{"synchronizations are taken once, resumed and shown when finished", syncRuns},
		{"a synchronization ends with its definition", syncFences},
		{"synchronizations are taken in turn", syncQueue},
		{"synchronizations of organizations take turns", syncTurns},
		{"content that is dropped is deleted in steps", syncSweeps},
		{"names of content have a length", syncLengths},
		{"content is listed by prefix and in pages", syncContents},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}

// start is the moment at which everything in the suite begins; milliseconds are what a store keeps.
var start = time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)

func mustWrite(t *testing.T, db *store.DB, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, db *store.DB, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := db.View(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// wantError runs fn in a transaction of its own and demands that error.
func wantError(t *testing.T, db *store.DB, want error, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func mustOrg(t *testing.T, db *store.DB, name string) store.Org {
	t.Helper()
	org := store.Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Insert(ctx, org) })
	return org
}

func mustUser(t *testing.T, db *store.DB, org store.Org, email string) store.User {
	t.Helper()
	user := store.User{UID: uuid.NewString(), OrgUID: org.UID, Email: email, Canonical: email, Role: "member", PasswordHash: "hash",
		PasswordChangedAt: start, CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Insert(ctx, user) })
	return user
}

func mustSession(t *testing.T, db *store.DB, user store.User) store.Session {
	t.Helper()
	session := store.Session{UID: uuid.NewString(), OrgUID: user.OrgUID, UserUID: user.UID, Generation: 1, Address: "192.0.2.1",
		CreatedAt: start, IdleUntil: start.Add(time.Hour), MaxUntil: start.Add(24 * time.Hour)}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Sessions.Insert(ctx, session) })
	return session
}
