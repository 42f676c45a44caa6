package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// TestHotQueriesUseAnIndex fails when a query that runs on requests, or in the cleanup of large tables,
// goes through a whole table or sorts.
func TestHotQueriesUseAnIndex(t *testing.T) {
	db, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	audits := queryTexts(t, "../audits")
	// Bounded rows of the query itself.
	derived := []string{"SCAN counted", "SCAN waiting", "SCAN CONSTANT ROW", "SCAN oldest", "SCAN newest"}
	queries := map[string]string{
		"OrgByName": sqlOrgByName, "OrgByUID": sqlOrgByUID, "BeginOrgDelete": sqlBeginOrgDelete, "RegistriesIn": sqlRegistriesIn,
		"MembersIn": sqlMembersIn, "DropRunsIn": sqlDropRunsIn,
		"ForgetAccount": sqlForgetAccount, "DeleteAlertsIn": sqlDeleteAlertsIn, "DeleteAddresses": sqlDeleteAddresses,
		"DeleteRegistries": sqlDeleteRegistries,
		"DeleteProjects":   sqlDeleteProjects, "DeleteUsers": sqlDeleteUsers, "DeleteAllowancesOfOrg": sqlDeleteAllowancesOfOrg,
		"UserByEmail": sqlUserByEmail, "User": sqlUser, "Users": sqlUsers,
		"NoteLogin": sqlNoteLogin, "LockUser": sqlLockUser, "LockOrg": sqlLockOrg, "Projects": sqlProjects, "Project": sqlProject,
		"ProjectForUser": sqlProjectForUser, "ProjectsForUser": sqlProjectsForUser,
		"UpdateProject": sqlUpdateProject, "LockProject": sqlLockProject, "DeleteProject": sqlDeleteProject, "Members": sqlMembers,
		"RegistriesOfProject": sqlRegistriesOfProject, "RegistryUIDsOfProject": sqlRegistryUIDsOfProject,
		"DeleteChannelsOf": sqlDeleteChannelsOf, "DeleteMembersOf": sqlDeleteMembersOf, "SetRegistryProject": sqlSetRegistryProject,
		"Session": sqlSession, "SessionByReference": sqlSessionByReference, "ReplaceReference": sqlReplaceReference,
		"AdvanceSession": sqlAdvanceSession, "UseSession": sqlUseSession, "EndSession": sqlEndSession,
		"EndUserSessions": sqlEndUserSessions,
		"LastSessionEnd":  sqlLastSessionEnd,
		"Throttle":        sqlThrottle, "Throttles": sqlThrottles, "DelayAttempts": sqlDelayAttempts, "ReserveAttempt": sqlReserveAttempt,
		"ForgetFailures": sqlForgetFailures, "ForgivePairs": sqlForgivePairs, "ForgiveShared": sqlForgiveShared,
		"DeleteThrottles": sqlDeleteThrottles, "APIKey": sqlAPIKey, "APIKeyByUID": sqlAPIKeyByUID, "UpdateAPIKey": sqlUpdateAPIKey,
		"SetPassword": sqlSetPassword, "ChangePassword": sqlChangePassword, "DisableUser": sqlDisableUser,
		"ConsumedJTI": sqlConsumedJTI, "DeleteConsumedJTIs": sqlDeleteConsumedJTIs, "DeleteSessions": sqlDeleteSessions,
		"Allowance": sqlAllowance, "DeleteAllowances": sqlDeleteAllowances,
		"APIKeyByHash": sqlAPIKeyByHash, "APIKeysOfUser": sqlAPIKeysOfUser, "APIKeysOfOrg": sqlAPIKeysOfOrg,
		"NoteAPIKeyUse":   sqlNoteAPIKeyUse,
		"AdvanceCounting": sqliteAdvanceCounting, "CountRefresh": sqlCountRefresh,
		"BeginRefreshes": sqlBeginRefreshes, "AddRepeatsOfUser": sqlAddRepeatsOfUser,

		"Registry": sqlRegistry, "RegistryByName": sqlRegistryByName, "RegistriesOfOrg": sqlRegistriesOfOrg,
		"SearchByName": sqlSearchByName, "CountSearchByName": sqlCountSearchByName, "CountSearchByHealth": sqlCountSearchByHealth,
		"LastNamesFirst": sqlLastNamesFirst, "SearchLastFirst": sqlSearchLastFirst,
		"CountHealth":     sqlCountHealth,
		"ReplaceRegistry": sqlReplaceRegistry, "ReplaceRegistryDetails": sqlReplaceRegistryDetails,
		"Usage": sqlUsage, "SameRegistry": sqlSameRegistry, "SameRegistrySecrets": sqlSameRegistrySecrets,
		"WithoutIdentity": sqlWithoutIdentity, "SetIdentity": sqlSetIdentity, "NameInUse": sqlNameInUse,
		"RegistryBytes": sqlRegistryBytes, "LockUsage": sqlLockUsage, "RecountUsage": sqlRecountUsage,
		"DeleteRegistry": sqlDeleteRegistry, "LockRegistry": sqlLockRegistry, "LockSize": sqlLockSize, "Version": sqliteVersion,
		"SetUserRole": sqlSetUserRole, "UpdateUser": sqlUpdateUser, "DeleteUser": sqlDeleteUser, "OtherAdmin": sqlOtherAdmin,
		"DeleteMemberships": sqlDeleteMemberships,
		"WatchDue":          sqlWatchDue, "WatchOrgs": sqlWatchOrgs, "ClaimWatch": sqliteClaimWatch, "EndWatch": sqlEndWatch,
		"HastenWatch": sqlHastenWatch, "ClearExpiry": sqlClearExpiry,
		"ReleaseWatch": sqlReleaseWatch, "ExtendRun": sqliteExtendRun, "DeleteRuns": sqlDeleteRuns, "WatchOf": sqlWatchOf,
		"History": sqlHistory, "Timeline": sqlTimeline,
		"CountWatchAhead": sqlCountWatchAhead,
		"SpreadWatch":     sqliteSpreadWatch, "CountWatch": sqlCountWatch, "AlertAddresses": sqlAlertAddresses,
		"AlertAddressByToken": sqlAlertAddressByToken, "DeleteUnconfirmed": sqlDeleteUnconfirmed,
		"ConfirmAddress": sqlConfirmAddress, "DeleteUnconfirmedBefore": sqlDeleteUnconfirmedBefore, "ServeChannel": sqlServeChannel,
		"Channels": sqlChannels, "OrgChannels": sqlOrgChannels, "Webhooks": sqlWebhooks, "Channel": sqlChannel,
		"ActiveChannels": sqlActiveChannels,
		"WakeChannel":    sqlWakeChannel, "NextDelivery": sqlNextDelivery, "EndDelivery": sqlEndDelivery,
		"HurryDeliveries": sqlHurryDeliveries, "DelayLater": sqlDelayLater,
		"DeliveryLeft": sqlDeliveryLeft, "DeleteAlerts": sqlDeleteAlerts, "ChannelsDue": sqlChannelsDue, "ChannelOrgs": sqlChannelOrgs,
		"ClaimChannels": sqliteClaimChannels, "NoteAttempt": sqlNoteAttempt, "ExpiringKeys": sqlExpiringKeys,
		"ExpiringKeysOfOrg": sqlExpiringKeysOfOrg, "RegistryName": sqlRegistryName,
		"AlertedEmails": sqlAlertedEmails,
		"RegistrySync":  sqlRegistrySync, "SyncDue": sqlSyncDue, "SyncOrgs": sqlSyncOrgs,
		"KeepSync": sqlKeepSync, "AdvanceSync": sqlAdvanceSync, "FinishSync": sqlFinishSync, "OwnRun": sqlOwnRun,
		"CountEntries": sqlCountEntries,
		"OtherEntries": sqlOtherEntries, "DropRuns": sqlDropRuns, "DroppedRun": sqlDroppedRun, "AnyDropped": sqlAnyDropped,
		"SweepBound": sqlSweepBound, "SweepPart": sqlSweepPart, "SweepRest": sqlSweepRest, "ForgetRun": sqlForgetRun,
		"Contents": sqlContents, "CountContents": sqlCountContents,
	}
	for _, name := range []string{"DeleteAudits", "NoteUnlinkedShared", "RepeatAudit", "ReadyAudit", "ReadyAudits", "Unlinked",
		"DeleteUnlinked",
		"AuditsInOrder", "Batches", "NewestBatchOf", "DeleteBatches", "AuditChain", "CompleteAudit", "Audit", "Audits", "AuditsOfOrg",
		"AuditsOfActor", "CountOfOrg", "CountOfActor", "RegistryChanges"} {
		queries[name] = audits["sql"+name]
	}
	for name, query := range queries {
		for _, step := range planOf(t, db, query) {
			if strings.HasPrefix(step, "SCAN ") && !slices.Contains(derived, step) || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
	// These go to one row of a large table, which is stored in the order of its uids: one tree and not two.
	for name, query := range map[string]string{"Session": sqlSession, "AdvanceSession": sqlAdvanceSession,
		"AdvanceCounting": sqliteAdvanceCounting, "NoteLogin": sqlNoteLogin,
		"Audit": audits["sqlAudit"], "CompleteAudit": audits["sqlCompleteAudit"]} {
		if plan := planOf(t, db, query); !strings.HasSuffix(plan[0], "USING PRIMARY KEY (uid=?)") {
			t.Errorf("%s: not by the table's own order: %s", name, plan[0])
		}
	}
	// A registry's content is many rows: an index on the registry alone would not be better than a scan.
	for name, query := range map[string]string{"Contents": sqlContents, "CountContents": sqlCountContents} {
		if plan := strings.Join(planOf(t, db, query), "\n"); !strings.Contains(plan, "(repository,tag)>") ||
			!strings.Contains(plan, "repository<") {
			t.Errorf("%s: not by a range of names: %s", name, plan)
		}
	}
	for name, query := range map[string]string{"SearchByHealth": sqlSearchByHealth, "HealthLastFirst": sqlHealthLastFirst,
		"CountSearchByHealth": sqlCountSearchByHealth} {
		plan := strings.Join(planOf(t, db, query), "\n")
		if !strings.Contains(plan, "SEARCH w USING INDEX registry_watch_health (org_uid=? AND valid>? AND valid<?)\nSEARCH r USING INDEX") {
			t.Errorf("%s: not by health first: %s", name, plan)
		}
	}
	if plan := strings.Join(planOf(t, db, sqlHealthByName), "\n"); !strings.Contains(plan, "SEARCH r ") ||
		!strings.Contains(plan, "(org_uid=? AND canonical=?)") {
		t.Errorf("HealthByName: not by the name: %s", plan)
	}
	if plan := planOf(t, db, sqlCountHealth); !strings.Contains(plan[0], "COVERING INDEX registry_watch_health") {
		t.Errorf("CountHealth: not from the index alone: %s", plan)
	}
	for _, index := range []string{"registry_watch_certificate", "registry_watch_credentials"} {
		if plan := strings.Join(planOf(t, db, sqlCountHealth), "\n"); !strings.Contains(plan, "COVERING INDEX "+index+" (") {
			t.Errorf("CountHealth: the first expiry is not from %s: %s", index, plan)
		}
	}
	for index, query := range map[string]string{"registry_watch_expiry": sqlExpiringRegistries, "api_keys_org_expiry": sqlExpiringKeysOfOrg,
		"audits_registry_changes": audits["sqlRegistryChanges"]} {
		if plan := strings.Join(planOf(t, db, query), "\n"); !strings.Contains(plan, "USING INDEX "+index+" (") {
			t.Errorf("not by %s: %s", index, plan)
		}
	}
	details := queryTexts(t, "../listdetails")
	for _, name := range []string{"Details", "Changes"} { // few rows, which are sorted
		query := strings.Replace(details["postgres"+name],
			"jsonb_array_elements_text(CAST($2 AS JSONB)) AS c (value)", "json_each($2) c", 1)
		plan := strings.Join(planOf(t, db, query), "\n")
		if strings.Contains(plan, "SCAN r") || strings.Contains(plan, "SCAN v") || strings.Contains(plan, "SCAN d") {
			t.Errorf("%s: not by the chosen registries: %s", name, plan)
		}
	}
	if plan := strings.Join(planOf(t, db, sqlSweepPart), "\n"); !strings.Contains(plan, "(repository,tag)<") {
		t.Errorf("SweepPart: not by a range of names: %s", plan)
	}
	// It sorts, but at most twice as many rows as are claimed.
	if plan := strings.Join(planOf(t, db, sqliteClaimSyncs), "\n"); strings.Count(plan,
		"USING INDEX registry_sync_turns (org_uid=? AND asked=? AND next_at<?)") != 2 ||
		strings.Contains(plan, "SCAN registry_sync") {
		t.Errorf("ClaimSyncs: not by two ranges of the index: %s", plan)
	}
	if whole := planOf(t, db, sqlOrgs); !strings.HasPrefix(whole[0], "SCAN ") {
		t.Errorf("this test would not notice a scan: %v", whole)
	}
}

func planOf(t *testing.T, db *DB, query string) (steps []string) {
	t.Helper()
	args := make([]any, placeholders(query))
	err := db.View(t.Context(), func(tx *Tx) error {
		return tx.db.Each(t.Context(), func(row rows.Scanner) error {
			var id, parent, unused int
			var detail string
			err := row.Scan(&id, &parent, &unused, &detail)
			steps = append(steps, detail)
			return err
		}, "EXPLAIN QUERY PLAN "+query, args...)
	})
	if err != nil || len(steps) == 0 {
		t.Fatalf("no plan for %s: %v", query, err)
	}
	return steps
}

// maxPlaceholders is more than any query has.
const maxPlaceholders = 40

// placeholders counts those of a query, which has each number up to the last at least once.
func placeholders(query string) int {
	for n := maxPlaceholders; n > 0; n-- {
		if strings.Contains(query, fmt.Sprintf("$%d", n)) {
			return n
		}
	}
	return 0
}
