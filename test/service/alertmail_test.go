package service_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// mailbox is a mail server that takes everything, without TLS and login (RFC 5321).
type mailbox struct {
	mu       sync.Mutex
	messages []string
}

func (m *mailbox) all() []string { m.mu.Lock(); defer m.mu.Unlock(); return slices.Clone(m.messages) }

// listen serves until the test ends and returns the flags for the service.
func (m *mailbox) listen(t *testing.T) []string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	return []string{"--smtp-host", "127.0.0.1", "--smtp-port", strconv.Itoa(port), "--smtp-from",
		"regwarden@own.example", "--smtp-tls", "none"}
}

func (m *mailbox) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
	say("220 mail.example.com")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToUpper(line), "DATA") {
			say("250 ok")
			continue
		}
		say("354 go on")
		var text strings.Builder
		for line = ""; line != ".\r\n" && err == nil; line, err = in.ReadString('\n') {
			text.WriteString(line)
		}
		m.mu.Lock()
		m.messages = append(m.messages, strings.ReplaceAll(text.String(), "=\r\n", "")) // of quoted-printable
		m.mu.Unlock()
		say("250 taken")
	}
}

// TestAnAddressConfirms stores a channel for an address of another domain and follows the link that is sent there.
func TestAnAddressConfirms(t *testing.T) {
	t.Parallel()
	var box mailbox
	server := instance.Start(t, watchEvery("1s",
		append(box.listen(t), "--public-url", "https://regwarden.example.com/base/", "--alert-mail-domains", "own.example")...))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make(channelsOf(admin.project()), instance.JSON(object{"type": "email", "isActive": true,
		"identifiers": []string{"ops@own.example"}}))
	admin.do("PUT", channelsOf(admin.project())+"/"+uid, instance.JSON(object{"type": "email", "isActive": true,
		"identifiers": []string{"ops@own.example", "a&b@other.example"}})).Want(http.StatusNoContent)
	var channel struct{ Unconfirmed []string }
	unconfirmed := func(want ...string) {
		t.Helper()
		channel.Unconfirmed = nil
		if admin.get(channelsOf(admin.project())+"/"+uid, &channel); !slices.Equal(channel.Unconfirmed, want) {
			t.Errorf("unconfirmed: %q, want %q", channel.Unconfirmed, want)
		}
	}
	instance.Await(t, "the link", func() bool { return len(box.all()) > 0 })
	unconfirmed("a&b@other.example")
	const before = "https://regwarden.example.com/base"
	_, link, found := strings.Cut(box.all()[0], before)
	path, _, _ := strings.Cut(link, "\r\n")
	if !found || !strings.Contains(box.all()[0], "To: <a&b@other.example>") {
		t.Fatalf("sent %s", box.all()[0])
	}
	recipient := server.Client(t)
	page := recipient.Do(http.MethodGet, path, "").Want(http.StatusOK)
	if page.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.Body, "to a&amp;b@other.example.") ||
		!strings.Contains(page.Body, `<form method="post">`) {
		t.Errorf("the page is %v\n%s", page.Header, page.Body)
	}
	unconfirmed("a&b@other.example")
	for range 2 {
		done := recipient.Do(http.MethodPost, path, "", "Content-Type", "application/x-www-form-urlencoded").Want(http.StatusOK)
		if strings.Contains(done.Body, "form") || !strings.Contains(done.Body, "gets the alerts") {
			t.Errorf("the page after that is %s", done.Body)
		}
	}
	unconfirmed()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if f := recipient.Do(method, path+"x", "").Want(http.StatusNotFound).Fault(); f.Code != "ResourceNotFound" ||
			!strings.Contains(f.Message, "link") {
			t.Errorf("%s with a wrong token: %+v", method, f)
		}
	}
	if page := admin.records("?action=alert.confirm"); len(page.Items) != 1 {
		t.Errorf("%d records of the confirmation, want 1", len(page.Items))
	}
	if token := path[strings.LastIndexByte(path, '/')+1:]; strings.Contains(server.Log(), token) {
		t.Error("the token is in the log")
	}
	if len(box.all()) != 1 {
		t.Errorf("%d messages, want the link alone", len(box.all()))
	}
}

