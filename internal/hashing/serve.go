package hashing

import (
	"encoding/gob"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

// request and reply are the messages between the processes. Replies may arrive in any order.
type (
	request struct {
		Number uint64
		Input  Input
	}
	reply struct {
		Number uint64 // of the request
		Tag    []byte
	}
)

// Serve runs the child process. It computes at low priority for the process at the other end of in and out, and returns
// when in ends, which also happens when that process is killed. It ignores the signals that stop a service, since the
// service needs the child for its last requests.
func Serve(in io.Reader, out io.Writer) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	lowerPriority()
	forbidCoreDumps()
	debug.SetGCPercent(-1) // computeLean collects
	requests, replies := gob.NewDecoder(in), gob.NewEncoder(out)
	var mu sync.Mutex
	for {
		var r request
		if requests.Decode(&r) != nil {
			return
		}
		go func() {
			tag := computeLean(r.Input)
			mu.Lock()
			defer mu.Unlock()
			_ = replies.Encode(reply{r.Number, tag}) // fails if the other process has ended
		}()
	}
}

// computeLean releases the memory of finished computations before it allocates its own. So the process never uses more
// memory than the largest number of concurrent calls needed.
func computeLean(in Input) []byte {
	runtime.GC()
	tag, _ := Compute(in)
	return tag
}
