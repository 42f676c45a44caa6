package alerts

import (
	"context"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const linkPrefix = "https://regwarden.example.com/confirm/"

// newMailFixture returns a fixture with links and a mail server without TLS.
func newMailFixture(t *testing.T, c Config) (*fixture, *mailServer) {
	t.Helper()
	s := newMailServer(t, false)
	c.Mail, c.Links = s.mail(NoTLS), linkPrefix
	c.Mail.Username = ""
	return newFixture(t, c), s
}

// emailChannel returns a channel with 50 addresses that no other channel has.
func emailChannel(channel int, domain string) Channel {
	c := Channel{Type: TypeEmail, Active: true}
	for i := range maxIdentifiers {
		c.Identifiers = append(c.Identifiers, fmt.Sprintf("c%d-a%d@%s", channel, i, domain))
	}
	return c
}

// sent returns the messages that the mail server accepted, as pairs of recipient and subject.
func (s *mailServer) sent(t *testing.T) (list [][2]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.messages {
		m, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		to, err := m.Header.AddressList("To")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, [2]string{to[0].Address, m.Header.Get("Subject")})
	}
	return list
}

// tokenFor returns the token of the newest link that was sent to an address.
func (s *mailServer) tokenFor(t *testing.T, address string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range slices.Backward(s.messages) {
		found := regexp.MustCompile(linkPrefix + `(\w+)`).FindStringSubmatch(text)
		if found != nil && strings.Contains(text, "<"+address+">") {
			return found[1]
		}
	}
	t.Fatalf("no link was sent to %s", address)
	return ""
}

func (f *fixture) attemptAll() {
	f.t.Helper()
	for n := 0; f.attempt(); n++ {
		if n > 5000 {
			f.t.Fatal("a channel stays due")
		}
	}
}

// TestUnconfirmedAddressesGetNoAlerts creates four channels with 50 addresses each, which are more than get links in four hours, and
// raises 10 alerts.
func TestUnconfirmedAddressesGetNoAlerts(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	for i := range 4 {
		f.create(emailChannel(i, "other.example"))
	}
	for range 10 {
		f.raise()
	}
	const hours = 4
	for hour := range hours {
		f.attemptAll()
		if sent := len(s.sent(t)); sent == 0 || sent > linksPerHour*(hour+1) {
			t.Errorf("%d messages after %d hours, want at most %d links an hour", sent, hour, linksPerHour)
		}
		f.clock = f.clock.Add(time.Hour)
	}
	linked := map[string]bool{}
	for _, m := range s.sent(t) {
		if m[1] != "[regwarden] Confirm this address for alerts" || linked[m[0]] {
			t.Errorf("%s got %q, has a link: %t", m[0], m[1], linked[m[0]])
		}
		linked[m[0]] = true
	}
	s.mu.Lock()
	if text := s.messages[0]; strings.Contains(text, "is not valid") || !strings.Contains(text, `"Acme"`) {
		t.Errorf("a link was sent as %s", text)
	}
	s.mu.Unlock()

	// An address that agrees gets the pending alerts.
	agrees := s.sent(t)[0][0]
	if _, err := f.Confirm(t.Context(), audit.Origin{}, s.tokenFor(t, agrees)); err != nil {
		t.Fatal(err)
	}
	before := len(s.sent(t))
	f.clock = f.clock.Add(blockedWait)
	f.attemptAll()
	got := 0
	for _, m := range s.sent(t)[before:] {
		if strings.Contains(m[1], "is not valid") {
			got++
			if m[0] != agrees {
				t.Errorf("%s got an alert without having agreed", m[0])
			}
		}
	}
	if got != 10 {
		t.Errorf("the address that agreed got %d of 10 alerts", got)
	}
}

