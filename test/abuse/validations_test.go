package abuse_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	validations = 500
	tenants     = 5
	checkTime   = 30 * time.Second // documented bound of a validation

	tenantDomain = "tenant.example"

	validatePath = "/v1/registries/oci/basic/validate"
	diagnosePath = "/v1/registries/oci/basic/diagnose"
)

// manyValidations lets tenants users of different organizations begin that many validations together, and one of another organization. A
// user may have three quarters of those of its organization.
var manyValidations = []string{"--check-concurrency", fmt.Sprint(validations + 1), "--check-per-org",
	fmt.Sprint((4*validations/tenants + 2) / 3), "--check-per-minute", "200"}

// TestHostileRegistries validates 500 definitions at once, of registries that are slow or endless in each phase of a check.
func TestHostileRegistries(t *testing.T) {
	t.Parallel()
	a := beginAttack(t, manyValidations...)
	keys := tenantKeys(t, a.server)
	endpoints := []string{
		"https://" + serveRaw(t, silent), // the TLS handshake never ends
		"http://" + serveRaw(t, func(conn net.Conn) { repeat(conn, "HTTP/1.1 200 OK\r\n", "X-More: x\r\n", 100*time.Millisecond) }),
		"http://" + serveRaw(t, func(conn net.Conn) {
			repeat(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", strings.Repeat("[", 32<<10), 0)
		}),
		"http://" + serveRaw(t, redirectForever),
	}
	attackers := startValidations(t, a.server, keys, func(n int) string { return endpoints[n%len(endpoints)] })
	a.client.visit(4 * time.Second)
	a.client.validates(goodRegistry(t))
	attackers.end(t, "422 RegistryTLSFailed", "422 RegistryUnavailable", "422 RegistryNotOCI", "422 RegistryRedirected")
	a.end(t)
}

// TestHostileDNSServer validates 500 definitions at once, whose hosts are looked up on a DNS server that never responds, sends
// garbage, responds byte by byte, or with as many addresses as a message can hold.
func TestHostileDNSServer(t *testing.T) {
	t.Parallel()
	a := beginAttack(t, append([]string{"--egress-dns", serveDNS(t)}, manyValidations...)...)
	keys := tenantKeys(t, a.server)
	hosts := []string{"silent", "garbage", "drip", "huge"}
	attackers := startValidations(t, a.server, keys,
		func(n int) string { return fmt.Sprintf("http://%s.of-%d.example:9", hosts[n%len(hosts)], n) })
	a.client.visit(4 * time.Second)
	a.client.validates(goodRegistry(t))
	attackers.end(t, "422 RegistryHostNotFound") // none was found
	a.end(t)
}

// tenantKeys makes organizations with one user each, and returns an API key of each user.
func tenantKeys(t testing.TB, server *instance.Server) (keys []string) {
	t.Helper()
	for i := range tenants {
		org, email := fmt.Sprintf("Tenant %d", i), "admin@"+tenantDomain
		server.Admin(t, "", "org", "create", org)
		server.Admin(t, instance.Password+"\n", "user", "create", "--org", org, "--email", email, "--role", "admin", "--password-stdin")
		keys = append(keys, server.Admin(t, "", "apikey", "create", "--org", org, "--email", email))
	}
	return keys
}

// runningValidations are requests of attackers that have not ended.
type runningValidations struct {
	all sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]int // by status and code
	slowest  time.Duration
}

// startValidations sends few requests at once, and all wait for their responses at once: a busy machine may need long to send 500, and
// the service closes connections whose header takes longer than 5 s.
func startValidations(t testing.TB, server *instance.Server, keys []string, endpoint func(n int) string) *runningValidations {
	t.Helper()
	const sentAtOnce = 16
	running := &runningValidations{outcomes: map[string]int{}}
	turns := make(chan struct{}, sentAtOnce)
	for n := range validations {
		body := instance.JSON(map[string]any{"endpoint": endpoint(n), "auth": map[string]any{"type": "noAuth"}})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+validatePath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("ApiKey", keys[n%len(keys)])
		running.all.Go(func() { running.validate(request, turns) })
	}
	return running
}

func (r *runningValidations) validate(request *http.Request, turns chan struct{}) {
	turns <- struct{}{}
	began := time.Now()
	conn, err := sendRequest(request)
	<-turns
	outcome := ""
	if err == nil {
		outcome, err = receiveOutcome(conn, request)
	}
	if err != nil {
		outcome = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[outcome]++
	r.slowest = max(r.slowest, time.Since(began))
}

// sendRequest sends over a connection of its own, without the goroutines of http.Transport, which would wait for one another.
func sendRequest(request *http.Request) (net.Conn, error) {
	conn, err := dialFrom(request.Context(), attacker, request.URL.Host)
	if err != nil {
		return nil, err
	}
	if err = conn.SetDeadline(time.Now().Add(checkTime + busy)); err == nil {
		err = request.Write(conn)
	}
	if err != nil {
		_ = conn.Close()
	}
	return conn, err
}

// receiveOutcome closes the connection.
func receiveOutcome(conn net.Conn, request *http.Request) (outcome string, err error) {
	defer conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return "", err
	}
	var body struct{ Code string }
	_ = json.NewDecoder(response.Body).Decode(&body) // a response without code shows in the outcome
	return fmt.Sprintf("%d %s", response.StatusCode, body.Code), nil
}

// end waits for the validations, and fails the test when one has another outcome than these.
func (r *runningValidations) end(t testing.TB, outcomes ...string) {
	t.Helper()
	r.all.Wait()
	t.Logf("%d validations, the slowest took %v: %v", validations, r.slowest.Round(time.Millisecond), r.outcomes)
	other := maps.Clone(r.outcomes)
	for _, outcome := range outcomes {
		delete(other, outcome)
	}
	if len(other) > 0 {
		t.Errorf("validations ended otherwise: %v", other)
	}
}

// validates checks a registry for the regular client.
func (c *customer) validates(endpoint string) {
	c.try(http.MethodPost, diagnosePath, instance.JSON(map[string]any{"endpoint": endpoint, "auth": map[string]any{"type": "noAuth"}}),
		"Authorization", c.authorization)
}

// goodRegistry is an open one.
func goodRegistry(t testing.TB) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}") // the client sees what arrives
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serveRaw handles each connection to a loopback address until the test ends.
func serveRaw(t testing.TB, response func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveAll(t, listener, response)
	return listener.Addr().String()
}

