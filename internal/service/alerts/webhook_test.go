package alerts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// receiver records requests and responds with respond.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []*http.Request
	bodies  []string
	respond func(http.ResponseWriter, *http.Request)
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{respond: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		respond := r.respond
		r.mu.Unlock()
		respond(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) hook() Channel {
	return Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: secret.String(r.URL + "/hook?token=t0p"),
		Headers: map[string]secret.String{"X-Token": "h1dden"}}}
}

// The channels of ClusterHealth get the alerts of registries, those of other components do not. A test of one sends the same component.
func TestClusterHealthHasTheAlertsOfRegistries(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t)})
	f.in.Component = APIKeyExpiry
	f.create(r.hook())
	f.in.Component = ClusterHealth
	uid, _ := f.create(r.hook())
	f.raise()
	if !f.attempt() || f.attempt() || len(r.bodies) != 1 || !f.channel(uid).Status.OK {
		t.Fatalf("%d alerts were sent, the channel is %+v", len(r.bodies), f.channel(uid).Status)
	}
	if tested, err := f.Test(t.Context(), f.admin, audit.Origin{}, f.in, uid); err != nil || !tested.Delivered {
		t.Fatalf("%+v, %v", tested, err)
	}
	for _, body := range r.bodies {
		if !strings.Contains(body, `"component":"RegistryHealth","kind":"registryNotValid"`) {
			t.Error(body)
		}
	}
}

// A delivery has its id, a signature over time and body, and the headers of the channel.
func TestAWebhookIsSigned(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t), Header: map[string]string{"Regwarden-Hairpin": "mark"}})
	uid, signing := f.create(r.hook())
	f.raise()
	if !f.attempt() || len(r.got) != 1 {
		t.Fatal("nothing was sent")
	}
	got, body := r.got[0], r.bodies[0]
	var n payload
	if err := json.Unmarshal([]byte(body), &n); err != nil || n.Kind != RegistryNotValid ||
		n.Registry.Current.Code != "RegistryAuthFailed" || n.UID == "" {
		t.Errorf("the body is %s: %v", body, err)
	}
	at := fmt.Sprint(f.clock.Unix())
	mac := hmac.New(sha256.New, []byte(signing))
	mac.Write([]byte(at + "." + body))
	if want := "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil)); signing == "" || got.Header.Get(HeaderSignature) != want {
		t.Errorf("signature %q, want %q", got.Header.Get(HeaderSignature), want)
	}
	if got.Header.Get(HeaderDelivery) == "" || got.Header.Get(HeaderDelivery) != n.DeliveryID {
		t.Errorf("delivery %q, in the body %q", got.Header.Get(HeaderDelivery), n.DeliveryID)
	}
	if got.Method != "POST" || got.URL.String() != "/hook?token=t0p" || got.Header.Get("X-Token") != "h1dden" ||
		got.Header.Get("Regwarden-Hairpin") != "mark" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	if s := f.channel(uid).Status; !s.OK || s.Message != "the receiver returned HTTP 204" {
		t.Errorf("status %+v", s)
	}
	if f.attempt() {
		t.Error("it is sent again")
	}
}

// A failed delivery is retried with the same id at growing intervals, and given up after three days.
func TestFailedDeliveriesAreRetriedForThreeDays(t *testing.T) {
	r := newReceiver(t)
	r.respond = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	f := newFixture(t, Config{Egress: loopback(t)})
	uid, _ := f.create(r.hook())
	began := f.clock
	f.raise()
	var waits []time.Duration
	last := f.clock
	for step := 10 * time.Second; f.clock.Sub(began) < 100*time.Hour; f.clock = f.clock.Add(step) {
		if f.clock.Sub(began) > time.Hour {
			step = 5 * time.Minute
		}
		if !f.attempt() {
			continue
		}
		waits, last = append(waits, f.clock.Sub(last)), f.clock
		if s := f.channel(uid).Status; strings.HasPrefix(s.Message, "given up after three days: ") && !s.OK {
			break
		}
	}
	if took := f.clock.Sub(began); took < 71*time.Hour || took > 73*time.Hour {
		t.Errorf("given up after %v; status %+v", took, f.channel(uid).Status)
	}
	if len(waits) < 70 || len(waits) > 110 || waits[1] > time.Minute || waits[20] < 40*time.Minute {
		t.Errorf("%d attempts, waits %v", len(waits), waits)
	}
	for _, got := range r.got {
		if got.Header.Get(HeaderDelivery) != r.got[0].Header.Get(HeaderDelivery) {
			t.Error("a retry is another delivery")
		}
	}
	f.raise() // the next alert is still sent
	r.respond = func(http.ResponseWriter, *http.Request) {}
	f.clock = f.clock.Add(maxWait)
	f.attempt()
	if s := f.channel(uid).Status; !s.OK {
		t.Errorf("the next alert: %+v", s)
	}
}

