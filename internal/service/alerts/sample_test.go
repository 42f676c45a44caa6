package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func (f *fixture) test(uid string) TestResult {
	f.t.Helper()
	tested, err := f.Test(f.t.Context(), f.admin, audit.Origin{AuditUID: uuid.NewString()}, f.in, uid)
	if err != nil {
		f.t.Fatal(err)
	}
	return tested
}

func (f *fixture) records(action audit.Action) (records []audit.Record) {
	f.t.Helper()
	f.write(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Audits.List(ctx, audits.Filter{Actions: []audit.Action{action}}, 100)
		records = all
		return err
	})
	return records
}

// A test is sent like a real alert, says that it is one, and shows the response without the secrets that it repeats.
func TestATestShowsTheResponse(t *testing.T) {
	r := newReceiver(t)
	r.respond = func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<pre>\n\tCannot POST " + req.URL.String() + "\x00 with " + req.Header.Get("X-Token") + "</pre>" +
			strings.Repeat("é", 300)))
	}
	f := newFixture(t, Config{Egress: loopback(t)})
	hook := r.hook()
	hook.Active = false
	uid, signing := f.create(hook)
	tested := f.test(uid)
	if want := "<pre> Cannot POST ******** with ********</pre>"; tested.Delivered || tested.Status != 404 ||
		!strings.HasPrefix(tested.Response, want) || len([]rune(tested.Response)) != 200 {
		t.Errorf("got %+v", tested)
	}
	if tested.Error != "the receiver returned HTTP 404" || tested.Hint != urlHint {
		t.Errorf("error %q, hint %q", tested.Error, tested.Hint)
	}
	var sent payload
	if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil || !sent.Test || sent.Kind != RegistryNotValid ||
		sent.Component != RegistryHealth ||
		!strings.HasPrefix(sent.Message, "Test: ") || sent.Organization.UID != f.in.OrgUID {
		t.Errorf("sent %s: %v", r.bodies[0], err)
	}
	if got := r.got[0].Header; got.Get(HeaderDelivery) != sent.DeliveryID ||
		got.Get(HeaderSignature) != sign(signing, f.clock, r.bodies[0]) {
		t.Errorf("headers %v", got)
	}
	if c := f.channel(uid); !c.Status.At.IsZero() {
		t.Errorf("the test changed the status to %+v", c.Status)
	}
	records := f.records(audit.AlertTest)
	if len(records) != 1 || records[0].Outcome != audit.Failed || records[0].Reason != "notDelivered" || records[0].Object != uid ||
		records[0].Target != r.URL {
		t.Errorf("records %+v", records)
	}

	r.respond = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }
	if tested := f.test(uid); !tested.Delivered || tested.Status != 200 || tested.Response != "ok" || tested.Error+tested.Hint != "" {
		t.Errorf("got %+v", tested)
	}
	if records := f.records(audit.AlertTest); len(records) != 2 || records[0].Outcome != audit.Succeeded &&
		records[1].Outcome != audit.Succeeded {
		t.Errorf("records %+v", records)
	}
}

func TestWhoMayTestAChannel(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t), ChecksPerMinute: 3})
	uid, _ := f.create(r.hook()) // the first contact
	test := func(p auth.Principal, in Scope, uid string) error {
		_, err := f.Test(t.Context(), p, audit.Origin{}, in, uid)
		return err
	}
	member, operator := f.admin, auth.Operator()
	member.Role = auth.RoleMember
	keys, hidden := f.in, f.in
	keys.Component, hidden.ProjectUID = APIKeyExpiry, uuid.NewString()
	for _, row := range []struct {
		p    auth.Principal
		in   Scope
		uid  string
		want string
	}{
		{member, f.in, uid, fault.CodeOperationForbidden}, {f.admin, f.in, "unknown", fault.CodeResourceNotFound},
		{f.admin, keys, uid, fault.CodeResourceNotFound},
		{f.admin, hidden, uid, fault.CodeResourceNotFound}, {f.admin, f.in, uid, ""}, {f.admin, f.in, uid, ""},
		{f.admin, f.in, uid, fault.CodeTooManyRequests}, {operator, f.in, uid, ""},
	} {
		code := ""
		if f, is := errors.AsType[*fault.Error](test(row.p, row.in, row.uid)); is {
			code = f.Code
		}
		if code != row.want {
			t.Errorf("%s, %+v: %q, want %q", row.p.Role, row.in, code, row.want)
		}
	}
	f.wantRefusals(fault.CodeOperationForbidden, 1)
	f.wantRefusals(fault.CodeTooManyRequests, 1)
	if len(r.got) != 3 {
		t.Errorf("%d requests were sent", len(r.got))
	}
}

