package service_test

import (
	"fmt"
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

	"github.com/regwarden/regwarden/test/instance"
)

// hashingProcess is the child process that hashes, 0 when there is none.
func hashingProcess(server *instance.Server) int {
	if pids := server.PIDs(); len(pids) > 1 {
		return pids[1]
	}
	return 0
}

func startHashing(t *testing.T, flags ...string) *instance.Server {
	t.Helper()
	return instance.Start(t, instance.Options{Flags: append([]string{"--login-isolation", "process"}, flags...)})
}

// TestHashingProcess looks at the child process from outside: what it was given and what it takes. More clients than workers log in.
func TestHashingProcess(t *testing.T) {
	t.Parallel()
	const workers, hashKiB = 2, 19 << 10
	server := startHashing(t, "--login-workers", strconv.Itoa(workers))
	client := server.Client(t)
	held := make(chan int)
	var logins sync.WaitGroup
	for range 2 * workers {
		logins.Go(func() {
			for range 3 {
				client.Login()
				held <- anonymousKiB(t, server)
			}
		})
	}
	go func() { logins.Wait(); close(held) }()
	peak := 0
	for kib := range held {
		peak = max(peak, kib)
	}
	// The rest of the process takes 6 MiB.
	if peak < hashKiB || peak >= (workers+1)*hashKiB {
		t.Errorf("it held %d KiB for %d hashes of %d KiB at once", peak, workers, hashKiB)
	}
	pid := hashingProcess(server)
	if pid == 0 {
		t.Fatal("no child process hashes")
	}
	if environment := mustProc(t, pid, "environ"); environment != "" {
		t.Errorf("its environment has %d bytes", len(environment))
	}
	if command := mustProc(t, pid, "cmdline"); strings.Contains(command, instance.Password) || !strings.HasSuffix(command, "\x00hash\x00") {
		t.Errorf("it runs as %q", command)
	}
	wantNice(t, server, pid)
	wantFewFiles(t, pid)
}

// anonymousKiB is the memory that the child process holds, without its pages of the program file: how many of those are mapped
// depends on the page cache of the machine.
func anonymousKiB(t *testing.T, server *instance.Server) (kib int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", hashingProcess(server)))
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	if _, scanErr := fmt.Sscan(rest, &kib); err != nil || scanErr != nil {
		t.Errorf("memory of the child process: %v, %v", err, scanErr)
	}
	return kib
}

// wantNice demands that every thread has a lower priority than the server.
func wantNice(t *testing.T, server *instance.Server, pid int) {
	t.Helper()
	want := min(niceness(t, fmt.Sprintf("/proc/%d/stat", server.PID()))+10, 19)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads %v, %v", threads, err)
	}
	for _, thread := range threads {
		if nice := niceness(t, thread); nice != want {
			t.Errorf("%s: niceness %d, want %d", thread, nice, want)
		}
	}
}

// niceness is field 19 of a stat file (proc(5)).
func niceness(t *testing.T, file string) int {
	t.Helper()
	stat, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // after the name, which may be anything
	nice, err := strconv.Atoi(strings.Fields(rest)[16])
	if err != nil {
		t.Fatal(err)
	}
	return nice
}

var ordinaryFile = regexp.MustCompile(`^(pipe:.*|/dev/null|anon_inode:.*|/sys/fs/cgroup/.*)$`)

// wantFewFiles demands that a process has nothing open but pipes, /dev/null and what the Go runtime opens itself.
func wantFewFiles(t *testing.T, pid int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		target, err := os.Readlink(file)
		if err == nil && !ordinaryFile.MatchString(target) {
			t.Errorf("it has %s open", target)
		}
	}
}

func mustProc(t *testing.T, pid int, file string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKilledHashingProcess kills the child process after every few logins, while others are under way. Each login succeeds or
// returns 503; each one that succeeded has a session.
func TestKilledHashingProcess(t *testing.T) {
	t.Parallel()
	server := startHashing(t)
	client := server.Client(t)
	const clients, each, between = 4, 6, 5
	statuses, ended := make(chan int), make(chan struct{})
	var logins sync.WaitGroup
	for range clients {
		logins.Go(func() {
			for range each {
				statuses <- loginDuringKills(t, client)
			}
		})
	}
	go func() { logins.Wait(); close(ended) }()
	succeeded, kills := 0, 0
	for n := range clients * each {
		if <-statuses == http.StatusOK {
			succeeded++
		}
		if pid := hashingProcess(server); pid != 0 && n%between == 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			kills++
		}
	}
	<-ended
	client.Login()
	if succeeded < kills || kills < clients*each/between/2 || !server.Logs("password hashing process failed") {
		t.Errorf("%d kills, %d logins; the log:\n%s", kills, succeeded, server.Log())
	}
}

// TestStoppedHashingProcess stops the child process. The logins that wait for it succeed with another one, which begins after a second.
func TestStoppedHashingProcess(t *testing.T) {
	t.Parallel()
	server := startHashing(t, "--login-wait", "30s")
	client := server.Client(t)
	for range 2 {
		client.Login()
		stopped := hashingProcess(server)
		if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		instance.Await(t, "the stop of the child process", func() bool {
			return strings.Contains(mustProc(t, stopped, "stat"), ") T ")
		})
		began := time.Now()
		var logins sync.WaitGroup
		for range 4 {
			logins.Go(func() { client.Login() })
		}
		instance.Await(t, "the end of the stopped process", func() bool {
			_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(stopped)))
			return os.IsNotExist(err)
		})
		// 30 seconds without a limit; a second on a machine that does nothing else. How long the logins take depends on what else it does.
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the stopped process ended after %v", took)
		}
		logins.Wait()
		if now := hashingProcess(server); now == stopped || now == 0 {
			t.Errorf("the process %d was stopped, and %d hashes", stopped, now)
		}
	}
	if !server.Logs("the child process did not respond") || strings.Contains(server.Log(), instance.Password) {
		t.Errorf("the log:\n%s", server.Log())
	}
}

func loginDuringKills(t *testing.T, client *instance.Client) int {
	response, err := client.Try(http.MethodPost, "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password))
	switch {
	case err != nil:
		t.Error(err)
	case response.Status == http.StatusOK:
		client.Do(http.MethodGet, refresh+response.Tokens().RefreshToken, "").Want(http.StatusOK)
	default:
		response.Want(http.StatusServiceUnavailable)
	}
	return response.Status
}

// TestHashingProcessEndsWithTheServer kills the server, which then can end nothing.
func TestHashingProcessEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		server := startHashing(t)
		server.Client(t).Login()
		pid := hashingProcess(server)
		if pid == 0 {
			t.Fatal("no child process hashes")
		}
		server.Stop(signal)
		instance.Await(t, fmt.Sprintf("the end of the child process after %v", signal), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

// TestReplacedProgramStillHashes deletes the file that the server runs, as an update does.
func TestReplacedProgramStillHashes(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "regwarden")
	// A file that this process writes could be open in a child that another test starts, and then not be executed.
	if out, err := exec.CommandContext(t.Context(), "cp", instance.Binary(t), program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := instance.Start(t, instance.Options{Program: program, Flags: []string{"--login-isolation", "threads"}})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if pid := hashingProcess(server); pid != 0 {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	server.Client(t).Login()
	if hashingProcess(server) == 0 {
		t.Error("no child process hashes")
	}
}