func serveAll(t testing.TB, listener net.Listener, response func(net.Conn)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				defer conn.Close()
				response(conn)
			})
		}
	})
	t.Cleanup(func() { cancel(); _ = listener.Close(); serving.Wait() })
}

// silent reads until the client leaves.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// repeat sends first after the first bytes of a client, and then more until the client leaves.
func repeat(conn net.Conn, first, more string, pause time.Duration) {
	if _, err := conn.Read(make([]byte, 4096)); err == nil {
		send(conn, first, more, pause)
	}
}

// send sends first, and then more again and again until the client leaves.
func send(conn net.Conn, first, more string, pause time.Duration) {
	_, err := io.WriteString(conn, first)
	for err == nil && (pause == 0 || stays(conn, pause)) {
		_, err = io.WriteString(conn, more)
	}
}

// stays waits, and reports whether the client is still connected.
func stays(conn net.Conn, pause time.Duration) bool {
	_ = conn.SetReadDeadline(time.Now().Add(pause)) // without a deadline the read ends with the connection
	_, err := conn.Read(make([]byte, 1))
	return err == nil || os.IsTimeout(err)
}

func redirectForever(conn net.Conn) {
	for in := bufio.NewReader(conn); ; {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		// The next read fails too.
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 307 Temporary Redirect\r\nLocation: %s/again\r\nContent-Length: 0\r\n\r\n", request.URL.Path)
	}
}

// serveDNS responds by the first label of the requested name.
func serveDNS(t testing.TB) (address string) {
	t.Helper()
	listener, packets := listenDNS(t)
	serveAll(t, listener, respondTCP)
	t.Cleanup(func() { _ = packets.Close() })
	go func() {
		for buffer := make([]byte, 4096); ; {
			n, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(respondUDP(buffer[:n]), from) // an empty packet is garbage too
		}
	}()
	return listener.Addr().String()
}

// listenDNS returns a port that is free for TCP and for UDP.
func listenDNS(t testing.TB) (net.Listener, net.PacketConn) {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return listener, packets
		}
		_ = listener.Close() // never fails
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

// respondUDP has the client retry "drip" and "huge" over TCP.
func respondUDP(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	switch label, _, _ := strings.Cut(m.Questions[0].Name.String(), "."); label {
	case "garbage":
		return append(query[:12], 0xff, 0xff, 0xff)
	case "drip", "huge":
		m.Truncated = true
	default:
		return nil
	}
	response, _ := m.Pack() // what was unpacked
	return response
}

// respondTCP announces a long message and sends a byte a second, or sends 4,000 addresses.
func respondTCP(conn net.Conn) {
	var length uint16
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		return
	}
	query := make([]byte, length)
	if _, err := io.ReadFull(conn, query); err != nil {
		return
	}
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return
	}
	if strings.HasPrefix(m.Questions[0].Name.String(), "drip.") {
		send(conn, "\xff\xff", "\x00", time.Second)
		return
	}
	_, _ = conn.Write(manyAddresses(m)) // the client has had enough
}

func manyAddresses(m dnsmessage.Message) []byte {
	m.Response, m.Additionals = true, nil
	if m.Questions[0].Type == dnsmessage.TypeA {
		for i := range 4000 {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 1, byte(i >> 8), byte(i)}},
			})
		}
	}
	response, err := m.Pack()
	if err != nil {
		return nil
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(response))), response...)
}
