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
	"github.com/regwarden/regwarden/internal/store"
)

const links = "https://regwarden.example.com/confirm/"

// newMailFixture has a mail server without TLS and links.
func newMailFixture(t *testing.T, c Config) (*fixture, *mailServer) {
	t.Helper()
	s := newMailServer(t, false)
	c.Mail, c.Links = s.mail(NoTLS), links
	c.Mail.Username = ""
	return newFixture(t, c), s
}

// strangers are a channel with 50 addresses that nobody else has.
func strangers(channel int, domain string) Channel {
	c := Channel{Type: TypeEmail, Active: true}
	for i := range maxIdentifiers {
		c.Identifiers = append(c.Identifiers, fmt.Sprintf("c%d-a%d@%s", channel, i, domain))
	}
	return c
}

// sent are the messages that a mail server took, as pairs of recipient and subject.
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

// tokenFor is the token of the newest link that was sent to an address.
func (s *mailServer) tokenFor(t *testing.T, address string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range slices.Backward(s.messages) {
		if found := regexp.MustCompile(links + `(\w+)`).FindStringSubmatch(text); found != nil && strings.Contains(text, "<"+address+">") {
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
			f.t.Fatal("a channel is served again and again")
		}
	}
}

// TestStrangersGetNoAlerts has an administrator make 20 channels with 50 addresses each, and 10 alerts.
func TestStrangersGetNoAlerts(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	for i := range maxChannels {
		f.create(strangers(i, "elsewhere.example"))
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
	asked := map[string]bool{}
	for _, m := range s.sent(t) {
		if m[1] != "[regwarden] Confirm this address for alerts" || asked[m[0]] {
			t.Errorf("%s got %q, asked before: %t", m[0], m[1], asked[m[0]])
		}
		asked[m[0]] = true
	}
	s.mu.Lock()
	if text := s.messages[0]; strings.Contains(text, "is not valid") || !strings.Contains(text, `"Acme"`) {
		t.Errorf("a link was sent as %s", text)
	}
	s.mu.Unlock()

	// One agrees, and gets what waits.
	agrees := s.sent(t)[0][0]
	if _, err := f.Confirm(t.Context(), audit.Origin{}, s.tokenFor(t, agrees)); err != nil {
		t.Fatal(err)
	}
	before := len(s.sent(t))
	f.clock = f.clock.Add(rareWait)
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
		t.Errorf("who agreed got %d of 10 alerts", got)
	}
}

// TestAnOrganizationHasABudgetOfMessages: its alerts wait, and those of another organization do not.
func TestAnOrganizationHasABudgetOfMessages(t *testing.T) {
	const budget = 60
	f, s := newMailFixture(t, Config{MailDomains: ownDomain, MailsPerHour: budget})
	for i := range 4 {
		f.create(strangers(i, ownDomain[0]))
	}
	f.raise()
	f.attemptAll()
	if sent := len(s.sent(t)); sent != budget {
		t.Errorf("%d messages were sent at once, want %d", sent, budget)
	}
	list, err := f.Channels(t.Context(), f.in)
	if err != nil {
		t.Fatal(err)
	}
	if st := list[3].Status; st.OK || !strings.Contains(st.Message, "the 60 messages that the organization may send per hour are used up") {
		t.Errorf("status %+v", st)
	}

	abuser := f.in
	f.in = Scope{uuid.NewString(), uuid.NewString(), RegistryHealth}
	f.admin.OrgUID = f.in.OrgUID
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Orgs.Insert(ctx, store.Org{UID: f.in.OrgUID, Name: "Other", Canonical: "other", CreatedAt: f.clock}); err != nil {
			return err
		}
		return tx.Projects.Insert(ctx, store.Project{UID: f.in.ProjectUID, OrgUID: f.in.OrgUID, Name: "P", Canonical: "p", CreatedAt: f.clock})
	})
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"victim@acme.example"}})
	f.raise()
	f.attemptAll()
	if sent := s.sent(t); sent[len(sent)-1][0] != "victim@acme.example" {
		t.Error("the other organization has to wait")
	}

	f.in = abuser
	for range 3 * 6 {
		f.clock = f.clock.Add(budgetPause)
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

// TestLinksConfirm follows links: looking changes nothing, they end, and they are for one address of one organization.
func TestLinksConfirm(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"Ops@elsewhere.example", "other@elsewhere.example"}})
	f.attemptAll()
	token := s.tokenFor(t, "Ops@elsewhere.example")
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
		if want := (Confirmation{"ops@elsewhere.example", "Acme", false}); err != nil || shown != want {
			t.Errorf("shown: %+v, %v", shown, err)
		}
	}
	unconfirmed("Ops@elsewhere.example", "other@elsewhere.example")
	f.clock = f.clock.Add(linkLife)
	for range 2 {
		if done, err := f.Confirm(t.Context(), audit.Origin{Address: "192.0.2.1"}, token); err != nil || !done.Confirmed {
			t.Errorf("%+v, %v", done, err)
		}
	}
	unconfirmed("other@elsewhere.example")
	f.clock = f.clock.Add(time.Second)
	if _, err := f.Confirmation(t.Context(), s.tokenFor(t, "other@elsewhere.example")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a link after its end: %v", err)
	}
	if _, err := f.Confirmation(t.Context(), token); err != nil {
		t.Errorf("a link that was used: %v", err)
	}
	var events []audit.Event
	f.write(func(ctx context.Context, tx *store.Tx) (err error) {
		events, err = tx.Audits.List(ctx, store.AuditFilter{OrgUID: f.in.OrgUID, Actions: []audit.Action{audit.AlertConfirm}}, 10)
		return err
	})
	if len(events) != 1 || events[0].Object != "ops@elsewhere.example" || events[0].Origin.Address != "192.0.2.1" {
		t.Errorf("records %+v", events)
	}
}

