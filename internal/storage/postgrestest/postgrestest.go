// Package postgrestest runs a real PostgreSQL server for tests: Debian's binaries, with its own directory
// and port, on loopback. A test can stop, kill and restart it. The package is for tests only and does not depend on the
// tables of the store.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/internal/testport"
)

// User and password of connections. The password has characters that a URL must escape.
const (
	User     = "regwarden"
	Password = "p:a/s?s#w@o%rd-marked"
)

const (
	startWait = 60 * time.Second // about a second on an idle machine
	stopWait  = 30 * time.Second
)

// Options configure the server. The zero value is a server as in production: commits survive a crash.
type Options struct {
	NoSync    bool     // fsync off: fast, for tests without a power failure
	Deadlocks bool     // are expected; otherwise one in the server's log fails the test
	Settings  []string // additional lines of postgresql.conf, each "name = value"
}

// LongTimeouts are settings for tests of other properties than time limits: a busy machine does not exceed them.
var LongTimeouts = []string{"lock_timeout = '1h'", "statement_timeout = '1h'"}

// DeadlocksFail are settings for tests of the order of locks: PostgreSQL does not resolve a deadlock, which therefore ends in an error.
var DeadlocksFail = []string{"deadlock_timeout = '1h'", "lock_timeout = '20s'", "statement_timeout = '1h'"}

// Server is a running PostgreSQL.
type Server struct {
	Dir string // contains the data directory and the socket

	address netip.AddrPort // reserved until release
	release func() error

	options Options
	bin     string
	owner   *syscall.Credential // nil: the user of the test

	mu        sync.Mutex
	cmd       *exec.Cmd
	done      chan struct{} // closed when the running process has ended
	databases int
}

// Start creates a server and runs it until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	requirePackage(t)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of PostgreSQL:\n%s", s.Log())
		}
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// requirePackage skips a test that runs without PostgreSQL, or fails it; see needs.DebianPackage.
func requirePackage(t testing.TB) {
	t.Helper()
	_, err := binaries()
	needs.DebianPackage(t, "postgresql", err == nil)
}

// New creates a server and runs it until Remove. It is for TestMain, which has no test whose end stops the server.
func New(o Options) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, bin: bin}
	if s.owner, err = owner(); err != nil {
		return nil, err
	}
	if err := s.reserve(); err != nil {
		return nil, err
	}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	if err := s.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, s.Log()), s.Remove())
	}
	return s, nil
}

// reserve creates the directory of the server and reserves its address, until Remove. The directory is not that of the test: PostgreSQL's
// user has no access to it, and the path of a socket must be short.
func (s *Server) reserve() (err error) {
	if s.address, s.release, err = testport.Reserve(); err != nil {
		return err
	}
	if s.Dir, err = os.MkdirTemp("", "regwarden-pg-"); err != nil {
		return errors.Join(err, s.release())
	}
	if err := s.own(s.Dir); err != nil {
		return errors.Join(err, s.Remove())
	}
	return nil
}

// binaries finds the newest server that Debian has installed.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, errors.New("PostgreSQL is not installed"))
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // 0 for a name that is not a number
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

// owner is the user of the server when the test runs as root, since PostgreSQL refuses to run as root.
func owner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, errU := strconv.ParseUint(account.Uid, 10, 32)
	gid, errG := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(errU, errG)
}

func (s *Server) own(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// init creates the data directory. Texts sort by the rules of a language: the columns of the store must not depend on it.
func (s *Server) init() error {
	passwords := filepath.Join(s.Dir, "password")
	if err := errors.Join(os.WriteFile(passwords, []byte(hashedPassword()+"\n"), 0o600), s.own(passwords)); err != nil {
		return err
	}
	if err := s.createCluster([]string{"--pgdata", s.data(), "--username", User, "--pwfile", passwords, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en-US", "--no-sync"}); err != nil {
		return err
	}
	settings := append([]string{
		"listen_addresses = '127.0.0.1'", "unix_socket_directories = '" + s.Dir + "'",
		"shared_buffers = 16MB", "max_connections = 200", "wal_level = replica",
		"log_min_messages = error", "log_min_error_statement = panic", // for Deadlocks, whose details have the statements
		"recovery_init_sync_method = syncfs",
		"dynamic_shared_memory_type = mmap", // in the data directory: a killed server leaves nothing in /dev/shm
		"fsync = " + onOff(!s.options.NoSync), "full_page_writes = " + onOff(!s.options.NoSync),
	}, s.options.Settings...)
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(settings, "\n") + "\n")
	return errors.Join(err, file.Close())
}

func onOff(is bool) string {
	if is {
		return "on"
	}
	return "off"
}

// command returns a program of PostgreSQL that runs as the server's user, with a minimal environment.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) // #nosec G204 -- arguments of a test
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.Dir, "LC_ALL=C.UTF-8", "PGPASSWORD=" + Password}
	cmd.SysProcAttr = attributes(s.owner)
	return cmd
}