func TestReceiverResponses(t *testing.T) {
	other := newReceiver(t)
	for _, tt := range []struct {
		name    string
		respond func(http.ResponseWriter, *http.Request)
		message string
		atLeast time.Duration // before the next attempt
		atMost  time.Duration
	}{
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		},
			"the receiver returned HTTP 308; redirects are not followed, so set http.url to their target", 20 * time.Second, time.Minute},
		{"come back later", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "600"); w.WriteHeader(429) },
			"the receiver returned HTTP 429", 10 * time.Minute, 11 * time.Minute},
		{"come back in a year", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(503)
		},
			"the receiver returned HTTP 503", 4 * time.Hour, 4*time.Hour + time.Minute},
		{"come back at once", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(503) },
			"the receiver returned HTTP 503", 20 * time.Second, time.Minute},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(c, "hello\r\n\r\n")
			_ = c.Close()
		}, "the connection was closed without a response", 20 * time.Second, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceiver(t)
			r.respond = tt.respond
			f := newFixture(t, Config{Egress: loopback(t)})
			uid, _ := f.create(r.hook())
			f.raise()
			f.attempt()
			if s := f.channel(uid).Status; s.OK || s.Message != tt.message {
				t.Errorf("status %+v", s)
			}
			f.clock = f.clock.Add(tt.atLeast - 5*time.Second)
			if f.attempt() {
				t.Error("tried too early")
			}
			f.clock = f.clock.Add(tt.atMost - tt.atLeast + 5*time.Second)
			if !f.attempt() {
				t.Error("not tried again")
			}
		})
	}
	if len(other.got) != 0 {
		t.Error("a redirect was followed")
	}
}

// A name that could not be resolved is not reported as one that does not exist: only that is wrong in the settings.
func TestReceiversWithoutAnAddress(t *testing.T) {
	const prefix, dns = "the host of the receiver could not be resolved: ", "--egress-dns"
	for _, tt := range []struct {
		fails         error
		message, hint string
	}{
		{nil, "the host of the receiver does not exist in the DNS that regwarden uses", "Correct the host"},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true, IsTemporary: true}, prefix + "no DNS server responded in time", dns},
		{&net.DNSError{Err: "read udp 192.0.2.1:53: connection refused", IsTemporary: true}, prefix + "no DNS server can be reached", dns},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, prefix + "the DNS server reported a failure", "Retry."},
	} {
		f := newFixture(t, Config{Resolver: &network{fails: tt.fails}})
		uid, _ := f.create(Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: "https://hooks.example.com/x"}})
		tested, err := f.Test(t.Context(), f.admin, audit.Origin{}, f.in, uid)
		if err != nil || tested.Error != tt.message || !strings.Contains(tested.Hint, tt.hint) {
			t.Errorf("%v: %+v, %v", tt.fails, tested, err)
		}
	}
}

