package instance

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The first administrator.
const (
	Org      = "Acme"
	Email    = "admin@acme.example"
	Password = "seven lanterns on the quay"
)

const (
	startWait = time.Minute // a busy machine is slow
	stopWait  = time.Minute // the program itself ends requests after 30 s, and needs a few more
)

// Options has the settings of a start. The zero value is a new data directory with an administrator, and loopback
// registries allowed.
type Options struct {
	Program       string   // file of the binary; empty: Binary
	DataDir       string   // of an earlier start; empty: a new one
	Flags         []string // after those that every start has
	Env           []string
	DefaultEgress bool   // loopback registries are not allowed
	Insecure      bool   // the readiness probe does not verify the certificate
	Bare          bool   // no bootstrap settings: the service chooses the first administrator; and the default settings of logins
	LogFile       string // takes the log, which is read only when Log is called; empty: memory
	Hosts         string // hosts file of the process, which then asks no name server; "" for that of the machine
	DiskMiB       int    // size of a file system of its own for the data directory; 0: none. Its files are at Server.Disk

	Terminal *Terminal // the process's stdout; nil for a pipe
}

// Server is a running "regwarden serve".
type Server struct {
	URL     string
	DataDir string
	Started time.Duration // from the start of the process to /readyz 200

	t       testing.TB
	logFile string
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // of Wait; read after done

	mu       sync.Mutex
	out, log strings.Builder
}

var servesOn = regexp.MustCompile(`serves on (https?://\S+);`)

// Start runs the service and waits until it is ready. It is killed when the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = filepath.Join(t.TempDir(), "data")
	}
	o.prepare(t)
	return start(t, o)
}

func start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, DataDir: o.DataDir, logFile: o.LogFile, done: make(chan struct{})}
	// No DNS server is asked, so that a name in a test, for example of a stored registry, causes no traffic.
	args := []string{"serve", "--data-dir", o.DataDir, "--listen", "127.0.0.1:0", "--egress-dns", "127.0.0.1:9"}
	if _, test := t.(*testing.T); test && !o.Bare { // benchmarks measure the default settings
		// By default logins wait two seconds for a process of low priority, which on a busy machine is too short.
		args = append(args, "--login-wait", "30s", "--login-isolation", "none")
	}
	if !o.DefaultEgress {
		args = append(args, "--egress-allow", "127.0.0.0/8")
	}
	s.cmd = exec.Command(cmp.Or(o.Program, Binary(t)), append(args, o.Flags...)...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // no survivor when the test process dies
	if o.DiskMiB > 0 {
		s.onSmallDisk(o.DiskMiB)
	}
	if o.Hosts != "" {
		s.withHosts(o.Hosts)
	}
	s.cmd.Env = environment(t, o)
	s.cmd.Stderr = lockedWriter{s, &s.log}
	if o.LogFile != "" {
		log, err := os.OpenFile(o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatalf("make the log of regwarden: %v", err)
		}
		defer log.Close() // the process has its own
		s.cmd.Stderr = log
	}
	address, endOutput := s.watch(o)
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start regwarden: %v", err)
	}
	go func() {
		s.err = s.cmd.Wait()
		endOutput()
		close(s.done)
	}()
	t.Cleanup(s.cleanUp)
	select {
	case s.URL = <-address:
	case <-s.done:
		t.Fatalf("regwarden ended at its start: %v\n%s", s.err, s.Log())
	case <-time.After(startWait):
		t.Fatalf("regwarden does not print its address\n%s", s.Log())
	}
	s.awaitReady(began, o.Insecure)
	return s
}

func environment(t testing.TB, o Options) []string {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if !o.Bare {
		env = append(env, "REGWARDEN_BOOTSTRAP_ORG="+Org, "REGWARDEN_BOOTSTRAP_EMAIL="+Email,
			"REGWARDEN_BOOTSTRAP_PASSWORD_FILE="+passwordFile(t))
	}
	return append(env, o.Env...)
}

func passwordFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(Password+"\n"), 0o600); err != nil {
		t.Fatalf("write the bootstrap password: %v", err)
	}
	return path
}

// watch collects what the process writes and finds the address in it. The function it returns ends
// the collecting.
func (s *Server) watch(o Options) (<-chan string, func()) {
	address := make(chan string, 1)
	if o.Terminal != nil {
		s.cmd.Stdout = o.Terminal.Slave
		go func() {
			for line := range o.Terminal.Lines {
				s.line(line, address)
			}
		}()
		return address, func() {}
	}
	reader, writer := io.Pipe()
	s.cmd.Stdout = writer
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			s.line(lines.Text(), address)
		}
		_, _ = io.Copy(io.Discard, reader) // after a line too long for the scanner
	}()
	return address, func() {
		_ = writer.Close() // never fails (io.PipeWriter)
		<-read
	}
}

