package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/internal/testport"
)

// Pooler is a running pgbouncer between clients and a server.
type Pooler struct {
	server  *Server
	program string
	dir     string
	address netip.AddrPort
	release func() error
	cmd     *exec.Cmd
	done    chan struct{} // closed when the running process has ended
}

// The password is in the file of users, in which only a quote is special.
const poolerSettings = `[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = %s
%s
`

// StartPooler runs pgbouncer in that pool_mode until the test ends. settings are further lines of its file, each "name = value".
func StartPooler(t testing.TB, s *Server, mode string, settings ...string) *Pooler {
	t.Helper()
	p := &Pooler{server: s, program: needs.Program(t, "pgbouncer", "pgbouncer")}
	dir, err := os.MkdirTemp("", "regwarden-pooler-")
	if err == nil {
		p.dir = dir
		p.address, p.release, err = testport.Reserve()
	}
	if err == nil {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("log of pgbouncer:\n%s", p.Log())
			}
			if err := errors.Join(p.Kill(), os.RemoveAll(p.dir), p.release()); err != nil {
				t.Error(err)
			}
		})
		err = p.configure(mode, settings)
	}
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatalf("start pgbouncer: %v", err)
	}
	return p
}

func (p *Pooler) configure(mode string, settings []string) error {
	users := filepath.Join(p.dir, "users")
	text := fmt.Sprintf(poolerSettings, p.server.address.Port(), p.address.Port(), users, mode, strings.Join(settings, "\n"))
	return errors.Join(os.WriteFile(users, []byte(`"`+User+`" "`+Password+`"`), 0o600), os.WriteFile(p.settings(), []byte(text), 0o600),
		p.server.own(p.dir), p.server.own(users), p.server.own(p.settings()))
}

func (p *Pooler) settings() string { return filepath.Join(p.dir, "pgbouncer.ini") }

func (p *Pooler) logFile() string { return filepath.Join(p.dir, "log") }

// Log returns the end of the pooler's log.
func (p *Pooler) Log() string { return endOf(p.logFile()) }

// Run starts the pooler, which must not be running, and waits until it accepts connections.
func (p *Pooler) Run() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()            // the pooler has its own
	p.cmd = exec.Command(p.program, p.settings()) // #nosec G204 -- paths of the test
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = p.dir, log, log, attributes(p.server.owner)
	if p.done, err = start(p.cmd); err != nil {
		return err
	}
	return p.await()
}

func (p *Pooler) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	for {
		err := p.server.Exec(ctx, p.URL(p.server.URL("postgres")), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("pgbouncer ended at its start:\n%s", p.Log())
		case <-ctx.Done():
			return fmt.Errorf("pgbouncer does not respond: %w\n%s", err, p.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the pooler at once.
func (p *Pooler) Kill() error {
	if p.cmd == nil {
		return nil
	}
	_ = p.cmd.Process.Kill() // fails when it has ended already
	<-p.done
	p.cmd = nil
	return nil
}

// URL returns the address of a database of the server, through the pooler.
func (p *Pooler) URL(direct string) string {
	return strings.Replace(direct, p.server.Address(), p.address.String(), 1)
}
