package abuse_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	deliveries      = 500
	deliveryWorkers = 16               // documented number of deliveries at once
	deliveryTime    = 15 * time.Second // documented bound of one

	registriesPath = "/v1/registries/oci/basic"
)

// TestHostileWebhookReceivers has 500 alerts due at once whose receivers never finish a response. Another organization's alert
// arrives, since organizations take turns.
func TestHostileWebhookReceivers(t *testing.T) {
	t.Parallel()
	a := beginAttack(t)
	receivers := &slowPeers{behaviors: []func(net.Conn){
		silent,
		func(conn net.Conn) { repeat(conn, "HTTP/1.1 200 OK\r\nX-Slow: ", "x", time.Second) },
		func(conn net.Conn) { repeat(conn, "HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\n", "x", time.Second) },
		func(conn net.Conn) {
			repeat(conn, "HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 4000)+"\r\n", 0)
		},
	}}
	channel := webhook("http://" + serveRaw(t, receivers.serve) + "/")
	a.alertsArrive(t, receivers, channel)
}

// TestHostileMailServer has 500 emails due at once to a mail server that stops, drips or never ends in each phase. A webhook of
// another organization is still delivered.
func TestHostileMailServer(t *testing.T) {
	t.Parallel()
	servers := &slowPeers{behaviors: []func(net.Conn){
		silent,
		func(conn net.Conn) { send(conn, "220", "-", time.Second) },
		func(conn net.Conn) { send(conn, "220 ", strings.Repeat("x", 64<<10), 0) },
		func(conn net.Conn) { send(conn, "", "220-"+strings.Repeat("x", 500)+"\r\n", 0) },
		func(conn net.Conn) { mailUntil(conn, "EHLO") },
		func(conn net.Conn) { mailUntil(conn, "RCPT") },
	}}
	host, port, err := net.SplitHostPort(serveRaw(t, servers.serve))
	if err != nil {
		t.Fatal(err)
	}
	a := beginAttack(t, "--smtp-host", host, "--smtp-port", port, "--smtp-tls", "none", "--smtp-from", "regwarden@acme.example",
		"--alert-mail-domains", tenantDomain)
	a.alertsArrive(t, servers, object{"type": "email", "isActive": true, "alertAllUsers": true, "identifiers": []string{}})
}

type object = map[string]any

// alertsArrive has every tenant alerted by 100 channels of that kind, and then the regular organization by a webhook.
func (a attack) alertsArrive(t *testing.T, hostile *slowPeers, channel object) {
	t.Helper()
	broken := refusingRegistry(t)
	for _, key := range tenantKeys(t, a.server) {
		a.alertBy(t, "ApiKey", key, deliveries/tenants, channel, broken)
	}
	instance.Await(t, "hostile receivers occupy every delivery", func() bool { return hostile.seen().accepted >= deliveryWorkers })
	received := make(chan int, 1) // how many hostile deliveries had begun
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received <- hostile.seen().accepted }))
	t.Cleanup(receiver.Close)
	began := time.Now()
	regular := a.alertBy(t, "Authorization", a.client.authorization, 1, webhook(receiver.URL), broken)
	instance.Await(t, "the regular alert is pending", func() bool { return a.wasChecked(regular) })
	before := hostile.seen().accepted
	a.client.visit(3 * time.Second)
	waited := <-received - before
	seen := hostile.seen()
	t.Logf("the regular alert took %v; %+v", time.Since(began).Round(time.Millisecond), seen)
	if waited > 2*deliveryWorkers {
		t.Errorf("%d hostile deliveries began while the regular one waited", waited)
	}
	const closing = 4 // whose end the test has not seen when the next one begins
	if seen.most > deliveryWorkers+closing || seen.longest > deliveryTime+busy {
		t.Errorf("%d hostile connections at once, one for %v", seen.most, seen.longest)
	}
	a.client.served(t)
	withinMemory(t, a.server)
}

// wasChecked reports whether the regular organization's registry has a result, with which its alert became pending.
func (a attack) wasChecked(registry string) bool {
	var history struct{ Items []object }
	a.client.client.Do(http.MethodGet, "/v1/registries/oci/"+registry+"/basic/history", "", "Authorization",
		a.client.authorization).Want(http.StatusOK).Into(&history)
	return len(history.Items) > 0
}

// alertBy makes n channels, and stores a definition whose first check raises an alert. It returns the uid of the definition.
func (a attack) alertBy(t *testing.T, header, credential string, n int, channel object, endpoint string) (registry string) {
	t.Helper()
	const perProject = 20
	create := func(path string, body object) (uid string) {
		var created struct{ UID string }
		a.client.client.Do(http.MethodPost, path, instance.JSON(body), header, credential).Want(http.StatusCreated).Into(&created)
		return created.UID
	}
	for ; n > 0; n -= perProject {
		project := create("/v1/projects", object{"metadata": object{"name": fmt.Sprint("project ", n)}})
		channels := slices.Repeat([]object{channel}, min(n, perProject))
		path := "/v1/projects/" + project + "/alerts/RegistryHealth"
		a.client.client.Do(http.MethodPut, path, instance.JSON(object{"channels": channels}), header, credential).Want(http.StatusNoContent)
	}
	auth := object{"type": "basic", "username": "u", "password": "p"}
	return create(registriesPath, object{"metadata": object{"name": "broken"},
		"spec": object{"endpoint": endpoint, "providerType": "helm", "auth": auth}})
}

func webhook(url string) object {
	return object{"type": "http", "isActive": true, "alertAllUsers": false, "identifiers": []string{},
		"http": object{"url": url, "method": "POST"}}
}

// refusingRegistry rejects all credentials.
func refusingRegistry(t testing.TB) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// slowPeers gives each connection the next behavior, and counts.
type slowPeers struct {
	behaviors []func(net.Conn)

	mu    sync.Mutex
	peers peersSeen
}

type peersSeen struct {
	accepted, open, most int
	longest              time.Duration
}

func (p *slowPeers) serve(conn net.Conn) {
	p.mu.Lock()
	behavior := p.behaviors[p.peers.accepted%len(p.behaviors)]
	p.peers.accepted++
	p.peers.open++
	p.peers.most = max(p.peers.most, p.peers.open)
	p.mu.Unlock()
	began := time.Now()
	behavior(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peers.open--
	p.peers.longest = max(p.peers.longest, time.Since(began))
}

func (p *slowPeers) seen() peersSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers
}

// mailUntil is a mail server that ignores a command.
func mailUntil(conn net.Conn, ignored string) {
	_, _ = io.WriteString(conn, "220 mail.example\r\n") // the next read fails too
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ignored) {
			silent(conn)
			return
		}
		_, _ = fmt.Fprint(conn, "250 ok\r\n")
	}
}