// Run starts the server, which must not be running, and waits until it accepts connections.
func (s *Server) Run() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	cmd := s.command("postgres", "-D", s.data(), "-p", fmt.Sprint(s.address.Port()))
	cmd.Stdout, cmd.Stderr = log, log
	done, err := start(cmd)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.cmd, s.done = cmd, done
	return s.await(done)
}

// start starts a program. done is closed when it has ended.
func start(cmd *exec.Cmd) (done chan struct{}, err error) {
	done, started := make(chan struct{}), make(chan error)
	go func() {
		// For the kernel the end of the thread that started the program is the end of the test (PR_SET_PDEATHSIG(2const)),
		// so that thread must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its log has the reason
		}
	}()
	return done, <-started
}

func (s *Server) await(done chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	for {
		err := s.Exec(ctx, s.URL("postgres"), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return errors.New("PostgreSQL ended at its start")
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not respond: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server by a fast shutdown, which closes connections.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Kill ends the server and its processes at once, as a crash does.
func (s *Server) Kill() error { return s.end(syscall.SIGQUIT) }

func (s *Server) end(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(signal) // fails when the server has ended already
	select {
	case <-s.done:
	case <-time.After(stopWait):
		_ = s.cmd.Process.Kill()
		<-s.done
		return errors.New("PostgreSQL did not end")
	}
	s.cmd = nil
	return nil
}

// Remove ends the server, deletes its directory and releases its address. A deadlock that was not expected is an error.
func (s *Server) Remove() error {
	return errors.Join(s.Kill(), s.deadlocked(), os.RemoveAll(s.Dir), s.release())
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "log") }

// Log returns the end of the server's log.
func (s *Server) Log() string { return endOf(s.logFile()) }

func endOf(path string) string {
	log, err := os.ReadFile(path) // #nosec G304 -- of the test
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-8<<10):])
}

// URL returns the address of a database of this server, for TCP and with the password.
func (s *Server) URL(database string) string { return s.URLVia(s.Address(), database) }

// Address returns host and port of the server, which stay its own while it is stopped.
func (s *Server) Address() string { return s.address.String() }

// URLVia is URL with another address, such as that of a proxy.
func (s *Server) URLVia(address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: address, Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

// SlowConnect lets a connection take a minute, the most that the setting can be, so that a slow machine is not taken for a database
// that is unreachable.
const SlowConnect = "&connect_timeout=60"

// NewDatabase creates an empty database and returns its address, which ends with SlowConnect.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	return must(t)(s.CreateDatabase())
}

// CopyDatabase copies a database of this server that has no connections, and returns the address of the copy.
func (s *Server) CopyDatabase(t testing.TB, template string) string {
	t.Helper()
	from, err := url.Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	return must(t)(s.createDatabase(" TEMPLATE " + strings.TrimPrefix(from.Path, "/")))
}

func must(t testing.TB) func(url string, err error) string {
	return func(url string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("create a database: %v", err)
		}
		return url
	}
}

// CreateDatabase is NewDatabase without a test.
func (s *Server) CreateDatabase() (url string, err error) { return s.createDatabase("") }

func (s *Server) createDatabase(options string) (url string, err error) {
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test_%d", s.databases)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	return s.URL(name) + SlowConnect, s.Exec(ctx, s.URL("postgres"), "CREATE DATABASE "+name+options)
}

// Exec runs statements on their own connection.
func (s *Server) Exec(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
