package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/egress"
)

// oneWay is how long a line is. A round trip is twice that.
const oneWay = 20 * time.Millisecond

// lines are the ways to servers: each address gets a listener in front of it that is oneWay away.
type lines struct {
	process *part

	mu sync.Mutex
	at map[string]string // address of a server to the line before it
}

func startLines(b *testing.B) *lines {
	b.Helper()
	return &lines{process: startPart(b, partLines), at: map[string]string{}}
}

// to is the address of the line that leads to a server.
func (l *lines) to(address string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.at[address]; known {
		return at, nil
	}
	at, err := l.process.ask(address)
	l.at[address] = at
	return at, err
}

// dialer leads each connection of a world of the kit through a line.
type dialer struct {
	lines *lines
	world egress.Dialer

	mu   sync.Mutex
	real map[string]string // invented address to the line before the real one
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := d.line(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, at)
}

func (d *dialer) line(ctx context.Context, network, address string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, known := d.real[address]; known {
		return at, nil
	}
	conn, err := d.world.DialContext(ctx, network, address) // shows where the server really listens
	if err != nil {
		return "", err
	}
	defer conn.Close()
	at, err := d.lines.to(conn.RemoteAddr().String())
	d.real[address] = at
	return at, err
}

// openLine opens a line to a server.
func openLine(server string) (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go accept(listener, server)
	return listener.Addr().String(), nil
}

func accept(listener net.Listener, server string) {
	for {
		near, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		go carry(near.(*net.TCPConn), server, time.Now())
	}
}

// carry leads one connection to the server. The kernel answers a connect at once; over a real line of
// this length it would take a round trip, so what the client sends first leaves no earlier than that.
func carry(near *net.TCPConn, server string, accepted time.Time) {
	defer near.Close()
	conn, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	far := conn.(*net.TCPConn)
	defer far.Close()
	if err := errors.Join(stampArrivals(near), stampArrivals(far)); err != nil {
		fmt.Fprintln(os.Stderr, "arrivals are not stamped, and times are some 0.1 ms too long:", err)
	}
	var both sync.WaitGroup
	both.Go(func() { pass(near, far, accepted.Add(2*oneWay)) })
	both.Go(func() { pass(far, near, accepted) })
	both.Wait()
}

// parcel is bytes under way; no bytes are the end of the stream.
type parcel struct {
	bytes   []byte
	arrives time.Time
}

// pass moves bytes, each when its time has come, in order and without slowing the flow: bytes under way
// do not wait for each other.
func pass(from, to *net.TCPConn, opened time.Time) {
	under := make(chan parcel, 1024)
	go func() {
		defer close(under)
		for {
			buffer := make([]byte, 64<<10)
			n, left, err := readStamped(from, buffer)
			if left.Before(opened) {
				left = opened
			}
			under <- parcel{buffer[:n], left.Add(oneWay)}
			if err != nil {
				return
			}
		}
	}()
	runtime.LockOSThread()                             // for the timer slack, which is a thread's own
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // else 50 us
	for p := range under {
		sleepUntil(p.arrives)
		_, _ = to.Write(p.bytes) // an end that has gone needs no bytes
	}
	_ = to.CloseWrite()
}

// readStamped reads like from.Read and tells when the bytes came, by the kernel's own stamp: a thread that
// slept learns of them some 100 us later.
func readStamped(from *net.TCPConn, buffer []byte) (n int, came time.Time, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, time.Now(), err
	}
	var more [64]byte
	var stamp int
	readErr := raw.Read(func(fd uintptr) bool {
		n, stamp, _, _, err = unix.Recvmsg(int(fd), buffer, more[:], 0)
		return !errors.Is(err, unix.EAGAIN)
	})
	now := time.Now()
	if err = errors.Join(readErr, err); err == nil && n == 0 {
		err = io.EOF
	}
	return max(n, 0), now.Add(-age(now, more[:max(stamp, 0)])), err
}

// age is how long ago the stamp of a message was made; 0 when it has none.
func age(now time.Time, message []byte) time.Duration {
	parts, err := unix.ParseSocketControlMessage(message)
	for _, part := range parts {
		if err == nil && part.Header.Type == unix.SO_TIMESTAMPNS && len(part.Data) >= 16 {
			seconds, nanos := binary.NativeEndian.Uint64(part.Data), binary.NativeEndian.Uint64(part.Data[8:])
			return max(now.Sub(time.Unix(int64(seconds), int64(nanos))), 0)
		}
	}
	return 0
}

// stampArrivals makes the kernel stamp what comes (socket(7)).
func stampArrivals(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	return errors.Join(err, failed)
}

// sleepUntil is more exact than time.Sleep, which may wake a millisecond late: it blocks its thread.
func sleepUntil(t time.Time) {
	for left := time.Until(t); left > 0; left = time.Until(t) {
		span := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&span, nil) // woken early by a signal: the loop goes on
	}
}