func TestTestsAtOnceAreLimited(t *testing.T) {
	r := newReceiver(t)
	begun, end := make(chan bool), make(chan bool)
	r.respond = func(http.ResponseWriter, *http.Request) { begun <- true; <-end }
	f := newFixture(t, Config{Egress: loopback(t)})
	uid, _ := f.create(r.hook())
	done := make(chan error)
	for range maxOrgTests {
		go func() {
			_, err := f.Test(t.Context(), f.admin, audit.Origin{}, f.in, uid)
			done <- err
		}()
		<-begun
	}
	if _, err := f.Test(t.Context(), f.admin, audit.Origin{}, f.in, uid); fault.KindOf(err) != fault.Limited {
		t.Errorf("one more: %v", err)
	}
	close(end)
	for range maxOrgTests {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(f.tests.running) != 0 {
		t.Errorf("still counted: %v", f.tests.running)
	}
}

func TestATestRespectsTheEgressPolicy(t *testing.T) {
	n := &network{names: map[string]netip.Addr{"metadata.example.com": netip.MustParseAddr("169.254.169.254")}}
	f := newFixture(t, Config{Resolver: n, Dialer: n})
	uid, _ := f.create(hookAt("http://metadata.example.com"))
	tested := f.test(uid)
	if tested.Delivered || n.dials() != 0 || !strings.Contains(tested.Error, "not allowed") ||
		!strings.Contains(tested.Hint, "--egress-allow") {
		t.Errorf("%d dials, %+v", n.dials(), tested)
	}
}

type panickyDialer struct{}

func (panickyDialer) DialContext(context.Context, string, string) (net.Conn, error) { panic("planted") }

// A panic of the dialer reaches the caller, who can recover it. In a goroutine of net/http, it would end the server.
func TestATestWhoseDialerPanics(t *testing.T) {
	f := newFixture(t, Config{Egress: loopback(t), Dialer: panickyDialer{}})
	uid, _ := f.create(hookAt("http://127.0.0.1:8080"))
	defer func() {
		if cause := fmt.Sprint(recover()); !strings.Contains(cause, "planted") {
			t.Errorf("recovered %s", cause)
		}
	}()
	f.test(uid)
}

func TestATestByEmail(t *testing.T) {
	f, s := newMailFixture(t, Config{MailDomains: []string{"acme.example"}, Links: "https://regwarden.example.com/"})
	f.in.Component = APIKeyExpiry
	uid, _ := f.create(Channel{Type: TypeEmail, Identifiers: []string{"other@example.com"}})
	if tested := f.test(uid); tested.Delivered || tested.Error != "not sent: none of 1 addresses is confirmed" ||
		!strings.Contains(tested.Hint, "Open the link") {
		t.Errorf("not confirmed: %+v", tested)
	}
	uid, _ = f.create(Channel{Type: TypeEmail, Identifiers: []string{"ops@acme.example", "other@example.com"}})
	if tested := f.test(uid); !tested.Delivered || tested.Response != "sent to 1 of 1 addresses; 1 addresses are not confirmed" {
		t.Errorf("partly confirmed: %+v", tested)
	}
	if sent := s.sent(t); len(sent) != 1 || !strings.Contains(s.messages[0], "Subject: [regwarden] Test: API key") {
		t.Errorf("sent %v", s.messages)
	}
	s.refuse["ops@acme.example"] = "550 5.1.1 no such user at 10.0.0.5"
	if tested := f.test(uid); tested.Delivered || !strings.Contains(tested.Error, "550 5.1.1") ||
		strings.Contains(tested.Error, "10.0.0.5") || tested.Hint != mailHint {
		t.Errorf("rejected: %+v", tested)
	}
}

func TestCopiesOfSecretsAreMasked(t *testing.T) {
	h := store.ChannelHTTP{URL: "https://hooks.example.com/services/T000/B%20x/QWERTYUIOP?sig=a%2Fbcdefg",
		Body: `{"routing_key": "R0UT1NG-K3Y"}`, Secret: "s1gning-secret-0001",
		Headers: map[string]string{"Authorization": "Bearer h3ader-t0ken", "X": "pin", "Y": "1"}}
	for text, want := range map[string]string{
		"invalid_token": "invalid_token",
		"no route for /services/T000/B%20x/QWERTY":   "no route for ********",
		"no route for /services/t000/B x/qwertyuiop": "no route for ********",
		`{"path":"\/QWERTYUIOP","n":1}`:              `{"path":"\********","n":1}`,
		"sig a/bcdefg":                               "sig ********",
		"key R0UT1NG-K3Y unknown":                    "key ******** unknown",
		"token h3ader":                               "token********",
		"pin 1":                                      "******** 1",
		"QWERT":                                      "QWERT",
		"s1gning-secret-0001s1gning-secret-0001":     "********",
	} {
		if got := maskCopies(text, secretsOf(h)...); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
