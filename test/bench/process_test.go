package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/test/instance"
)

// processTree adds the descendants of processes to them, since the service may do work in child processes.
func processTree(pids ...int) []int {
	for i := 0; i < len(pids); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list) // a thread that has ended has no children
			for _, child := range strings.Fields(string(text)) {
				pids = append(pids, number(child))
			}
		}
	}
	return pids
}

// number reads what the kernel wrote.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// cpuOf returns a function that returns the processor time of process trees, children that ended included (proc_pid_stat(5)).
func cpuOf(roots ...int) func() time.Duration {
	return func() time.Duration {
		ticks := 0
		for _, pid := range processTree(roots...) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may contain spaces
			if fields := strings.Fields(rest); len(fields) > 14 {
				ticks += number(fields[11]) + number(fields[12]) + number(fields[13]) + number(fields[14])
			}
		}
		return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	}
}

// ownCPU is the processor time of this process without its children.
func ownCPU() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // never fails for this process
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// memoryMiB is a figure of /proc/PID/status, summed over a process tree.
func memoryMiB(server *instance.Server, name string) float64 {
	kib := 0
	for _, pid := range processTree(server.PID()) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		kib += number(strings.Fields(rest + " 0")[0])
	}
	return float64(kib) / 1024
}

// watchPeak has the kernel count peak memory anew (proc_pid_clear_refs(5)) and returns a function that ends the watch and
// returns the peak in MiB. Child processes come and go, so the sum of the peaks of those that run is read again and again.
func watchPeak(b *testing.B, server *instance.Server) (stop func() float64) {
	for _, pid := range processTree(server.PID()) {
		noError(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600))
	}
	var peak float64
	var watch sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	watch.Go(func() {
		for ctx.Err() == nil {
			peak = max(peak, memoryMiB(server, "VmHWM"))
			time.Sleep(100 * time.Millisecond)
		}
	})
	return func() float64 {
		cancel()
		watch.Wait()
		return peak
	}
}

// What must not share a process or its priority with what is measured runs as a child: this program again, with childArg
// as its first argument, then a kind. It prints one line and lives until its standard input ends.
const childArg = "bench-child"

func runChild(kind string, args []string) error {
	line := ""
	switch kind {
	case "bare": // a net/http server that does nothing
		line = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).URL
	case "kit": // a server of the kit, by name
		g, err := regchecktest.Open(args[0])
		if err != nil {
			return err
		}
		line = g.Loopback()
	case "burst":
		line = runBurst(args)
	}
	fmt.Println(line)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	line  string // what it printed
}

// startChild starts a child and waits for its line. One of low priority takes no processor time from the service.
func startChild(b *testing.B, lowPriority bool, args ...string) *child {
	b.Helper()
	self, err := os.Executable()
	noError(b, err)
	args = append([]string{self, childArg}, args...)
	if lowPriority {
		args = append([]string{"nice", "-n", "19"}, args...)
	}
	c := &child{cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Stderr = os.Stderr
	c.stdin, err = c.cmd.StdinPipe()
	noError(b, err)
	out, err := c.cmd.StdoutPipe()
	noError(b, err)
	noError(b, c.cmd.Start())
	b.Cleanup(c.stop)
	c.line, err = bufio.NewReader(out).ReadString('\n')
	noError(b, err)
	c.line = strings.TrimSpace(c.line)
	return c
}

// stop may be called more than once.
func (c *child) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait()
}
