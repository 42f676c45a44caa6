package alerts

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/mail"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// mailServer is a small SMTP server (RFC 5321) with STARTTLS or TLS from the start and AUTH PLAIN.
type mailServer struct {
	config *tls.Config
	direct bool // TLS from the start
	roots  *x509.CertPool
	port   int

	mu       sync.Mutex
	messages []string          // as received
	to       []string          // envelope
	refuse   map[string]string // response to RCPT, by address
	clear    bool              // a password or message was received without TLS
	login    string            // sent by AUTH PLAIN
	pause    time.Duration     // before each response to RCPT
	atRCPT   func()            // called before each response to RCPT, unless nil
}

func newMailServer(t *testing.T, direct bool) *mailServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{direct: direct, roots: x509.NewCertPool(), refuse: map[string]string{},
		config: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	s.roots.AddCert(leaf)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return s
}

func (s *mailServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	secure := s.direct
	if secure {
		c = tls.Server(c, s.config)
	}
	in := bufio.NewReader(c)
	say := func(lines string) { _, _ = io.WriteString(c, lines+"\r\n") }
	say("220 mail.example.com")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			extensions := "250-mail.example.com\r\n250-ENHANCEDSTATUSCODES\r\n"
			if !secure {
				extensions += "250-STARTTLS\r\n"
			}
			say(extensions + "250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go")
			secure, c = true, tls.Server(c, s.config)
			in = bufio.NewReader(c)
		case "AUTH":
			text, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			s.mu.Lock()
			s.login, s.clear = string(text), s.clear || !secure
			s.mu.Unlock()
			say("235 2.7.0 welcome")
		case "RCPT":
			address := strings.TrimSuffix(strings.TrimPrefix(rest, "TO:<"), ">")
			time.Sleep(s.pause)
			if s.atRCPT != nil {
				s.atRCPT()
			}
			s.mu.Lock()
			response := s.refuse[address]
			if response == "" {
				response = "250 2.1.5 ok"
				s.to = append(s.to, address)
			}
			s.mu.Unlock()
			say(response)
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil || line == ".\r\n" {
					break
				}
				text.WriteString(line)
			}
			s.mu.Lock()
			s.messages, s.clear = append(s.messages, text.String()), s.clear || !secure
			s.mu.Unlock()
			say("250 2.0.0 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 2.0.0 ok")
		}
	}
}

func (s *mailServer) mail(way string) *Mail {
	return &Mail{Host: "127.0.0.1", Port: s.port, From: "regwarden@acme.example", TLS: way, Roots: s.roots, Username: "robot",
		Password: "pa55"}
}

// ownDomain is the domain of addresses that need no confirmation.
var ownDomain = []string{"acme.example"}

func addUser(f *fixture, email, role string, member, disabled bool) {
	u := store.User{UID: uuid.NewString(), OrgUID: f.in.OrgUID, Email: email, Canonical: email, Role: role, PasswordHash: "x",
		PasswordChangedAt: f.clock, CreatedAt: f.clock}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Users.Insert(ctx, u); err != nil {
			return err
		}
		if member {
			if err := tx.Projects.InsertMember(ctx, u.OrgUID, f.in.ProjectUID, u.UID, ""); err != nil {
				return err
			}
		}
		if disabled {
			return tx.Users.Disable(ctx, u.OrgUID, u.UID, f.clock)
		}
		return nil
	})
}

