package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	maxStartMillis = 8
	maxStartMiB    = 16
	startsPerRound = 50
)

// BenchmarkStart measures what every command costs before it does anything, which is most of the cost of completing a word in a shell.
func BenchmarkStart(b *testing.B) {
	program, figures, r := instance.Binary(b), samples{}, &report{b: b}
	for range *rounds {
		for range startsPerRound {
			began := time.Now()
			cmd := exec.Command(program, "version")
			noError(b, cmd.Run())
			figures.add("ms", float64(time.Since(began).Microseconds())/1000)
			use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			figures.add("cpu-ms", float64(use.Utime.Nano()+use.Stime.Nano())/1e6)
		}
		figures.add("MiB", startMiB(b, program))
	}
	r.row("version", figure(figures.median("ms"), "ms"), atMost(figures.median("cpu-ms"), "cpu-ms", maxStartMillis),
		atMost(figures.median("MiB"), "MiB", maxStartMiB))
	r.end()
}

// startMiB returns the peak of the program's memory. It is read while the program waits for room in a full pipe: what the kernel reports
// of a process that has ended includes the memory of the one that started it (getrusage(2)).
func startMiB(b *testing.B, program string) float64 {
	b.Helper()
	read, write, err := os.Pipe()
	noError(b, err)
	defer read.Close()
	_, err = write.Write(make([]byte, 64<<10)) // the capacity of a pipe (pipe(7))
	noError(b, err)
	cmd := exec.Command(program, "version")
	cmd.Stdout = write
	noError(b, cmd.Start())
	noError(b, write.Close())
	time.Sleep(200 * time.Millisecond)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	noError(b, err)
	noError(b, read.Close())
	_ = cmd.Wait() // the signal of the broken pipe
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	return float64(number(strings.Fields(rest + " 0")[0])) / 1024
}
