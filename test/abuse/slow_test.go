package abuse_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/test/instance"
)

// TestSlowConnections opens 2,000 connections that are slow in one phase. Each holds little, and the service closes it in the time
// that docs/limits.md names.
func TestSlowConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sent string
		drips      bool // every other connection goes on sending, a byte a second
		flags      []string
		within     time.Duration
	}{
		{name: "nothing sent", within: 5 * time.Second},
		{name: "TLS handshake begun", sent: clientHello(t)[:11], drips: true,
			flags: []string{"--tls-self-signed"}, within: 5 * time.Second},
		{name: "TLS handshake not finished", sent: clientHello(t), flags: []string{"--tls-self-signed"}, within: 5 * time.Second},
		{name: "header", sent: "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", drips: true, within: 5 * time.Second},
		{name: "body", sent: post(login, 5000, `{"emailId":"`), drips: true, within: 15 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := beginAttack(t, c.flags...)
			conns := floodFrom(t, a.server, manySources, slowConnections, c.sent)
			if c.drips {
				go drip(conns)
			}
			a.client.visit(2 * time.Second)
			allClosed(t, conns, c.within+busy)
			a.end(t)
		})
	}
}

// TestUnreadResponses opens 2,000 connections whose requests have 400 KiB of responses, of which nothing is read.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	a := beginAttack(t)
	conns := floodFrom(t, a.server, manySources, slowConnections, strings.Repeat("GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 4))
	a.client.visit(2 * time.Second)
	unread := unreadBytes(t, a.server)
	t.Logf("the kernel holds %d MiB of responses", unread>>20)
	if unread > slowConnections*maxUnread {
		t.Errorf("more than %d KiB for each connection", maxUnread>>10)
	}
	unreadClosed(t, a.server)
	closeAll(conns)
	a.end(t)
}

// unreadClosed waits until the service has closed connections that do not read. Reading from them would let them go on.
func unreadClosed(t testing.TB, server *instance.Server) {
	t.Helper()
	open := func() float64 { return gauge(t, server.Metrics(t), "regwarden_connections_open") }
	for end := time.Now().Add(writeTime + busy); open() > 0 && time.Now().Before(end); {
		time.Sleep(time.Second)
	}
	if left := open(); left > 0 {
		t.Errorf("%v connections are open after %v", left, writeTime+busy)
	}
}

const (
	slowConnections = 2000
	writeTime       = 25 * time.Second // 20 s without progress, seen 5 s later at most
	busy            = 10 * time.Second // how late a busy machine may be
	maxUnread       = 48 << 10
)

// manySources are addresses that together may open slowConnections.
var manySources = []string{attacker, "127.0.0.4"}

// attack is a service under attack with a regular client.
type attack struct {
	server *instance.Server
	client *customer
	before held
}

func beginAttack(t testing.TB, flags ...string) attack {
	t.Helper()
	server := instance.Start(t, instance.Options{Flags: append(flags, "--metrics-listen", "127.0.0.1:0"), Insecure: true,
		Env: []string{goMemory}})
	client := newCustomer(t, server)
	return attack{server, client, holds(t, server)}
}

// end checks the service to the regular client and the memory and files that the attack cost.
func (a attack) end(t testing.TB) {
	t.Helper()
	a.client.served(t)
	withinMemory(t, a.server)
	released(t, a.server, a.before)
}

// drip sends a byte a second on every other connection, until each is closed.
func drip(conns []net.Conn) {
	for open := true; open; time.Sleep(time.Second) {
		open = false
		for i := 0; i < len(conns); i += 2 {
			if conn := conns[i]; conn != nil {
				_, err := io.WriteString(conn, "x")
				open = open || err == nil
			}
		}
	}
}

// clientHello is the first message of a TLS handshake, whole.
func clientHello(t testing.TB) string {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		defer client.Close()
		_ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() // ends with the pipe
	}()
	hello := make([]byte, 4096)
	n, err := server.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	return string(hello[:n])
}

// unreadBytes counts the bytes that the kernel holds for the clients of a server (tx_queue of proc_net_tcp(5)).
func unreadBytes(t testing.TB, server *instance.Server) (sum int64) {
	t.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", server.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address(t, server))
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(table)) {
		columns := strings.Fields(line)
		if !strings.HasSuffix(columns[1], local) {
			continue
		}
		waiting, _, _ := strings.Cut(columns[4], ":")
		bytes, err := strconv.ParseInt(waiting, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += bytes
	}
	return sum
}

// attackerSocket has the kernel of a client take little of what it does not read, and choose its port when it connects: else the ports of
// thousands of closed connections from one address are taken from all other tests for a minute.
func attackerSocket(_, _ string, c syscall.RawConn) (err error) {
	if controlErr := c.Control(func(fd uintptr) {
		err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1))
	}); controlErr != nil {
		return controlErr
	}
	return err
}
