package server

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestOperatorManagesOrganizations sends the requests in process that every caller from the network is refused.
func TestOperatorManagesOrganizations(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service, err := auth.New(t.Context(), db, auth.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := edge(io.Discard)
	s.Auth, s.Directory = service, directory.New(db, service.Passwords, nil)
	operator, auditUID := s.Local(auth.Operator()), string(api.HeaderAuditUID)
	request := func(method, path, body string, status int, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://local"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := operator.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status || into != nil && json.Unmarshal(text, into) != nil {
			t.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, text, err)
		}
		if _, has := response.Header[auditUID]; status/100 == 2 && method != "GET" && !has {
			t.Errorf("%s %s has no AuditUid", method, path)
		}
	}
	var acme, blue api.Created
	larger := strings.Repeat("x", maxAnonymousBody) // than callers without credentials may send
	request("POST", api.PathOrgs, `{"metadata":{"name":"Acme"},"more":"`+larger+`"}`, 201, &acme)
	request("POST", api.PathOrgs, `{"metadata":{"name":"Blue"}}`, 201, &blue)
	var refusal api.Error
	if request("POST", api.PathOrgs, `{"metadata":{"name":"ACME "}}`, 409, &refusal); refusal.Code != directory.CodeOrgExists {
		t.Errorf("the name is taken: %s", refusal.Code)
	}
	of := auth.Operator()
	of.OrgUID = acme.UID
	_, err = s.Directory.CreateUser(t.Context(), of, audit.Origin{}, directory.NewUser{Email: "a@acme.example", WithoutPassword: true})
	if err != nil {
		t.Fatal(err)
	}
	if request("DELETE", "/v1/orgs/"+acme.UID, "", 409, &refusal); refusal.Code != directory.CodeOrgNotEmpty ||
		!strings.Contains(refusal.Message, "a@acme.example") {
		t.Errorf("a member is left: %s %s", refusal.Code, refusal.Message)
	}
	request("DELETE", "/v1/orgs/"+blue.UID, "", 204, nil)
	var list api.Orgs
	request("GET", api.PathOrgs, "", 200, &list)
	if !slices.ContainsFunc(list.Items, func(o api.Org) bool { return o.Metadata.UID == acme.UID && o.Metadata.Name == "Acme" }) ||
		len(list.Items) != 1 {
		t.Errorf("organizations are %+v", list)
	}
	request("DELETE", "/v1/orgs/"+acme.UID+"?cascade=true", "", 204, nil)
	request("DELETE", "/v1/orgs/"+acme.UID, "", 404, &refusal)
}
