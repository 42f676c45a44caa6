package service_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/instance"
)

// checked waits until a registry has a history.
func (p person) checked(uid string) {
	p.t.Helper()
	instance.Await(p.t, "the first check", func() bool {
		var h struct{ Items []struct{} }
		p.get(at(uid)+"/history", &h)
		return len(h.Items) > 0
	})
}

// A requested check runs in the server with its egress settings, by every role, over HTTP and from the command line.
func TestCheckNow(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	registry := &account{password: adaPassword}
	endpoint := httptest.NewServer(registry)
	t.Cleanup(endpoint.Close)
	delivered := &hooks{}
	receiver := httptest.NewServer(delivered)
	t.Cleanup(receiver.Close)
	admin.do("POST", channelsOf(admin.project()), hook(receiver.URL)).Want(http.StatusCreated)
	uid := admin.make(registriesPath, newRegistry("ours", spec(endpoint.URL, basicAuth(adaPassword), nil)))
	admin.checked(uid)
	path := "/v1/registries/oci/" + uid + "/check"

	// The command's own settings forbid loopback.
	var report regcheck.Report
	if err := json.Unmarshal([]byte(server.Admin(t, "", "registry", "check", "ours", "--org", instance.Org, "--output", "json")),
		&report); err != nil || !report.Valid {
		t.Errorf("from the command line: %+v, %v", report, err)
	}
	if kinds := delivered.kinds(); len(kinds) != 0 {
		t.Errorf("alerts were sent: %q", kinds)
	}

	registry.change("another")
	result := instance.Run(t, "", "registry", "check", uid, "--org", instance.Org, "--data-dir", server.DataDir)
	if result.Code != 1 {
		t.Errorf("not valid from the command line: exit code %d\n%s%s", result.Code, result.Out, result.Err)
	}
	instance.Await(t, "an alert", func() bool { return len(delivered.kinds()) == 1 })

	registry.change(adaPassword)
	if mate.do("POST", path+"?wait=true", "").Want(http.StatusOK).Into(&report); !report.Valid {
		t.Errorf("repaired: %+v", report)
	}
	before := registry.checked()
	var pending struct{ Message string }
	if mate.do("POST", path, "").Want(http.StatusAccepted).Into(&pending); pending.Message == "" {
		t.Error("the response does not say that the check is pending")
	}
	instance.Await(t, "a check in the background", func() bool { return registry.checked() > before })

	wantFields(t, mate.refused("POST", path+"?wait=perhaps", "", 400, "InvalidRequest").Fault(), "wait")
	mate.refused("POST", "/v1/registries/oci/ours/check", "", 404, "ResourceNotFound")
}

// Without a server that checks, requests that wait for a report return after a while, and those beyond a user's limit at once.
func TestWaitingForAReportIsLimited(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, watchEvery("0s"))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make(registriesPath, newRegistry("unchecked", spec("http://127.0.0.1:1", object{"type": "noAuth"}, nil)))
	messages := make(chan string)
	for range 9 {
		go func() {
			var pending struct{ Message string }
			defer func() { messages <- pending.Message }()
			admin.do("POST", "/v1/registries/oci/"+uid+"/check?wait=true", "").Want(http.StatusAccepted).Into(&pending)
		}()
	}
	for i := range 9 {
		want := "No server has begun the check"
		if i == 0 {
			want = "Too many requests wait"
		}
		if got := <-messages; !strings.Contains(got, want) {
			t.Errorf("response %d: %q, want %q", i, got, want)
		}
	}
}