// Each recipient gets a separate message over TLS.
func TestEmailIsSentToAllRecipients(t *testing.T) {
	for _, way := range []string{StartTLS, DirectTLS} {
		t.Run(way, func(t *testing.T) {
			s := newMailServer(t, way == DirectTLS)
			f := newFixture(t, Config{Mail: s.mail(way), MailDomains: ownDomain})
			addUser(f, "admin@acme.example", "admin", false, false)
			addUser(f, "member@acme.example", "member", true, false)
			addUser(f, "outsider@acme.example", "member", false, false)
			addUser(f, "left@acme.example", "member", true, true)
			uid, _ := f.create(Channel{Type: TypeEmail, Active: true, AlertAllUsers: true,
				Identifiers: []string{"ops@acme.example", "member@acme.example"}})
			f.write(func(ctx context.Context, tx *store.Tx) error {
				a := sample(f)
				a.Message = "Registry \"x\r\nBcc: evil@example.com\r\n\r\nbody\" is not valid."
				a.Registry.Name = "x\r\n.\r\nMAIL FROM:<evil@example.com>"
				return Raise(ctx, tx, a)
			})
			f.attempt()
			slices.Sort(s.to)
			if want := []string{"admin@acme.example", "member@acme.example", "ops@acme.example"}; !slices.Equal(s.to, want) {
				t.Fatalf("sent to %v, want %v; status %+v", s.to, want, f.channel(uid).Status)
			}
			if s.clear || s.login != "\x00robot\x00pa55" {
				t.Errorf("in clear: %t; logged in as %q", s.clear, s.login)
			}
			ids := map[string]bool{}
			for _, text := range s.messages {
				m, err := mail.ReadMessage(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				to, _ := m.Header.AddressList("To")
				ids[m.Header.Get("Message-Id")] = true
				if len(to) != 1 || m.Header.Get("Bcc") != "" || m.Header.Get("Auto-Submitted") != "auto-generated" ||
					m.Header.Get("From") != "<regwarden@acme.example>" {
					t.Errorf("headers %v", m.Header)
				}
			}
			if len(ids) != 1 || ids[""] {
				t.Errorf("message ids %v", ids)
			}
			if st := f.channel(uid).Status; !st.OK || st.Message != "sent to 3 of 3 addresses" {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// Addresses that got the alert do not get it again, and a rejected address does not affect the others.
func TestEmailResumesAfterFailure(t *testing.T) {
	s := newMailServer(t, false)
	f := newFixture(t, Config{Mail: s.mail(StartTLS), MailDomains: ownDomain})
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"a@acme.example", "b@acme.example", "c@acme.example"}})
	s.refuse["a@acme.example"], s.refuse["c@acme.example"] = "550 5.1.1 no such user", "451 4.7.1 later"
	f.raise()
	f.attempt()
	if st := f.channel(uid).Status; st.OK || !strings.Contains(st.Message, "451 4.7.1") || !slices.Equal(s.to, []string{"b@acme.example"}) {
		t.Errorf("status %+v, sent to %v", st, s.to)
	}
	s.mu.Lock()
	delete(s.refuse, "c@acme.example")
	s.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	f.attempt()
	if st := f.channel(uid).Status; !st.OK || !strings.Contains(st.Message, "550") ||
		!slices.Equal(s.to, []string{"b@acme.example", "c@acme.example"}) {
		t.Errorf("status %+v, sent to %v", st, s.to)
	}
	if f.clock = f.clock.Add(100 * time.Hour); f.attempt() {
		t.Error("it is sent again")
	}
}

// A mailbox that is full does not prevent that others get an alert.
func TestAFullMailboxDelaysNoOther(t *testing.T) {
	s := newMailServer(t, false)
	f := newFixture(t, Config{Mail: s.mail(StartTLS), MailDomains: ownDomain})
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"a@acme.example", "b@acme.example", "c@acme.example"}})
	s.refuse["a@acme.example"] = "452 4.2.2 mailbox full"
	f.raise()
	f.attempt()
	others := []string{"b@acme.example", "c@acme.example"}
	if st := f.channel(uid).Status; st.OK || !strings.Contains(st.Message, "452 4.2.2") || !slices.Equal(s.to, others) {
		t.Errorf("status %+v, sent to %v", st, s.to)
	}
	f.raise() // the next alert is not delayed
	f.attempt()
	if got := s.to[len(others):]; !slices.Equal(got, others) {
		t.Errorf("the next alert was sent to %v", got)
	}
	s.mu.Lock()
	delete(s.refuse, "a@acme.example")
	s.mu.Unlock()
	f.clock = f.clock.Add(time.Minute)
	f.attempt()
	f.attempt()
	if st := f.channel(uid).Status; !st.OK || !slices.Equal(s.to[2*len(others):], []string{"a@acme.example", "a@acme.example"}) {
		t.Errorf("status %+v, sent to %v", st, s.to)
	}
}

