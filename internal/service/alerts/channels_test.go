package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func slack(path string) Channel {
	return Channel{Type: TypeHTTP, Active: true, Identifiers: []string{},
		HTTP: &HTTP{URL: secret.String("https://hooks.example.com" + path), Method: "POST",
			Headers: map[string]secret.String{"Authorization": "Bearer h1dden"}, Body: `{"k": "r0uting"}`, Secret: "a secret of 16 bytes"}}
}

func fieldsOf(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Invalid {
		return fmt.Sprint(err)
	}
	var names []string
	for _, field := range f.Fields {
		names = append(names, field.Field)
	}
	return strings.Join(names, " ")
}

func (f *fixture) update(uid string, c Channel) error {
	return f.Update(f.t.Context(), f.admin, audit.Origin{}, f.in, uid, c)
}

func (f *fixture) stored(uid string) (c store.Channel) {
	f.t.Helper()
	if err := f.db.View(f.t.Context(), func(tx *store.Tx) (err error) {
		c, err = tx.Channels.Get(f.t.Context(), f.in.OrgUID, uid)
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
	return c
}

// Values that may be secret are shown masked. A mask stands for the stored value, but only for the destination it was stored with.
func TestMasksStandForStoredValues(t *testing.T) {
	f := newFixture(t, Config{})
	uid, signing := f.create(slack("/T0/B0/x0x"))
	if signing != "" {
		t.Error("a secret was made although one was sent")
	}
	before := f.stored(uid).HTTP
	shown := f.channel(uid)
	if all := fmt.Sprintf("%+v %v", shown.HTTP.URL.Reveal(), shown.HTTP); strings.Contains(all, "x0x") ||
		shown.HTTP.URL != "https://hooks.example.com/********" ||
		shown.HTTP.Headers["Authorization"] != mask || shown.HTTP.Body != mask || shown.HTTP.Secret != mask {
		t.Errorf("shown: %+v", shown.HTTP)
	}
	if err := f.update(uid, shown); err != nil {
		t.Fatalf("a channel as it was read is refused: %v", err)
	}
	if diff := cmp.Diff(before, f.stored(uid).HTTP); diff != "" {
		t.Error(diff)
	}
	moved := func(url string) Channel {
		c := f.channel(uid)
		c.HTTP.URL = secret.String(url)
		return c
	}
	for _, url := range []string{"https://evil.example.com/", "http://hooks.example.com/", "https://hooks.example.com:8443/",
		"https://hooks.example.com.evil.example/"} {
		if got := fieldsOf(f.update(uid, moved(url))); got != "http.body http.headers.Authorization" {
			t.Errorf("to %s: %s", url, got)
		}
	}
	if got := fieldsOf(f.update(uid, moved("https://evil.example.com/********"))); !strings.Contains(got, "http.url") {
		t.Errorf("the mask of another host: %s", got)
	}
	if err := f.update(uid, moved("https://HOOKS.example.com:443/other")); err != nil ||
		f.stored(uid).HTTP.Headers["Authorization"] != "Bearer h1dden" {
		t.Errorf("another path of the same server: %v", err)
	}
	if diff := cmp.Diff(before, f.stored(uid).HTTP); !strings.Contains(diff, "/other") {
		t.Error("the path did not change")
	}
}

func TestAllChannelProblemsAreReported(t *testing.T) {
	f := newFixture(t, Config{})
	create := func(c Channel) string {
		_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, c)
		return fieldsOf(err)
	}
	hook := func(h HTTP) Channel { return Channel{Type: TypeHTTP, HTTP: &h} }
	for _, tt := range []struct {
		channel Channel
		want    string
	}{
		{Channel{}, "type"},
		{Channel{Type: "app"}, "type"},
		{Channel{Type: TypeHTTP}, "http"},
		{hook(HTTP{}), "http.url"},
		{hook(HTTP{URL: "ftp://x/", Method: "GET"}), "http.url http.method"},
		{hook(HTTP{URL: "https://u:p@x.example.com/"}), "http.url"},
		{hook(HTTP{URL: "https://x.example.com/#f"}), "http.url"},
		{hook(HTTP{URL: "https:///x"}), "http.url"},
		{hook(HTTP{URL: "https://x.example.com/\n"}), "http.url"},
		{hook(HTTP{URL: "https://x.example.com/********"}), "http.url"},
		{hook(HTTP{URL: "https://x.example.com/", Secret: "short"}), "http.secret"},
		{hook(HTTP{URL: "https://x.example.com/", Body: mask}), "http.body"},
		{hook(HTTP{URL: "https://x.example.com/", Secret: mask}), "http.secret"},
		{hook(HTTP{URL: "https://x.example.com/", Headers: map[string]secret.String{"Host": "x"}}), "http.headers.Host"},
		{hook(HTTP{URL: "https://x.example.com/", Headers: map[string]secret.String{"regwarden-signature": "x"}}),
			"http.headers.regwarden-signature"},
		{hook(HTTP{URL: "https://x.example.com/", Headers: map[string]secret.String{"X": "a\r\nY: b"}}), "http.headers.X"},
		{hook(HTTP{URL: "https://x.example.com/", Headers: map[string]secret.String{"X Y": "a"}}), "http.headers"},
		{hook(HTTP{URL: "https://x.example.com/", Headers: map[string]secret.String{"X": mask}}), "http.headers.X"},
		{Channel{Type: TypeEmail}, "type identifiers"},
		{Channel{Type: TypeEmail, Identifiers: []string{"a@b.example\r\nBcc: c@d.example", "Ann <a@b.example>"}},
			"type identifiers[0] identifiers[0] identifiers[1]"},
	} {
		if got := create(tt.channel); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.channel, got, tt.want)
		}
	}
	for range maxChannels {
		f.create(slack("/x"))
	}
	if got := create(slack("/x")); got != "type" {
		t.Errorf("one channel too many: %s", got)
	}
}

