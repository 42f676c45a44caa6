package service_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// TestAuditVerify verifies the audit records of a server that was killed, and after somebody changed them in its database.
func TestAuditVerify(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--log-level", "info"}})
	client := server.Client(t)
	for range 3 {
		client.Login()
	}
	client.Do(http.MethodPost, "/v1/auth/authenticate",
		instance.Credentials("unknown@acme.example", instance.Org, "wrong")).Want(http.StatusUnauthorized)
	result := awaitLinked(t, server)
	if result.Unlinked == 0 || result.Organizations == 0 || result.BeganAt != nil || result.Before != 0 || result.First != nil {
		t.Errorf("%+v", result) // a refusal counts others for a minute
	}
	for _, want := range []string{`regwarden_audit_chain_batch [1-9]`, `regwarden_audit_chain_lag_seconds \d`} {
		if metrics := server.Metrics(t); !regexp.MustCompile("(?m)^" + want).MatchString(metrics) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	server.Kill()

	after := instance.Start(t, instance.Options{DataDir: server.DataDir, Flags: []string{"--log-level", "info"}})
	after.Client(t).Login()
	awaitLinked(t, after)
	instance.Await(t, "the newest hash is logged", func() bool { return after.Logs("audit chain") })
	if text := after.Admin(t, "", "audit", "verify", "--newest-hash", result.NewestHash); !strings.Contains(text,
		"audit records fit the chain") || !strings.Contains(text, "\nNewest hash: ") {
		t.Error(text)
	}
	wantRefused(t, after, 1, "no batch has the given hash", "--newest-hash", strings.Repeat("ab", 32))
	wantRefused(t, after, 2, "--newest-hash must be 64 hexadecimal digits", "--newest-hash", "ab")
	wantRefused(t, after, 2, "--output must be one of text, json, yaml", "--output", "xml")

	db := openStore(t, after)
	var changed string
	const query = `UPDATE audits SET address = '192.0.2.1' WHERE uid = (SELECT MAX(uid) FROM audits WHERE action = 'auth.login' AND ` +
		`outcome = 'succeeded') RETURNING uid`
	if err := db.QueryRow(query).Scan(&changed); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, after, 1, "1 problem. The first: the record "+changed+" of the organization ")
	out := wantRefused(t, after, 1, `"kind": "recordChanged"`, "--output", "json")
	var problem verification
	if err := json.Unmarshal([]byte(out), &problem); err != nil || problem.Valid || problem.First.UID != changed ||
		problem.First.Organization != instance.Org || problem.First.At == "" {
		t.Errorf("%v in %s", err, out)
	}
}

type verification struct {
	Valid                   bool
	Unlinked, Organizations int
	Records, Before         int
	BeganAt                 *string
	NewestHash              string
	First                   *struct{ Kind, UID, Organization, At string }
}

// awaitLinked waits until the logins of a server are linked. Only refusals are not.
func awaitLinked(t *testing.T, server *instance.Server) (v verification) {
	t.Helper()
	instance.Await(t, "records are linked", func() bool {
		out := server.Admin(t, "", "audit", "verify", "--output", "json")
		if err := json.Unmarshal([]byte(out), &v); err != nil || !v.Valid {
			t.Fatalf("%v in %s", err, out)
		}
		return v.Unlinked <= 1 && v.Records > 3
	})
	return v
}

func wantRefused(t *testing.T, server *instance.Server, code int, text string, args ...string) (out string) {
	t.Helper()
	result := instance.Run(t, "", append([]string{"audit", "verify", "--data-dir", server.DataDir}, args...)...)
	if result.Code != code || !strings.Contains(result.Out+result.Err, text) {
		t.Errorf("audit verify %v: exit code %d, want %d with %q\n%s%s", args, result.Code, code, text, result.Out, result.Err)
	}
	return result.Out
}
