package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/egress"
)

// lineProcess, in the environment, makes this program carry bytes instead of testing: lines run in a
// process of their own, so that they take nothing from the one that is measured.
const lineProcess = "REGWARDEN_BENCH_LINE"

// oneWay is how long a line is. A round trip is twice that.
const oneWay = 20 * time.Millisecond

// lines are the ways to servers: each address gets a listener in front of it that is oneWay away.
type lines struct {
	tell io.WriteCloser
	hear *bufio.Reader

	mu sync.Mutex
	at map[string]string // address of a server to the line before it
}

func startLines(b *testing.B) *lines {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{lineProcess + "=1", "GOMAXPROCS=16"} // more than there are sleeping threads at a time
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // it ends at the end of its input
		_ = cmd.Wait()
	})
	return &lines{tell: in, hear: bufio.NewReader(out), at: map[string]string{}}
}

// to is the address of the line that leads to a server.
func (l *lines) to(address string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, known := l.at[address]; known {
		return at, nil
	}
	if _, err := fmt.Fprintln(l.tell, address); err != nil {
		return "", err
	}
	at, err := l.hear.ReadString('\n')
	l.at[address] = strings.TrimSpace(at)
	return l.at[address], err
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

// serveLines reads addresses and answers each with the line before it, until in ends.
func serveLines(in io.Reader, out io.Writer) error {
	for asked := bufio.NewScanner(in); asked.Scan(); {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go accept(listener, asked.Text())
		if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
			return err
		}
	}
	return nil
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
		go carry(near, server, time.Now())
	}
}

// carry leads one connection to the server. The kernel answers a connect at once; over a real line of
// this length it would take a round trip, so what the client sends first leaves no earlier than that.
func carry(near net.Conn, server string, accepted time.Time) {
	defer near.Close()
	far, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { pass(near, far, accepted.Add(2*oneWay)) })
	both.Go(func() { pass(far, near, accepted) })
	both.Wait()
}

// parcel is bytes under way; none is the end of the stream.
type parcel struct {
	bytes   []byte
	arrives time.Time
}

// pass moves bytes, each when its time has come, in order and without slowing the flow: bytes under way
// do not wait for each other.
func pass(from, to net.Conn, opened time.Time) {
	under := make(chan parcel, 1024)
	go func() {
		defer close(under)
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			left := time.Now()
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
		if len(p.bytes) > 0 {
			_, _ = to.Write(p.bytes) // an end that has gone needs no bytes
			continue
		}
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}

// sleepUntil is more exact than time.Sleep, which wakes up to a millisecond late: it blocks its thread.
func sleepUntil(t time.Time) {
	for left := time.Until(t); left > 0; left = time.Until(t) {
		span := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&span, nil) // woken early by a signal: the loop goes on
	}
}