func (s *Server) line(line string, address chan<- string) {
	_, _ = fmt.Fprintln(lockedWriter{s, &s.out}, line) // never fails (strings.Builder)
	if match := servesOn.FindStringSubmatch(line); match != nil {
		select {
		case address <- match[1]:
		default: // printed before
		}
	}
}

func (s *Server) awaitReady(began time.Time, insecure bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure}}
	defer transport.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if response, err := (&http.Client{Transport: transport}).Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				s.Started = time.Since(began)
				return
			}
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("regwarden is not ready\n%s", s.Log())
		case <-s.done:
			s.t.Fatalf("regwarden ended: %v\n%s", s.err, s.Log())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// onSmallDisk has the process run with a file system of that size as its data directory.
func (s *Server) onSmallDisk(mib int) {
	s.t.Helper()
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.afterMount(fmt.Sprintf(`mount -t tmpfs -o size=%dm,mode=0700 regwarden "$0"`, mib), s.DataDir)
}

// withHosts has the process find the names of a hosts file of its own, and no name server but one that does not exist.
func (s *Server) withHosts(hosts string) {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, text := range map[string]string{"hosts": hosts, "resolv.conf": "nameserver 127.0.0.1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.afterMount(`mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf`, dir)
}

// afterMount runs the process after a command of the shell with an argument, in a mount namespace of its own. A user other than root
// needs a user namespace for it.
func (s *Server) afterMount(mount, argument string) {
	s.cmd.Args = append([]string{"sh", "-c", mount + ` && exec "$@"`, argument}, append([]string{s.cmd.Path}, s.cmd.Args[1:]...)...)
	s.cmd.Path = "/bin/sh"
	attr := s.cmd.SysProcAttr
	attr.Cloneflags = syscall.CLONE_NEWNS
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
}

// Disk is the data directory as the process sees it.
func (s *Server) Disk() string { return fmt.Sprintf("/proc/%d/root%s", s.PID(), s.DataDir) }

// Stop sends a signal and returns the exit code, -1 when the signal itself ended the process.
func (s *Server) Stop(signal syscall.Signal) int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatalf("send %v: %v", signal, err)
	}
	select {
	case <-s.done:
	case <-time.After(stopWait):
		s.t.Fatalf("regwarden goes on %v after %v\n%s", stopWait, signal, s.Log())
	}
	return s.cmd.ProcessState.ExitCode()
}

// Kill is kill -9.
func (s *Server) Kill() {
	s.t.Helper()
	s.Stop(syscall.SIGKILL)
}

// Running reports whether the process lives.
func (s *Server) Running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Out is what it wrote to standard output so far, Log what to standard error.
func (s *Server) Out() string { return s.read(&s.out) }

// Log is what it wrote to standard error so far.
func (s *Server) Log() string {
	if s.logFile == "" {
		return s.read(&s.log)
	}
	text, err := os.ReadFile(s.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Logs reports whether the log has this text, or gets it soon: the pipe is read while the process goes on.
func (s *Server) Logs(text string) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(s.Log(), text) {
			return true
		}
	}
	return false
}

// PID is the process's id, for /proc.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// PIDs are the ids of the process and of its child processes.
func (s *Server) PIDs() []int {
	s.t.Helper()
	pids := []int{s.PID()}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // the thread may have ended
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				s.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// ResidentKiB is the memory that the processes hold.
func (s *Server) ResidentKiB() int { return s.StatusKiB("VmRSS:") }

// StatusKiB is the sum over the processes of a value of /proc/PID/status (proc(5)).
func (s *Server) StatusKiB(name string) (sum int) {
	s.t.Helper()
	for _, pid := range s.PIDs() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			s.t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(status), "\n"+name)
		var kib int
		if _, err := fmt.Sscan(rest, &kib); !found || err != nil {
			s.t.Fatalf("/proc/%d/status has no %s", pid, name)
		}
		sum += kib
	}
	return sum
}

func (s *Server) read(b *strings.Builder) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.String()
}

func (s *Server) cleanUp() {
	running := s.Running()
	if running {
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	if s.t.Failed() {
		if !running {
			s.t.Logf("regwarden had ended: %v", s.cmd.ProcessState)
		}
		log := s.Log()
		s.t.Logf("log of regwarden (its end):\n%s", log[max(0, len(log)-8<<10):])
	}
}

type lockedWriter struct {
	s  *Server
	to *strings.Builder
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.to.Write(p)
}