// The alerts of an organization without budget wait, and those of another organization do not.
func TestMessageBudgetIsPerOrganization(t *testing.T) {
	const budget = 60
	f, s := newMailFixture(t, Config{MailDomains: ownDomain, MailsPerHour: budget})
	for i := range 4 {
		f.create(emailChannel(i, ownDomain[0]))
	}
	f.raise()
	f.attemptAll()
	if sent := len(s.sent(t)); sent != budget {
		t.Errorf("%d messages were sent at once, want %d", sent, budget)
	}
	list, err := f.List(t.Context(), f.in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list, func(c Channel) bool { // whichever was the last
		return !c.Status.OK && strings.Contains(c.Status.Message, "the organization reached its limit of 60 messages per hour")
	}) {
		t.Errorf("no channel has reached the limit: %+v", list)
	}

	abuser := f.in
	f.in = Scope{uuid.NewString(), uuid.NewString(), RegistryHealth}
	f.admin.OrgUID = f.in.OrgUID
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Orgs.Insert(ctx, store.Org{UID: f.in.OrgUID, Name: "Other", Canonical: "other", CreatedAt: f.clock}); err != nil {
			return err
		}
		return tx.Projects.Insert(ctx, store.Project{UID: f.in.ProjectUID, OrgUID: f.in.OrgUID, Name: "P", Canonical: "p",
			CreatedAt: f.clock})
	})
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"victim@acme.example"}})
	f.raise()
	f.attemptAll()
	if sent := s.sent(t); sent[len(sent)-1][0] != "victim@acme.example" {
		t.Error("the other organization has to wait")
	}

	f.in = abuser
	for range 3 * 6 {
		f.clock = f.clock.Add(budgetBackoff)
		f.attemptAll()
	}
	got := map[string]int{}
	for _, m := range s.sent(t) {
		got[m[0]]++
	}
	if len(got) != 201 || len(s.sent(t)) != 201 {
		t.Errorf("%d messages to %d addresses after three hours, want one to each of 201", len(s.sent(t)), len(got))
	}
}

// Reading a link changes nothing, links expire, and each confirms one address of one organization.
func TestLinksConfirm(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"Ops@other.example", "other@other.example"}})
	f.attemptAll()
	token := s.tokenFor(t, "Ops@other.example")
	unconfirmed := func(want ...string) {
		t.Helper()
		if got := f.channel(uid).Unconfirmed; !slices.Equal(got, want) {
			t.Errorf("unconfirmed: %q, want %q", got, want)
		}
	}
	for _, wrong := range []string{"", token + "x", strings.ToLower(token), strings.Repeat("A", 4096)} {
		if _, err := f.Confirm(t.Context(), audit.Origin{}, wrong); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for range 2 {
		shown, err := f.Confirmation(t.Context(), token)
		if want := (Confirmation{"ops@other.example", "Acme", false}); err != nil || shown != want {
			t.Errorf("shown: %+v, %v", shown, err)
		}
	}
	unconfirmed("Ops@other.example", "other@other.example")
	f.clock = f.clock.Add(linkLifetime)
	for range 2 {
		if done, err := f.Confirm(t.Context(), audit.Origin{Address: "192.0.2.1"}, token); err != nil || !done.Confirmed {
			t.Errorf("%+v, %v", done, err)
		}
	}
	unconfirmed("other@other.example")
	f.clock = f.clock.Add(time.Second)
	if _, err := f.Confirmation(t.Context(), s.tokenFor(t, "other@other.example")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a link after its end: %v", err)
	}
	if _, err := f.Confirmation(t.Context(), token); err != nil {
		t.Errorf("a link that was used: %v", err)
	}
	var records []audit.Record
	f.write(func(ctx context.Context, tx *store.Tx) (err error) {
		records, err = tx.Audits.List(ctx, audits.Filter{OrgUID: f.in.OrgUID, Actions: []audit.Action{audit.AlertConfirm}}, 10)
		return err
	})
	if len(records) != 1 || records[0].Object != "ops@other.example" || records[0].Origin.Address != "192.0.2.1" {
		t.Errorf("records %+v", records)
	}
}

// The limit also holds if channels are stored again, and for concurrent replicas.
func TestAnAddressGetsOneLinkPerDay(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	c := Channel{Type: TypeEmail, Active: true, Identifiers: []string{"ops@other.example"}}
	uid, _ := f.create(c)
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"OPS@OTHER.example"}})
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if _, err := f.Deliverer.links.sendLinks(t.Context(), f.stored(uid)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for _, step := range []struct {
		after time.Duration
		store bool
		want  int
	}{{0, false, 1}, {23 * time.Hour, true, 1}, {time.Hour, false, 1}, {0, true, 2}, {time.Hour, true, 2},
		{10 * 24 * time.Hour, false, 2}} {
		f.clock = f.clock.Add(step.after)
		if step.store {
			if err := f.update(uid, c); err != nil {
				t.Fatal(err)
			}
		}
		f.raise()
		f.attemptAll()
		if sent := len(s.sent(t)); sent != step.want {
			t.Errorf("%v later, stored %t: %d messages, want %d", step.after, step.store, sent, step.want)
		}
	}
}

