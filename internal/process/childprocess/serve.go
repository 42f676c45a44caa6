package childprocess

import (
	"encoding/gob"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// request and reply are the messages between the processes. Replies may arrive in any order. A reply with number 0, which no request
// has, shows that the child runs.
type (
	request[Q any] struct {
		Number uint64
		Body   Q
	}
	reply[R any] struct {
		Number uint64 // of the request
		Result R
	}
)

// Serve runs the child process within the limits. It handles each request in a goroutine, at low priority, for the process at the other
// end of in and out, and returns when in ends, which also happens when that process is killed. It ignores the signals that stop a
// service, since the service needs the child for its last requests.
func Serve[Q, R any](in io.Reader, out io.Writer, limits Limits, handle func(Q) R) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	lowerPriority()
	time.Sleep(time.Nanosecond) // the runtime opens files for its first timer, which it cannot do later
	limits.apply()
	s := &server[Q, R]{replies: gob.NewEncoder(out)}
	go s.beat()
	for requests := gob.NewDecoder(in); ; {
		var r request[Q]
		if requests.Decode(&r) != nil {
			return
		}
		go func() { s.send(reply[R]{r.Number, handle(r.Body)}) }()
	}
}

type server[Q, R any] struct {
	mu      sync.Mutex
	replies *gob.Encoder
}

func (s *server[Q, R]) send(r reply[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.replies.Encode(r) // fails if the other process has ended
}

// beat shows that the process is not stopped: on a busy machine, a request may take long.
func (s *server[Q, R]) beat() {
	for range time.Tick(beat) {
		s.send(reply[R]{})
	}
}