// A forbidden address is not contacted under any name, with or without a proxy.
func TestForbiddenAddressesAreNotContacted(t *testing.T) {
	proxy := newReceiver(t)
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, through := range []string{"", "a proxy"} {
		n := &network{to: proxy.Listener.Addr().String(), names: map[string]netip.Addr{
			"metadata.example.com": netip.MustParseAddr("169.254.169.254"), "self.example.com": netip.MustParseAddr("127.0.0.1"),
			"wrapped.example.com": netip.MustParseAddr("::ffff:169.254.169.254"), "good.example.com": netip.MustParseAddr("192.0.2.7")}}
		c := Config{Resolver: n, Dialer: n}
		if through != "" {
			c.Proxy = func(*url.URL) (*url.URL, error) { return proxyURL, nil }
		}
		f, uids := newFixture(t, c), map[string]string{} // by host
		for _, host := range []string{"169.254.169.254", "metadata.example.com", "self.example.com", "wrapped.example.com", "127.0.0.1",
			"[::1]", "10.0.0.1:6379"} {
			uids[host], _ = f.create(Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: secret.String("http://" + host + "/")}})
		}
		f.raise()
		f.attemptAll()
		for host, uid := range uids {
			s := f.channel(uid).Status
			if s.OK || !strings.HasPrefix(s.Message, "not sent: the address is not allowed") || strings.Contains(s.Message, "169.254") {
				t.Errorf("%s through %q: %+v", host, through, s)
			}
		}
		f.clock = f.clock.Add(3 * time.Hour)
		if f.attempt() {
			t.Errorf("through %q: tried again within three hours", through)
		}
		f.clock = f.clock.Add(2 * time.Hour)
		for n := range len(uids) {
			if !f.attempt() {
				t.Errorf("through %q: only %d of %d are tried again", through, n, len(uids))
			}
		}
		if n.dials() != 0 || len(proxy.got) != 0 {
			t.Errorf("through %q were contacted: %v, %d requests to the proxy", through, n.dialed, len(proxy.got))
		}
	}
}

// A name that does not resolve is sent to the proxy, whose own address is not subject to the policy.
func TestDeliveryThroughAProxy(t *testing.T) {
	proxy := newReceiver(t)
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{to: proxy.Listener.Addr().String()}
	f := newFixture(t, Config{Resolver: n, Dialer: n, Proxy: func(*url.URL) (*url.URL, error) { return proxyURL, nil }})
	uid, _ := f.create(Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: "http://only-the-proxy-knows.example.com/x"}})
	f.raise()
	f.attempt()
	if s := f.channel(uid).Status; !s.OK || len(proxy.got) != 1 || proxy.got[0].RequestURI != "http://only-the-proxy-knows.example.com/x" {
		t.Errorf("status %+v, the proxy got %d", s, len(proxy.got))
	}
}

// The proxy gets the checked address, since it could resolve the name to another one.
func TestProxyGetsTheCheckedAddress(t *testing.T) {
	requested := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{to: proxy.Listener.Addr().String(), names: map[string]netip.Addr{"good.example.com": netip.MustParseAddr("10.1.2.3")}}
	f := newFixture(t, Config{Resolver: n, Dialer: n, Proxy: func(*url.URL) (*url.URL, error) { return proxyURL, nil }})
	uid, _ := f.create(Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: "https://good.example.com/x"}})
	f.raise()
	f.attempt()
	if got := <-requested; got != "CONNECT 10.1.2.3:443" {
		t.Errorf("request to the proxy: %s", got)
	}
	if s := f.channel(uid).Status; s.OK || s.Message != "the outbound proxy did not connect to the receiver: it returned HTTP 403" {
		t.Errorf("status %+v", s)
	}
}

// rebinding resolves a name to a private address first, and to this machine from then on.
type rebinding struct {
	*network
	lookups int
}