// If a link could not be sent, the address gets another one.
func TestLinksAreRetriedAfterMailServerFailure(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	s.refuse["ops@other.example"] = "451 4.7.1 later"
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"ops@other.example"}})
	f.attemptAll()
	s.mu.Lock()
	delete(s.refuse, "ops@other.example")
	s.mu.Unlock()
	f.attemptAll()
	if sent := len(s.sent(t)); sent != 0 {
		t.Errorf("%d messages at once", sent)
	}
	f.clock = f.clock.Add(linkBackoff)
	f.attemptAll()
	if sent := len(s.sent(t)); sent != 1 {
		t.Errorf("%d messages, want 1", sent)
	}
}

// A channel from before the setting was removed does not stay due.
func TestNoLinksWithoutAMailServer(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	uid, _ := f.create(emailChannel(0, "other.example"))
	f.Deliverer.links.config.Mail, f.Deliverer.sender.config.Mail, f.Channels.config.Mail = nil, nil, nil
	f.raise()
	f.attemptAll()
	if st := f.channel(uid).Status; st.OK || st.Message != "not sent: the setting smtp-host is missing" || len(s.sent(t)) != 0 {
		t.Errorf("status %+v", st)
	}
}

// Administrators create users with any address, so users confirm too. A user who is created later gets a link with the next alert.
func TestUsersMustConfirm(t *testing.T) {
	f, s := newMailFixture(t, Config{MailDomains: ownDomain})
	addUser(f, "admin@acme.example", "admin", false, false)
	f.create(Channel{Type: TypeEmail, Active: true, AlertAllUsers: true})
	f.attemptAll()
	addUser(f, "admin@other.example", "admin", false, false)
	f.raise()
	f.attemptAll()
	sent := s.sent(t)
	if len(sent) != 2 || sent[0][0] != "admin@acme.example" || !strings.HasPrefix(sent[1][1], "[regwarden] Confirm") {
		t.Fatalf("sent %q", sent)
	}
	if _, err := f.Confirm(t.Context(), audit.Origin{}, s.tokenFor(t, "admin@other.example")); err != nil {
		t.Fatal(err)
	}
	f.raise()
	f.attemptAll()
	if sent = s.sent(t); len(sent) != 4 || sent[3][0] != "admin@other.example" {
		t.Errorf("sent %q", sent)
	}
}

// Without links, only confirmed addresses and those in the operator's domains can be stored.
func TestAddressesThatCannotConfirmAreRefused(t *testing.T) {
	s := newMailServer(t, false)
	f := newFixture(t, Config{Mail: s.mail(StartTLS), MailDomains: ownDomain})
	create := func(c Channel) string {
		_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, c)
		return fieldsOf(err)
	}
	foreign := Channel{Type: TypeEmail, Active: true, Identifiers: []string{
		"a@ACME.example", "a@other.example", "a@sub.acme.example", "a@xacme.example"}}
	if got := create(foreign); got != "identifiers[1] identifiers[2] identifiers[3]" {
		t.Errorf("refused: %s", got)
	}
	hosts := Channel{Type: TypeEmail, Active: true, Identifiers: []string{"a@[192.0.2.1]", "a@192.0.2.1", "a@[IPv6:2001:db8::1]",
		"a@acme.example"}}
	if got := create(hosts); got != "identifiers[0] identifiers[1] identifiers[2]" {
		t.Errorf("refused: %s", got)
	}
	everybody := Channel{Type: TypeEmail, Active: true, AlertAllUsers: true}
	f.write(func(ctx context.Context, tx *store.Tx) error { // of a trust rule, which has no address
		return tx.Users.Insert(ctx, store.User{UID: uuid.NewString(), OrgUID: f.in.OrgUID, Email: "github", Canonical: "github",
			Role: "admin", Workload: true, PasswordChangedAt: f.clock, CreatedAt: f.clock})
	})
	if got := create(everybody); got != "<nil>" {
		t.Errorf("users of the domain: %s", got)
	}
	addUser(f, "admin@other.example", "admin", false, false)
	if got := create(everybody); got != "alertAllUsers" {
		t.Errorf("a user of another domain: %s", got)
	}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Addresses.Request(ctx, store.AlertAddress{OrgUID: f.in.OrgUID, Address: "admin@other.example", RequestedAt: f.clock},
			[]byte("hash"))
		return err
	})
	f.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Addresses.Confirm(ctx, []byte("hash"), f.clock)
		return err
	})
	if got := create(everybody); got != "<nil>" {
		t.Errorf("a confirmed user: %s", got)
	}
	if s.to != nil {
		t.Errorf("recipients %q", s.to)
	}
}