func TestReplaceUpdatesMatchingChannels(t *testing.T) {
	f := newFixture(t, Config{})
	a, _ := f.create(slack("/a"))
	b, _ := f.create(slack("/b"))
	c, _ := f.create(slack("/c"))
	inputs := []Channel{slack("/b"), f.channel(c), slack("/new"), slack("/newer")}
	inputs[0].HTTP.Secret = "" // public clients do not have it
	if err := f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, inputs); err != nil {
		t.Fatal(err)
	}
	list, err := f.List(t.Context(), f.in)
	if err != nil || len(list) != 4 || list[0].UID != b || list[1].UID != c || list[2].UID == a || list[3].UID == a {
		t.Fatalf("channels %+v: %v", list, err)
	}
	if f.stored(b).HTTP.Secret == "" || f.stored(c).HTTP.URL != "https://hooks.example.com/c" {
		t.Errorf("stored: %v %v", f.stored(b).HTTP.Secret != "", f.stored(c).HTTP.URL)
	}
	unknown := slack("/d")
	unknown.UID = a
	if got := fieldsOf(f.Replace(t.Context(), f.admin, audit.Origin{}, f.in,
		[]Channel{unknown, {Type: "app"}})); got != "channels[0].uid channels[1].type" {
		t.Errorf("problems %s", got)
	}
	if list, _ := f.List(t.Context(), f.in); len(list) != 4 {
		t.Error("a refused list changed something")
	}
}

// The destination of the only channel of a type may be changed by a list without uids: the channel stays, with its settings and secret.
func TestReplaceMovesTheLastChannel(t *testing.T) {
	f := newFixture(t, Config{Mail: &Mail{}, MailDomains: ownDomain})
	first := slack("/a")
	first.AfterMinutes = new(int64(15))
	a, _ := f.create(first)
	to := func(address string) Channel { return Channel{Type: TypeEmail, Identifiers: []string{address}} }
	moved := slack("/b")
	moved.HTTP.URL, moved.HTTP.Secret = "https://moved.example.com/b", ""
	uids := []string{a}
	for i, step := range []struct {
		inputs []Channel
		same   []bool // of each, whether it is the stored channel of the step before
	}{
		{[]Channel{moved}, []bool{true}},
		{[]Channel{moved, to("a@acme.example")}, []bool{true, false}},
		{[]Channel{slack("/c"), to("b@acme.example")}, []bool{true, true}},
		{[]Channel{slack("/d"), to("b@acme.example"), slack("/e")}, []bool{false, true, false}},
	} {
		if err := f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, step.inputs); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		list, err := f.List(t.Context(), f.in)
		if err != nil || len(list) != len(step.inputs) {
			t.Fatalf("step %d: %+v, %v", i, list, err)
		}
		if c := f.stored(list[0].UID); step.same[0] && (c.AfterMinutes != 15 || c.HTTP.Secret == "") {
			t.Errorf("step %d: %+v", i, c.AlertTimes)
		}
		for j, c := range list {
			if same := j < len(uids) && uids[j] == c.UID; same != step.same[j] {
				t.Errorf("step %d, channel %d: the same %t, want %t", i, j, same, step.same[j])
			}
		}
		uids = nil
		for _, c := range list {
			uids = append(uids, c.UID)
		}
	}
}

