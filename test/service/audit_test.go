package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// Each authentication and validation leaves one record, good or bad, and no secret in it.
func TestAuditRecords(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	registry := secured(t)
	client := server.Client(t)
	tokens := client.Login()
	client.Do(http.MethodPost, "/v1/auth",
		instance.Credentials(instance.Email, instance.Org, "a wrong passphrase")).Want(http.StatusUnauthorized)
	client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	stolen := client.Login().RefreshToken
	next := client.Do(http.MethodGet, refresh+stolen, "").Want(http.StatusOK).Tokens().RefreshToken
	client.Do(http.MethodGet, refresh+next, "").Want(http.StatusOK)
	client.Do(http.MethodGet, refresh+stolen, "").Want(http.StatusUnauthorized)
	good := basic(registry.Endpoint, ada, adaPassword, trusting(registry.CA))
	wrong := basic(registry.Endpoint, ada, "wrong horse", trusting(registry.CA))
	want := map[string]string{} // AuditUid to action, outcome
	for _, request := range []struct {
		path, project, body, record string
		status                      int
	}{
		{validate, "", good, "registry.validate valid", http.StatusNoContent},
		{validate, "", wrong, "registry.validate notValid", http.StatusUnprocessableEntity},
		{validate, "", `{}`, "registry.validate refused", http.StatusBadRequest},
		{validate, "unknown", good, "registry.validate refused", http.StatusNotFound},
		{diagnose, "", good, "registry.diagnose valid", http.StatusOK},
		{diagnose, "", wrong, "registry.diagnose notValid", http.StatusOK},
		{diagnose, "", strings.Repeat(" ", 2<<20), "registry.diagnose refused", http.StatusRequestEntityTooLarge},
	} {
		headers := []string{"Authorization", tokens.Authorization}
		if request.project != "" {
			headers = append(headers, "ProjectUid", request.project)
		}
		response := client.Do(http.MethodPost, request.path, request.body, headers...).Want(request.status)
		want[response.Header.Get("AuditUid")] = request.record
	}

	records := auditRecords(t, server)
	var found []string
	for _, r := range records {
		found = append(found, r.kind)
		if expected, asked := want[r.uid]; asked && r.kind != expected {
			t.Errorf("the record of %s is %q, want %q", r.uid, r.kind, expected)
		}
		delete(want, r.uid)
		if strings.Contains(r.all, "horse") || strings.Contains(r.all, "passphrase") || strings.Contains(r.all, tokens.Authorization) ||
			strings.Contains(r.all, tokens.RefreshToken) {
			t.Errorf("a record holds a secret: %s", r.all)
		}
	}
	if len(want) != 0 {
		t.Errorf("an AuditUid without record: %v", want)
	}
	if n := countedRefreshes(t, server); n != 3 {
		t.Errorf("%d refreshes are counted, want 3", n)
	}
	for kind, n := range map[string]int{"auth.login succeeded": 2, "auth.login refused": 1, "auth.refresh refused": 1} {
		if got := count(found, kind); got != n {
			t.Errorf("%d records %q, want %d; all: %q", got, kind, n, found)
		}
	}
}

// The three refreshes of two sessions are counted by the records of their hours.
func countedRefreshes(t *testing.T, server *instance.Server) (counted int64) {
	t.Helper()
	var records []struct{ Repeats int64 }
	list := server.Admin(t, "", "audit", "list", "--action", "auth.refresh", "--outcome", "succeeded", "--output", "json")
	if err := json.Unmarshal([]byte(list), &records); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		counted += 1 + r.Repeats
	}
	return counted
}

type auditRecord struct{ uid, kind, all string }

func auditRecords(t *testing.T, server *instance.Server) []auditRecord {
	t.Helper()
	rows, err := openStore(t, server).QueryContext(t.Context(),
		"SELECT uid, action, outcome, actor_name, object, reason, means, coalesce(CAST(report AS TEXT), '') FROM audits ORDER BY at")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []auditRecord
	for rows.Next() {
		var uid, action, outcome, actor, object, reason, means, report string
		if err := rows.Scan(&uid, &action, &outcome, &actor, &object, &reason, &means, &report); err != nil {
			t.Fatal(err)
		}
		all = append(all, auditRecord{uid, action + " " + outcome, fmt.Sprint(actor, object, reason, means, report)})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}