// An alert is not sent again to the addresses that got it while the service ended.
func TestEmailResumesAfterARestart(t *testing.T) {
	s := newMailServer(t, false)
	f := newFixture(t, Config{Mail: s.mail(StartTLS), MailDomains: ownDomain})
	f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"a@acme.example", "b@acme.example", "c@acme.example"}})
	s.refuse["a@acme.example"] = "452 4.2.2 mailbox full"
	ctx, restart := context.WithCancel(t.Context())
	s.atRCPT = restart
	f.raise()
	f.attemptUntil(ctx)
	f.clock = f.clock.Add(time.Minute)
	s.mu.Lock()
	delete(s.refuse, "a@acme.example")
	s.mu.Unlock()
	f.attempt()
	if want := []string{"b@acme.example", "c@acme.example", "a@acme.example"}; ctx.Err() == nil || !slices.Equal(s.to, want) {
		t.Errorf("sent to %v, want %v", s.to, want)
	}
	damaged := f.Deliverer.sender.send(t.Context(), store.Channel{Damaged: true}, store.Delivery{Processed: s.to}, Alert{})
	if !slices.Equal(damaged.sentTo, s.to) {
		t.Errorf("after the settings could not be read, %v have it", damaged.sentTo)
	}
}

// Addresses that an attempt had no time for follow at once in the next one. Such attempts are not failures, and an address that one
// attempt found rejected is not tried in another.
func TestManyAddressesAreSentToWithoutWaiting(t *testing.T) {
	s := newMailServer(t, false)
	s.pause = 10 * time.Millisecond
	m := s.mail(NoTLS)
	m.Username, m.reserve = "", attemptTimeout-45*time.Millisecond
	f := newFixture(t, Config{Mail: m, MailDomains: ownDomain, MailsPerHour: 1000})
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf("u%02d@acme.example", i))
	}
	for _, refused := range []string{all[1], all[2], all[12]} {
		s.refuse[refused] = "550 5.1.1 no such user"
	}
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: all})
	f.raise()
	attempts := 0
	for ; f.attempt(); attempts++ { // the clock does not advance
		if st := f.channel(uid).Status; !st.OK || !strings.HasPrefix(st.Message, fmt.Sprintf("sent to %d of 20 addresses", len(s.to))) {
			t.Errorf("status %+v when %d messages were sent", st, len(s.to))
		}
	}
	if st := f.channel(uid).Status; len(s.to) != 17 || attempts < 3 || st.Message != "sent to 17 of 20 addresses; 3 were rejected" {
		t.Errorf("%d of 17 sent in %d attempts; status %+v", len(s.to), attempts, st)
	}
	slices.Sort(s.to)
	if distinct := len(slices.Compact(s.to)); distinct != 17 {
		t.Errorf("%d different addresses got the alert", distinct)
	}
}

// Progress is not delayed and does not count as an attempt, but ends after three days.
func TestProgressIsNotAFailure(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d := store.Delivery{CreatedAt: at.Add(-deliveryPeriod + time.Hour), Attempts: 3, Refused: 1}
	after, failures, notBefore := next(d, 2, result{more: true, sentTo: []string{"a"}, rejected: 2}, at)
	if after.Attempts != 3 || failures != 2 || notBefore.After(at) || !after.NextAt.Equal(at) || len(after.Processed) != 1 ||
		after.Refused != 3 {
		t.Errorf("%+v, %d failures, not before %v", after, failures, notBefore)
	}
	if after, failures, notBefore = next(d, 2, result{more: true, pause: time.Minute}, at); after.Attempts != 3 || failures != 2 ||
		!notBefore.Equal(at.Add(time.Minute)) || !after.NextAt.Equal(notBefore) {
		t.Errorf("without budget: %+v, %d failures, not before %v", after, failures, notBefore)
	}
	if after, _, _ = next(d, 2, result{more: true}, at.Add(time.Hour)); after.EndedAt.IsZero() {
		t.Errorf("goes on after three days: %+v", after)
	}
}

