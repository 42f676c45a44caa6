// Package regchecktest starts registries that behave like real ones, or misbehave intentionally.
//
// Each Start creates a test network: hosts with invented names and addresses, a resolver and a dialer for them, certificates
// of its own authorities, and servers on loopback. A checker with this resolver and dialer sees several hosts, zones and ports,
// and no packet leaves the machine. Servers record all credentials that they receive, so that a test can check that secrets
// were sent only to the intended hosts.
//
// The package is for tests only. It stores nothing, and its tokens are not signed.
package regchecktest

import (
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Accounts that every server with accounts knows. Each has a comment on what it may read.
const (
	User     = "ada" // reads everything but the repositories under vault/
	Password = "ada-pass-4711-blue"
	// Token is ada's identity token: a refresh token for token services, the password of Basic
	// (a personal access token), and a bearer token where a server takes those directly.
	Token = "ada-identity-token-0815-green"

	RobotUser     = "robot$ci" // reads the repositories under charts/ only
	RobotPassword = "robot-pass-2342-red"

	AdminUser     = "admin" // reads everything, and Harbor's catalog
	AdminPassword = "admin-pass-3141-gold"

	ExpiredPassword = "expired-pass-1999-grey" // expired; some servers report that
	WrongPassword   = "wrong-pass-6666-black"
	WrongToken      = "wrong-token-7777-white"
)

// Registry is a started server with its test network. It is an egress.Resolver and an egress.Dialer.
type Registry struct {
	Name     string // as given to Start
	Endpoint string // what to write into a definition: "https://registry.test"
	BasePath string // the same; mostly ""

	tree  *tree
	pki   *pki
	named map[string]dnsResponse          // host name to addresses
	sites map[netip.AddrPort]*site        // listeners by address
	dead  map[netip.Addr]func(dial) error // addresses that never respond
	done  chan struct{}                   // closed by Close
	held  chan struct{}                   // closed by Release
	work  sync.WaitGroup
	mints *mints

	mu        sync.Mutex
	sightings []Sighting
	requests  []Request
	dials     []string
	open      map[net.Conn]bool
	closers   []func() error
	err       error        // of what sets the server up
	free      map[bool]int // next free host number, by public
}

// Start starts the server of that name and ends it with the test. The names are those of Servers.
func Start(t testing.TB, name string) *Registry {
	t.Helper()
	g, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// Open is Start for programs other than tests; the caller closes the Registry.
func Open(name string) (*Registry, error) {
	build, known := table()[name]
	if !known {
		return nil, unknownServer(name)
	}
	pki, err := newPKI()
	if err != nil {
		return nil, err
	}
	g := &Registry{
		Name: name, Endpoint: "https://registry.test", tree: sharedTree(), pki: pki,
		named: map[string]dnsResponse{}, sites: map[netip.AddrPort]*site{}, dead: map[netip.Addr]func(dial) error{},
		done: make(chan struct{}), held: make(chan struct{}), mints: newMints(), open: map[net.Conn]bool{}, free: map[bool]int{},
	}
	g.inventNames()
	build(g)
	if g.err != nil {
		g.Close()
		return nil, g.err
	}
	return g, nil
}

// fail notes an error of what sets the server up, which Open returns.
func (g *Registry) fail(err error) { g.err = errors.Join(g.err, err) }

type unknownServer string

func (u unknownServer) Error() string { return "regchecktest: no server is named " + string(u) }

// Servers returns the names of all servers, sorted.
func Servers() []string { return slices.Sorted(maps.Keys(table())) }

// builder sets the sites of one named server up.
type builder func(*Registry)

func table() map[string]builder {
	all := map[string]builder{}
	for _, part := range []map[string]builder{
		plainServers(), productServers(), challengeServers(), tokenServers(), foreignServers(),
		hostileServers(), redirectServers(), tlsServers(), proxyServers(), oddServers(), listingServers(),
		contentServers(), artifactServers(), chartServers(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// Close ends all servers and waits until their goroutines are gone.
func (g *Registry) Close() {
	g.mu.Lock()
	select {
	case <-g.done:
		g.mu.Unlock()
		return
	default:
	}
	close(g.done)
	closers := g.closers
	conns := slices.Collect(maps.Keys(g.open))
	g.mu.Unlock()
	for _, closer := range closers {
		_ = closer()
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	g.work.Wait()
}

// Loopback is the real address of the endpoint's server: "127.0.0.1:34567". It helps tests of
// programs that can't be given a resolver and a dialer.
func (g *Registry) Loopback() string {
	for _, s := range g.sites {
		if s.endpoint {
			return s.real
		}
	}
	return ""
}

// origin is the URL of the site as a definition would name it.
func (s *site) origin() string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	host, port, _ := strings.Cut(s.host, ":")
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return scheme + "://" + host
	}
	return scheme + "://" + s.host
}

// site is one listener of the test network.
type site struct {
	host     string // "registry.test:443"
	real     string // "127.0.0.1:34567"
	tls      *tls.Config
	handler  http.Handler
	raw      func(net.Conn) // instead of handler: any protocol
	public   bool           // its address is in the public zone; else in the private one
	trusted  bool           // credentials may come here
	endpoint bool           // it is the endpoint itself: the client certificate may come here as well
	http2    bool
}