// TestAnAddressIsAskedOnceADay, whatever is stored, and by however many replicas at once.
func TestAnAddressIsAskedOnceADay(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	c := Channel{Type: TypeEmail, Active: true, Identifiers: []string{"ops@elsewhere.example"}}
	uid, _ := f.create(c)
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"OPS@ELSEWHERE.example"}})
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if _, err := f.ask(t.Context(), f.stored(uid)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for _, step := range []struct {
		after time.Duration
		store bool
		want  int
	}{{0, false, 1}, {23 * time.Hour, true, 1}, {time.Hour, false, 1}, {0, true, 2}, {time.Hour, true, 2}, {10 * 24 * time.Hour, false, 2}} {
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

// TestAMailServerThatWasAwayIsAskedAgain: an address that the link did not reach is sent another one.
func TestAMailServerThatWasAwayIsAskedAgain(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	s.refuse["ops@elsewhere.example"] = "451 4.7.1 later"
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"ops@elsewhere.example"}})
	f.attemptAll()
	s.mu.Lock()
	delete(s.refuse, "ops@elsewhere.example")
	s.mu.Unlock()
	f.attemptAll()
	if sent := len(s.sent(t)); sent != 0 {
		t.Errorf("%d messages at once", sent)
	}
	f.clock = f.clock.Add(askPause)
	f.attemptAll()
	if sent := len(s.sent(t)); sent != 1 {
		t.Errorf("%d messages, want 1", sent)
	}
}

// TestWithoutAMailServerNobodyIsAsked: a channel from before the setting was removed is not served again and again.
func TestWithoutAMailServerNobodyIsAsked(t *testing.T) {
	f, s := newMailFixture(t, Config{})
	uid, _ := f.create(strangers(0, "elsewhere.example"))
	f.config.Mail = nil
	f.raise()
	f.attemptAll()
	if st := f.channel(uid).Status; st.OK || st.Message != "not sent: the setting smtp-host is missing" || len(s.sent(t)) != 0 {
		t.Errorf("status %+v", st)
	}
}

// TestUsersConfirmToo: administrators create users with any address. One that is created later is asked with the next alert.
func TestUsersConfirmToo(t *testing.T) {
	f, s := newMailFixture(t, Config{MailDomains: ownDomain})
	addUser(f, "admin@acme.example", "admin", false, false)
	f.create(Channel{Type: TypeEmail, Active: true, AlertAllUsers: true})
	f.attemptAll()
	addUser(f, "admin@elsewhere.example", "admin", false, false)
	f.raise()
	f.attemptAll()
	sent := s.sent(t)
	if len(sent) != 2 || sent[0][0] != "admin@acme.example" || !strings.HasPrefix(sent[1][1], "[regwarden] Confirm") {
		t.Fatalf("sent %q", sent)
	}
	if _, err := f.Confirm(t.Context(), audit.Origin{}, s.tokenFor(t, "admin@elsewhere.example")); err != nil {
		t.Fatal(err)
	}
	f.raise()
	f.attemptAll()
	if sent = s.sent(t); len(sent) != 4 || sent[3][0] != "admin@elsewhere.example" {
		t.Errorf("sent %q", sent)
	}
}

// TestAddressesThatCannotConfirmAreRefused: without links, only the operator's domains and what is confirmed already can be stored.
func TestAddressesThatCannotConfirmAreRefused(t *testing.T) {
	s := newMailServer(t, false)
	f := newFixture(t, Config{Mail: s.mail(StartTLS), MailDomains: ownDomain})
	create := func(c Channel) string {
		_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, c)
		return fieldsOf(err)
	}
	foreign := Channel{Type: TypeEmail, Active: true, Identifiers: []string{
		"a@ACME.example", "a@elsewhere.example", "a@sub.acme.example", "a@xacme.example", "a@[192.0.2.1]"}}
	if got := create(foreign); got != "identifiers[1] identifiers[2] identifiers[3] identifiers[4]" {
		t.Errorf("refused: %s", got)
	}
	everybody := Channel{Type: TypeEmail, Active: true, AlertAllUsers: true}
	if got := create(everybody); got != "<nil>" {
		t.Errorf("users of the domain: %s", got)
	}
	addUser(f, "admin@elsewhere.example", "admin", false, false)
	if got := create(everybody); got != "alertAllUsers" {
		t.Errorf("a user of another domain: %s", got)
	}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Addresses.Ask(ctx, store.AlertAddress{OrgUID: f.in.OrgUID, Address: "admin@elsewhere.example", AskedAt: f.clock}, []byte("hash"))
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
