package service_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/instance"
)

func (p person) records(query string) api.Audits {
	p.t.Helper()
	var page api.Audits
	p.get("/v1/audits"+query, &page)
	return page
}

func TestAuditsAreReadOverHTTP(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	mateUID := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	friendUID := admin.make("/v1/users", newUser("friend@acme.example"))
	friend, _ := loggedIn(t, server, "friend@acme.example", instance.Org, matePassword)
	theirs := newRival(t, server)
	began := time.Now()
	endpoint := unusedEndpoint(t)
	response := mate.do("POST", validate, noAuth(endpoint)).Want(http.StatusUnprocessableEntity)
	uid := response.Header.Get("AuditUid")

	// Everyone in the organization who has its uid may read the report; other organizations may not.
	for _, reader := range []person{admin, mate, friend} {
		var record api.Audit
		reader.get("/v1/audits/"+uid, &record)
		s := record.Spec
		var report regcheck.Report
		if err := json.Unmarshal(s.Report, &report); err != nil || report.Valid || report.Code != "RegistryUnreachable" ||
			s.Outcome != "notValid" || s.Reason != "RegistryUnreachable" ||
			s.Actor.User.UID != mateUID || s.Actor.User.EmailID != "mate@acme.example" || s.Resource.UID != endpoint ||
			s.Address != "127.0.0.1" ||
			s.RequestID != response.Header.Get("X-Request-Id") || s.Means != "token" || record.Metadata.Name != "registry.validate" {
			t.Errorf("the record is %+v", record)
		}
	}
	theirs.refused("GET", "/v1/audits/"+uid, "", 404, "ResourceNotFound")

	// Other records are for administrators and for who acted.
	login := mate.records("?action=auth.login").Items[0]
	admin.get("/v1/audits/"+login.Metadata.UID, new(any))
	mate.get("/v1/audits/"+login.Metadata.UID, new(any))
	friend.refused("GET", "/v1/audits/"+login.Metadata.UID, "", 404, "ResourceNotFound")

	for query, want := range map[string][]string{
		"?action=registry.validate":                        {"registry.validate " + mateUID},
		"?resourceKind=registry":                           {"registry.validate " + mateUID},
		"?outcome=notValid":                                {"registry.validate " + mateUID},
		"?resourceUid=" + url.QueryEscape(endpoint):        {"registry.validate " + mateUID},
		"?userUid=" + friendUID:                            {"auth.login " + friendUID},
		"?userUid=" + mateUID + "&action=auth.login":       {"auth.login " + mateUID},
		"?actionType=create&resourceUid=" + friendUID:      {"user.create "},
		"?actionType=delete":                               nil,
		"?action=auth.login&resourceKind=user":             nil,
		"?endTime=2020-01-01T00:00:00Z":                    nil,
		"?outcome=notValid&startTime=" + stamp(began):      {"registry.validate " + mateUID},
		"?outcome=notValid&endTime=" + stamp(began):        nil,
		"?outcome=notValid&startTime=2099-01-01T00:00:00Z": nil,
	} {
		page := admin.records(query)
		if len(page.Items) != len(want) || page.ListMeta.Count != int64(len(want)) {
			t.Errorf("%s: %d records, counted %d, want %q", query, len(page.Items), page.ListMeta.Count, want)
			continue
		}
		for i, item := range page.Items {
			if got := item.Spec.Action + " " + item.Spec.Actor.User.UID; !strings.HasPrefix(got, want[i]) || item.Spec.Report != nil {
				t.Errorf("%s: %q, want %q", query, got, want[i])
			}
		}
	}
	checkWhoseAudits(t, admin, mate, mateUID, friendUID)
	checkAuditPages(t, admin)
}

func stamp(at time.Time) string { return url.QueryEscape(at.UTC().Format(time.RFC3339Nano)) }

