// Package storetest tests internal/storage/store on every database. It uses a real store, and
// does not depend on the database below it.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Run runs the suite. open returns an empty store, which it closes when the test ends.
func Run(t *testing.T, open func(*testing.T) *store.DB) {
	for _, part := range []struct {
		name string
		test func(*testing.T, *store.DB)
	}{
		{"transactions store all or nothing", transactions},
		{"a failed transaction does not affect those of the same commit", groupCommit},
		{"a caller whose context ends", canceledCallers},
		{"organizations", orgs},
		{"projects and members", projects},
		{"projects are replaced, and deleted when empty", projectChanges},
		{"users", users},
		{"users are changed, and deleted with what belongs to them", userChanges},
		{"a login is stored if the verified password is still the password", noteLogin},
		{"sessions", sessions},
		{"references to sessions", references},
		{"a generation is consumed once", contention},
		{"the session of a disabled user does not advance", disabledAdvance},
		{"no session advances after its end", endContention},
		{"authorization tokens are consumed once", consumedJTIs},
		{"old rows are deleted in steps", deletions},
		{"sessions of a user end together", userSessionEnds},
		{"changes are numbered without a gap", changes},
		{"failures are counted and attempts reserved once", throttles},
		{"failures of pair, account and source are counted separately", throttleCounts},
		{"the newest time does not go back unless it is set", times},
		{"allowances are used up together", allowances},
		{"slots are reserved at the allowed rate", slots},
		{"contacts are reserved ahead up to a bound", contacts},
		{"API keys", apiKeys},
		{"trust rules are stored and deleted with their users", trustRules},
		{"mutes of alerts", alertMutes},
		{"incidents of alerts", alertIncidents},
		{"details of listed registries", listDetails},
		{"settings of organizations", orgSettings},
		{"roles of organizations", customRoles},
		{"provisioned users", provisionedUsers},
		{"idle sessions of organizations", idleOfOrgs},
		{"provisioned teams", provisionedTeams},
		{"invitations", invited},
		{"tokens of other issuers are used once", usedTokens},
		{"members of teams have the roles of these", teamRoles},
		{"teams of a user are in the order in which it was added", teamsInOrder},
		{"an organization has one identity provider", providers},
		{"users are known at their provider, which is asked once for all sessions", userIdentities},
		{"a login of a device is confirmed once", deviceLogins},
		{"a login asks for a second factor that is confirmed", secondFactor},
		{"a code is accepted once", codesOnce},
		{"logins wait for a code", pendingLogins},
		{"an organization requires a second factor", secondFactorOfOrg},
		{"texts that a browser holds are read for their purpose", browserTexts},
		{"service keys are encrypted and one of each purpose is in use", serviceKeys},
		{"registries", registries},
		{"names of registries are unique in an organization", registryNames},
		{"a version of a registry is replaced once", replacements},
		{"registries of a cluster", origins},
		{"changes of health are announced once, and failures again", announcements},
		{"one server reads a cluster", clusterLeases},
		{"what an organization stores is counted", usage},
		{"lists are read in pages", pages},
		{"audit", auditRecords},
		{"refusals share a record", refusals},
		{"audit records are listed by filter and in pages", auditLists},
		{"each due registry is claimed once", watchClaims},
		{"a backlog hides no other organization", backlogHidesNoOrg},
		{"registries are found by name in all organizations", healthByName},
		{"equal results are one run, and only results of the newest version are stored", watchEnds},
		{"health is the same in lists, and its texts are bounded", registryHealth},
		{"registries are searched by name and health", searches},
		{"histories are bounded, and checks missed in an outage are spread", watchBounds},
		{"a requested check is completed by a later one", checkRequests},
		{"an alert ends the wait of a wrong clock", wrongClock},
		{"a recovery arrives after its failure", orderOfIncident},
		{"alert channels", channels},
		{"alerts are pending and delivered", outbox},
		{"pending deliveries survive a deactivation of their channel", switchedOff},
		{"alerts are delivered once by many", outboxContention},
		{"addresses get one request and confirm by a token", alertAddresses},
		{"a channel is made due", dueChannels},
		{"an expiring API key is reported once", keyAlerts},
		{"reminders of expiring API keys", keyReminders},
		{"synchronizations are claimed once, resumed and shown when finished", syncRuns},
		{"a synchronization ends with its definition", syncEnds},
		{"synchronizations are claimed in order", syncQueue},
		{"synchronizations are listed by organization", syncTurns},
		{"replaced content is deleted in steps", syncSweeps},
		{"names of content have a maximum length", syncLengths},
		{"content is listed by prefix and in pages", syncContents},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
}

// start is the time at which the suite begins. A store has milliseconds.
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

// wantError runs fn in its own transaction and requires that error.
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