func (r *rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.lookups++
	if r.lookups == 1 {
		return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// Each delivery dials the address that was evaluated, directly and through a proxy. The next one of a name with another address is refused.
func TestNamesThatChangeTheirAddress(t *testing.T) {
	r := newReceiver(t)
	to := r.Listener.Addr().String()
	for _, through := range []string{"", "http://198.51.100.7:3128"} {
		names := &rebinding{network: &network{to: to}}
		c := Config{Resolver: names, Dialer: names}
		if through != "" {
			proxyURL, err := url.Parse(through)
			if err != nil {
				t.Fatal(err)
			}
			c.Proxy, c.ProxyConnect = func(*url.URL) (*url.URL, error) { return proxyURL, nil }, egress.ConnectAddress
		}
		f := newFixture(t, c)
		uid, _ := f.create(Channel{Type: TypeHTTP, Active: true, HTTP: &HTTP{URL: "http://rebind.example.com/x"}})
		f.raise()
		f.attempt()
		dialed := "10.1.2.3:80"
		if through != "" {
			dialed = "198.51.100.7:3128"
		}
		if names.lookups != 1 || !slices.Equal(names.dialed, []string{dialed}) {
			t.Errorf("through %q: %d lookups, dialed %v", through, names.lookups, names.dialed)
		}
		f.clock = f.clock.Add(time.Hour)
		f.raise()
		if !f.attempt() || names.lookups != 2 || names.dials() != 1 || f.channel(uid).Status.OK {
			t.Errorf("through %q, from the second lookup on: %d lookups, dialed %v, status %+v", through, names.lookups, names.dialed,
				f.channel(uid).Status)
		}
	}
}

// Values in a template are escaped as the inside of a JSON string.
func TestTemplateValuesAreEscaped(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t)})
	hook := r.hook()
	hook.HTTP.Body = `{"text": "{{message}} {{registry}} {{code}} {{field}} {{result}} {{hint}}"}`
	f.create(hook)
	f.raise()
	f.attempt()
	var got map[string]string
	if err := json.Unmarshal([]byte(r.bodies[0]), &got); err != nil || len(got) != 1 {
		t.Fatalf("%s: %v", r.bodies[0], err)
	}
	if want := `Registry "a\b" is not valid. a"}, "x": {" RegistryAuthFailed auth.password "Rejected". Renew "it".`; got["text"] != want {
		t.Errorf("text %q, want %q", got["text"], want)
	}
}

// A template with an unknown placeholder is refused. One that an earlier version stored is sent unchanged, and stays valid when other
// fields of the channel are changed.
func TestUnknownPlaceholders(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t)})
	hook := r.hook()
	hook.HTTP.Body = `{"text": "{{hint}} {{unknown}} {{ hint }} {{unknown}}", "n": {"m": {}}}`
	_, _, err := f.Create(t.Context(), f.admin, audit.Origin{}, f.in, hook)
	refused, _ := errors.AsType[*fault.Error](err)
	if fieldsOf(err) != "http.body" || !strings.Contains(refused.Fields[0].Problem,
		"unknown placeholders: {{unknown}}, {{ hint }}; must be among {{message}}, ") {
		t.Fatalf("%v: %+v", err, refused)
	}
	hook.HTTP.Body = ""
	uid, _ := f.create(hook)
	old := f.stored(uid)
	old.HTTP.Body = `{"text": "{{message}} {{unknown}}"}`
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Update(ctx, old, f.clock) })
	for _, body := range []secret.String{mask, secret.String(old.HTTP.Body)} {
		changed := f.channel(uid)
		changed.HTTP.Body = body
		if err := f.update(uid, changed); err != nil {
			t.Fatal(err)
		}
	}
	f.raise()
	f.attempt()
	if len(r.bodies) != 1 || !strings.Contains(r.bodies[0], "is not valid. {{unknown}}") {
		t.Errorf("sent %q", r.bodies)
	}
	changed := f.channel(uid)
	changed.HTTP.Body = `{"text": "{{unknown}}"}`
	if got := fieldsOf(f.update(uid, changed)); got != "http.body" {
		t.Errorf("another template with an unknown placeholder: %s", got)
	}
}

// An alert that failed while the clock was wrong is sent with the next one.
func TestAWrongClockDoesNotDelayLaterAlerts(t *testing.T) {
	r := newReceiver(t)
	f := newFixture(t, Config{Egress: loopback(t)})
	uid, _ := f.create(r.hook())
	works := r.respond
	r.respond = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	right := f.clock
	f.clock = right.AddDate(1, 0, 0)
	f.raise()
	f.attempt()
	f.clock, r.respond = right, works
	if f.attempt() {
		t.Fatal("the failed delivery is due already, so the test proves nothing")
	}
	f.raise()
	for n := 2; n <= 3; n++ {
		if f.attempt(); len(r.got) != n || !f.channel(uid).Status.OK {
			t.Errorf("sent %d times, want %d; status %+v", len(r.got), n, f.channel(uid).Status)
		}
	}
}
