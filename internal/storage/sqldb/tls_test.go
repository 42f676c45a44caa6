package sqldb

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/secret"
)

func TestProtectionOfConnectionsToAnotherMachine(t *testing.T) {
	services := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(services, []byte("[named]\nsslmode=require\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", services)
	for _, row := range []struct {
		rest, env string
		refused   bool
		auth      string
		warned    bool
	}{
		{rest: "db/d", refused: true},
		{rest: "192.0.2.1,127.0.0.1/d?application_name=sslmode", refused: true},
		{rest: "127.0.0.1,db/d?sslmode=", refused: true},
		{rest: "db/d?sslmode=prefer", auth: scram, warned: true},
		{rest: "db/d?a=b&ssl%6Dode=prefer", auth: scram, warned: true},
		{rest: "db/d", env: "prefer", refused: true},
		{rest: "db/d", env: "require", auth: scram, warned: true},
		{rest: "db/d", env: "disable", auth: scram},
		{rest: "db/d?sslmode=allow", auth: scram, warned: true},
		{rest: "db/d?sslmode=require", auth: scram, warned: true},
		{rest: "db/d?service=named", auth: scram, warned: true},
		{rest: "db/d?sslmode=require&require_auth=md5", auth: "md5", warned: true},
		{rest: "db/d?sslmode=disable", auth: scram},
		{rest: "db/d?sslmode=verify-full"},
		{rest: "db/d?sslmode=verify-ca"},
		{rest: "db/d?sslrootcert=system"},
		{rest: "127.0.0.1,[::1],localhost/d"},
		{rest: "/d?host=/run/postgresql"},
	} {
		t.Setenv("PGSSLMODE", row.env)
		address := secret.String("postgres://u@" + row.rest)
		config, err := parseURL(address)
		if errors.Is(err, errNoTLSMode) != row.refused || !row.refused && err != nil {
			t.Errorf("%s with %q: %v", row.rest, row.env, err)
		}
		if err == nil && config.ConnConfig.RequireAuth != row.auth {
			t.Errorf("%s with %q: authentication %q", row.rest, row.env, config.ConnConfig.RequireAuth)
		}
		if warned := Warning(address) != ""; warned != row.warned {
			t.Errorf("%s with %q: warned %v", row.rest, row.env, warned)
		}
	}
}

// TestPasswordIsNotSentToImpostor connects to a server in place of the database that has no TLS and requests the password in clear, or
// an equivalent.
func TestPasswordIsNotSentToImpostor(t *testing.T) {
	for name, demand := range map[string][]byte{
		"clear": {'R', 0, 0, 0, 8, 0, 0, 0, 3},
		"MD5":   {'R', 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4},
	} {
		for _, mode := range []string{"prefer", "disable"} {
			address, received := startImpostor(t, demand)
			_, port, _ := net.SplitHostPort(address)
			config, err := parseURL(secret.String("postgres://u:hunter2@db.example:" + port + "/d?sslmode=" + mode))
			if err != nil {
				t.Fatal(err)
			}
			config.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
			if conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig); err == nil {
				_ = conn.Close(t.Context())
				t.Errorf("%s, %s: connected", name, mode)
			} else if !strings.Contains(err.Error(), scram) {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
			if password := <-received; password != "" {
				t.Errorf("%s, %s: the impostor received %q", name, mode, password)
			}
		}
	}
}

// startImpostor responds to connections without TLS with a demand, and sends the response of the client to the channel.
func startImpostor(t *testing.T, demand []byte) (address string, received <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	passwords := make(chan string, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go demandPassword(conn, demand, passwords)
		}
	}()
	return listener.Addr().String(), passwords
}

func demandPassword(conn net.Conn, demand []byte, passwords chan<- string) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	from := bufio.NewReader(conn)
	for {
		var length uint32
		if binary.Read(from, binary.BigEndian, &length) != nil {
			return
		}
		if _, err := from.Discard(int(length) - 4); err != nil {
			return
		}
		if length != 8 { // not a request for TLS
			break
		}
		_, _ = conn.Write([]byte("N"))
	}
	_, _ = conn.Write(demand)
	rest, _ := io.ReadAll(from)
	passwords <- string(rest)
}