// TestLinksHaveThePublicURL: neither the link nor the page behind it has anything from the headers of a request. Mail servers are the
// operator's choice: an address with another one in it is refused.
func TestLinksHaveThePublicURL(t *testing.T) {
	t.Parallel()
	var box mailbox
	server := instance.Start(t, watchEvery("1s", append(box.listen(t), "--public-url", "https://regwarden.example.com")...))
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	hostile := []string{"Host", "evil.example", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http", "Forwarded",
		"host=evil.example;proto=http",
		"X-Original-Url", "//evil.example/", "Origin", "https://evil.example", "Referer", "https://evil.example/"}
	path := channelsOf(admin.project())
	channel := func(address string) string {
		return instance.JSON(object{"type": "email", "isActive": true, "identifiers": []string{address}})
	}
	for _, address := range []string{"a@[127.0.0.1]", "a@[169.254.169.254]", "a@127.0.0.1", "a@[IPv6:::1]", "a@localhost:25",
		"a%127.0.0.1@b@c.example", "@127.0.0.1:a@b.example",
		"a@b.example\r\nRCPT TO:<c@d.example>", "a@b.example>\r\nBcc: c@d.example"} {
		if got := admin.do("POST", path, channel(address)); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", address, got.Status, got.Body)
		}
	}
	admin.client.Do("POST", path, channel("a@other.example"), append(hostile, admin.credential...)...).Want(http.StatusCreated)
	instance.Await(t, "the link", func() bool { return len(box.all()) > 0 })
	message := box.all()[0]
	_, link, found := strings.Cut(message, "https://regwarden.example.com")
	link, _, _ = strings.Cut(link, "\r\n")
	if !found || strings.Contains(message, "evil") || strings.Count(message, "://") != 1 {
		t.Fatalf("sent %s", message)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		page := server.Client(t).Do(method, link, "",
			append(hostile, "Content-Type", "application/x-www-form-urlencoded")...).Want(http.StatusOK)
		if strings.Contains(page.Body, "evil") || page.Header.Get("Location") != "" {
			t.Errorf("%s: %v %s", method, page.Header, page.Body)
		}
	}
}

// TestNewWebhooksAreLimited: a scheme, host or port that the organization has no channel for counts as a check of the user.
func TestNewWebhooksAreLimited(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--check-per-minute", "1", "--watch-interval", "0s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	path := channelsOf(admin.project())
	uid := admin.make(path, hook("https://one.example.com/secret-path?key=secret-key"))
	admin.make(path, hook("https://one.example.com/another-path"))
	for _, request := range [][3]string{
		{"POST", path, hook("https://one.example.com:8443/")},
		{"PUT", path + "/" + uid, hook("http://one.example.com/")},
		{"PUT", path, `{"channels":[` + hook("https://two.example.com/") + `]}`},
	} {
		last := admin.do(request[0], request[1], request[2]).Want(http.StatusTooManyRequests)
		if f := last.Fault(); f.Code != "TooManyRequests" {
			t.Errorf("%s %s: %s", request[0], request[1], f.Code)
		}
		wantRetryAfter(t, last)
	}
	var list struct {
		Channels []struct{ HTTP struct{ URL string } }
	}
	if admin.get(path, &list); len(list.Channels) != 2 || list.Channels[0].HTTP.URL != "https://one.example.com/********" {
		t.Errorf("channels after that: %+v", list)
	}
	record := admin.do("GET", "/v1/audits?action=alert.create&outcome=succeeded", "").Want(http.StatusOK).Body
	if strings.Count(record, `"target":"https://one.example.com:443"`) != 2 || strings.Contains(record, "secret") {
		t.Errorf("records %s", record)
	}
}

// The names of a person's organizations are sent, and the response shows nothing of it.
func TestForgottenOrganizations(t *testing.T) {
	t.Parallel()
	var box mailbox
	server := instance.Start(t, instance.Options{Flags: box.listen(t)})
	newRival(t, server)
	client := server.Client(t)
	for _, address := range []string{"unknown@acme.example", "", "no%20address", instance.Email} {
		got := client.Do(http.MethodGet, "/v1/auth/user/org/forgot?emailId="+address, "").Want(http.StatusNoContent)
		if got.Body != "" {
			t.Errorf("%q: %s", address, got.Body)
		}
	}
	instance.Await(t, "the message", func() bool { return len(box.all()) > 0 })
	all := box.all()
	if len(all) != 1 || !strings.Contains(all[0], "To: <"+instance.Email+">") || !strings.Contains(all[0], "  "+instance.Org+"\r\n") ||
		strings.Contains(all[0], "Rival") {
		t.Errorf("sent %q", all)
	}
}
