package hashing

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/regwarden/regwarden/internal/process/childprocess"
)

const (
	attempts = 2                      // the second one uses a new child process
	silence  = 900 * time.Millisecond // of a child process, so that a login is over within two seconds
)

// Process computes in a child process. It is safe for concurrent use. It does not limit concurrent calls.
type Process struct {
	process *childprocess.Process[Input, []byte]
}

// NewProcess returns a Process whose child is executable with args. The child has to call Serve with its standard input
// and output.
func NewProcess(log *slog.Logger, executable string, args ...string) *Process {
	return &Process{childprocess.New[Input, []byte](childprocess.Config{
		Executable: executable, Args: args, Silence: silence, Log: log, Failed: "password hashing process failed"})}
}

// Compute computes in the child process. If the child ends during the call or does not respond, it is replaced once.
func (p *Process) Compute(in Input) (tag []byte, err error) {
	for range attempts {
		if tag, err = p.process.Call(context.Background(), in); err == nil {
			return tag, nil
		}
	}
	return nil, fmt.Errorf("hash in a child process: %w", err)
}

// Close ends the child process unless calls are in progress. The next call starts another one.
func (p *Process) Close() { p.process.Close() }

// Serve runs the child process until in ends.
func Serve(in io.Reader, out io.Writer) {
	debug.SetGCPercent(-1) // computeLean collects
	childprocess.Serve(in, out, childprocess.Limits{}, computeLean)
}

// computeLean releases the memory of finished computations before it allocates its own. So the process never uses more
// memory than the largest number of concurrent calls needed.
func computeLean(in Input) []byte {
	runtime.GC()
	tag, _ := Compute(in)
	return tag
}