// The status of the channel reports that not all users get the alert.
func TestStatusReportsTooManyUsers(t *testing.T) {
	s := newMailServer(t, false)
	m := s.mail(NoTLS)
	m.Username = ""
	f := newFixture(t, Config{Mail: m, MailDomains: ownDomain, MailsPerHour: 1000})
	f.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range maxRecipients + 1 {
			name := fmt.Sprintf("u%03d@acme.example", i)
			u := store.User{UID: uuid.NewString(), OrgUID: f.in.OrgUID, Email: name, Canonical: name, Role: "admin", PasswordHash: "x",
				PasswordChangedAt: f.clock, CreatedAt: f.clock}
			if err := tx.Users.Insert(ctx, u); err != nil {
				return err
			}
		}
		return nil
	})
	uid, _ := f.create(Channel{Type: TypeEmail, Active: true, AlertAllUsers: true})
	f.raise()
	f.attemptAll() // on a busy machine one attempt has no time for all of them
	if st := f.channel(uid).Status; len(s.to) != maxRecipients ||
		st.Message != "sent to 500 of 500 addresses; the project has more than 500 users, and only the first 500 get alerts" {
		t.Errorf("%d sent; status %+v", len(s.to), st)
	}
}

// Without TLS nothing is sent, unless the operator configures it. A server that is down is retried.
func TestEmailFailures(t *testing.T) {
	s := newMailServer(t, false)
	untrusted := s.mail(StartTLS)
	untrusted.Roots = x509.NewCertPool()
	unreachable := s.mail(StartTLS)
	unreachable.Port = 1
	for name, m := range map[string]*Mail{"untrusted": untrusted, "unreachable": unreachable} {
		f := newFixture(t, Config{Mail: m, MailDomains: ownDomain, MailsPerHour: 1000})
		uid, _ := f.create(Channel{Type: TypeEmail, Active: true, Identifiers: []string{"a@acme.example"}})
		f.raise()
		f.attempt()
		if st := f.channel(uid).Status; st.OK || !strings.HasPrefix(st.Message, "the mail server could not be used: ") {
			t.Errorf("%s: status %+v", name, st)
		}
	}
	if len(s.messages) != 0 || s.login != "" {
		t.Error("something was sent to a server that is not trusted")
	}
}

func TestExpiringKeysRaiseOneAlert(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t)})
	f.in.Component = APIKeyExpiry
	f.create(r.hook())
	u := store.User{UID: uuid.NewString(), OrgUID: f.in.OrgUID, Email: "u@acme.example", Canonical: "u", Role: "member", PasswordHash: "x",
		PasswordChangedAt: f.clock, CreatedAt: f.clock}
	f.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Users.Insert(ctx, u); err != nil {
			return err
		}
		for i, days := range []int{6, 8, 60} {
			k := store.APIKey{UID: uuid.NewString(), OrgUID: u.OrgUID, UserUID: u.UID, Name: fmt.Sprint("k", i),
				Canonical: fmt.Sprint("k", i), Hash: []byte{byte(i)},
				CreatedAt: f.clock, ExpiresAt: f.clock.Add(time.Duration(days) * 24 * time.Hour)}
			if err := tx.APIKeys.Insert(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	for day, want := range []int{1, 2, 2, 2, 2, 3, 3, 4} {
		var both sync.WaitGroup
		for range 2 { // as by two replicas
			both.Go(func() {
				if err := f.alertExpiring(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for f.attempt() {
		}
		if len(r.bodies) != want {
			t.Errorf("day %d: %d alerts, want %d", day, len(r.bodies), want)
		}
		f.clock = f.clock.Add(24 * time.Hour)
	}
	if !strings.Contains(r.bodies[0], `"kind":"apiKeyExpiresSoon"`) || !strings.Contains(r.bodies[0], `"user":"u@acme.example"`) {
		t.Errorf("body %s", r.bodies[0])
	}
}

// A mail server that sends without end, or never, ends only the attempt.
func TestMailConnectionIsLimited(t *testing.T) {
	server, client := net.Pipe()
	defer server.Close()
	go func() {
		for line := []byte(strings.Repeat("x", 4096)); ; {
			if _, err := server.Write(line); err != nil {
				return
			}
		}
	}()
	c := &mailConn{client, time.Now().Add(time.Minute), maxMailResponse}
	if n, err := io.Copy(io.Discard, c); !errors.Is(err, errLongMailResponse) || n != maxMailResponse {
		t.Errorf("read %d bytes, then %v", n, err)
	}
	c.left, c.end = maxMailResponse, time.Now()
	if err := c.SetDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after the end of the attempt: %v", err)
	}
}