// A member's list is of what it did itself; the organization's of nothing else.
func checkWhoseAudits(t *testing.T, admin, mate person, mateUID, friendUID string) {
	t.Helper()
	for _, query := range []string{"", "?userUid=" + mateUID} {
		items := mate.records(query).Items
		if len(items) == 0 {
			t.Errorf("the member's list of %q is empty", query)
		}
		for _, item := range items {
			if item.Spec.Actor.User.UID != mateUID {
				t.Errorf("the member's list has %+v", item)
			}
		}
	}
	mate.refused("GET", "/v1/audits?userUid="+friendUID, "", 403, "OperationForbidden")
	var info struct{ TenantUID string }
	admin.get("/v1/users/info", &info)
	all := admin.records("?limit=500&tenantUid=" + info.TenantUID)
	for _, item := range all.Items {
		if strings.HasSuffix(item.Spec.Actor.User.EmailID, "@rival.example") {
			t.Errorf("the list has another organization's record: %+v", item)
		}
	}
	if len(all.Items) < 8 || all.ListMeta.Continue != "" {
		t.Errorf("%d records, continued by %q", len(all.Items), all.ListMeta.Continue)
	}
}

// Pages miss nothing and repeat nothing, also while records are added.
func checkAuditPages(t *testing.T, admin person) {
	t.Helper()
	whole := admin.records("?limit=500")
	var paged []string
	next := ""
	for pages := 0; pages < 100; pages++ {
		page := admin.records("?limit=3&continue=" + next)
		if page.ListMeta.Limit != 3 || page.ListMeta.Count < int64(len(whole.Items)) {
			t.Fatalf("listmeta is %+v", page.ListMeta)
		}
		for _, item := range page.Items {
			paged = append(paged, item.Metadata.UID)
		}
		if page.ListMeta.Offset != len(paged) {
			t.Errorf("offset %d after %d records", page.ListMeta.Offset, len(paged))
		}
		admin.do("PUT", "/v1/users/mate@acme.example/projects", `{"projects":[]}`).Want(http.StatusNoContent)
		if next = page.ListMeta.Continue; next == "" {
			break
		}
	}
	var want []string
	for i, item := range whole.Items {
		want = append(want, item.Metadata.UID)
		if i > 0 && item.Metadata.CreationTimestamp.After(whole.Items[i-1].Metadata.CreationTimestamp) {
			t.Error("the newest record is not the first")
		}
	}
	if strings.Join(paged, " ") != strings.Join(want, " ") {
		t.Errorf("pages have %d records, the whole list %d", len(paged), len(want))
	}
}

// Records are deleted once they are older than the retention period, and no sooner.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	first := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, first, instance.Email, instance.Org, instance.Password)
	old, young := admin.records("").Items[0].Metadata.UID, admin.records("").Items[1].Metadata.UID
	first.Kill()
	for uid, age := range map[string]time.Duration{old: 49 * time.Hour, young: 47 * time.Hour} {
		if _, err := openStore(t, first).ExecContext(t.Context(), "UPDATE audits SET at = ? WHERE uid = ?",
			time.Now().Add(-age).UnixMilli(), uid); err != nil {
			t.Fatal(err)
		}
	}
	unlimited := instance.Start(t, instance.Options{DataDir: first.DataDir, Flags: []string{"--audit-retention", "0s"}})
	admin, _ = loggedIn(t, unlimited, instance.Email, instance.Org, instance.Password)
	admin.get("/v1/audits/"+old, new(any))
	unlimited.Kill()
	swept := instance.Start(t, instance.Options{DataDir: first.DataDir, Flags: []string{"--audit-retention", "48h"}})
	admin, _ = loggedIn(t, swept, instance.Email, instance.Org, instance.Password)
	instance.Await(t, "the old record is deleted", func() bool { return admin.do("GET", "/v1/audits/"+old, "").Status != http.StatusOK })
	admin.refused("GET", "/v1/audits/"+old, "", 404, "ResourceNotFound")
	admin.get("/v1/audits/"+young, new(any))
}