// Members may not change channels. Every change and refusal is recorded with the destination of the webhook, without a secret.
func TestChangesAreRecorded(t *testing.T) {
	f := newFixture(t, Config{})
	member := f.admin
	member.Role = auth.RoleMember
	if _, _, err := f.Create(t.Context(), member, audit.Origin{}, f.in, slack("/x")); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("change by a member: %v", err)
	}
	uid, _ := f.create(slack("/x0x"))
	moved := slack("/x0x")
	moved.HTTP.URL = "http://HOOKS.example.com:8080/x0x?key=x0x"
	if err := f.update(uid, moved); err != nil {
		t.Fatal(err)
	}
	if err := f.Delete(t.Context(), f.admin, audit.Origin{}, f.in, uid); err != nil {
		t.Fatal(err)
	}
	if err := f.Delete(t.Context(), f.admin, audit.Origin{}, f.in, uid); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
	if err := f.Delete(t.Context(), f.admin, audit.Origin{}, Scope{f.in.OrgUID, f.in.ProjectUID, "PodHealth"},
		""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown component: %v", err)
	}
	var got []string
	if err := f.db.View(t.Context(), func(tx *store.Tx) error {
		records, err := tx.Audits.List(t.Context(), audits.Filter{}, 10)
		for _, e := range records {
			got = append(got, fmt.Sprint(e.Action, " ", e.Outcome, " ", e.Object == uid, " ", e.Target))
			if text, _ := json.Marshal(e); strings.Contains(string(text), "h1dden") || strings.Contains(string(text), "x0x") {
				t.Error("a secret was recorded")
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"alert.create refused false ", "alert.create succeeded true https://hooks.example.com:443",
		"alert.update succeeded true http://hooks.example.com:8080", "alert.delete succeeded true http://hooks.example.com:8080"} {
		if !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// A stored header is sent only to the host that it was stored with. "İ" (U+0130) is "i" in lowercase, but belongs to another host.
func TestStoredHeadersAreNotSentToLookalikeHosts(t *testing.T) {
	const stored = "https://ci.example.com/hook"
	old := store.Channel{UID: "u", Type: TypeHTTP, HTTP: store.ChannelHTTP{URL: stored,
		Headers: map[string]string{"Authorization": "Bearer stored-secret"}}}
	for url, same := range map[string]bool{
		"https://ci.example.com/other":      true,
		"https://CI.example.com:443/":       true,
		"https://cİ.example.com/":           false,
		"https://c%C4%B0.example.com/":      false,
		"https://ci.example.com.:443/":      false,
		"http://ci.example.com:443/":        false,
		"https://ci.example.com:8443/":      false,
		"https://ci.example.com@evil.test/": false,
	} {
		w := Channel{Type: TypeHTTP, HTTP: &HTTP{URL: secret.String(url), Headers: map[string]secret.String{"Authorization": mask}}}
		filled, problems := (&Channels{}).fill(w, old)
		if accepted := len(problems) == 0; accepted != same {
			t.Errorf("%s: %v", url, problems)
		}
		if !same && len(problems) == 0 && filled.HTTP.Headers["Authorization"] != "" {
			t.Errorf("%s is sent the stored header", url)
		}
	}
}

// Text that a proxy could parse as an address is not a valid host: the proxy would connect to it without a policy check.
func TestAmbiguousAddressesAreNotHosts(t *testing.T) {
	for _, host := range []string{"2852039166", "0xa9fea9fe", "169.254.43518", "169.254.169.254.", "0251.0376.0251.0376", "a.0x7f"} {
		_, problems := (&Channels{}).fill(Channel{Type: TypeHTTP, HTTP: &HTTP{URL: secret.String("http://" + host + "/")}}, store.Channel{})
		if len(problems) != 1 || problems[0].Field != "http.url" {
			t.Errorf("%s: %v", host, problems)
		}
	}
}

// An alert is enqueued for every channel in one transaction, so the number of channels of an organization is limited.
func TestChannelsOfAnOrganizationAreLimited(t *testing.T) {
	f := newFixture(t, Config{Egress: loopback(t)})
	wanted := func(n int) []Channel {
		list := make([]Channel, n)
		for i := range list {
			list[i] = Channel{Type: TypeHTTP, HTTP: &HTTP{URL: secret.String(fmt.Sprintf("http://127.0.0.1:%d/", 2000+i))}}
		}
		return list
	}
	in := f.in
	for project := range 6 {
		uid := uuid.NewString()
		f.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.Projects.Insert(ctx, store.Project{UID: uid, OrgUID: in.OrgUID, Name: uid, Canonical: uid, CreatedAt: f.clock})
		})
		in.ProjectUID = uid
		err := f.Replace(t.Context(), f.admin, audit.Origin{}, in, wanted(maxChannels))
		if fits := project < maxOrgChannels/maxChannels; fits != (err == nil) {
			t.Errorf("project %d: %v", project, err)
		}
	}
	if err := f.Replace(t.Context(), f.admin, audit.Origin{}, f.in, wanted(1)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one more: %v", err)
	}
}

// The channels of an organization are those of all projects and components, with their places, masked.
func TestChannelsOfAnOrganization(t *testing.T) {
	f := newFixture(t, Config{})
	uid, _ := f.create(slack("/x0x"))
	f.in.Component = APIKeyExpiry
	other, _ := f.create(slack("/x0x"))
	list, err := f.OfOrg(t.Context(), f.in.OrgUID)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d channels, %v", len(list), err)
	}
	if list[0].UID != other || list[0].Scope != f.in || list[1].UID != uid || strings.Contains(list[1].HTTP.URL.Reveal(), "x0x") {
		t.Errorf("%+v", list)
	}
	if list, err := f.OfOrg(t.Context(), "other"); err != nil || len(list) > 0 {
		t.Errorf("of another organization: %v, %v", list, err)
	}
}
