package instance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal (pty(7)): what a process writes to Slave arrives as Lines.
type Terminal struct {
	Slave *os.File
	Lines <-chan string

	master *os.File
	shown  *transcript
}

// transcript is what was shown so far.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// Shown returns what the terminal showed so far, also of the last line.
func (terminal Terminal) Shown() string {
	terminal.shown.mu.Lock()
	defer terminal.shown.mu.Unlock()
	return terminal.shown.text.String()
}

// AwaitText waits until the terminal shows a text.
func (terminal Terminal) AwaitText(t testing.TB, text string) {
	t.Helper()
	for deadline := time.Now().Add(commandWait); !strings.Contains(terminal.Shown(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the command does not show %q, but %q", text, terminal.Shown())
		}
	}
}

// Type enters text as a keyboard does: "\x03" is Ctrl-C.
func (terminal Terminal) Type(t testing.TB, text string) {
	t.Helper()
	if _, err := terminal.master.WriteString(text); err != nil {
		t.Fatalf("type into the terminal: %v", err)
	}
}

// Echoes reports whether the terminal shows what is typed.
func (terminal Terminal) Echoes(t testing.TB) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatalf("read the settings of the terminal: %v", err)
	}
	return settings.Lflag&unix.ECHO != 0
}

// AwaitPrompt waits until a command that was started in the terminal reads without echo.
func (terminal Terminal) AwaitPrompt(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(commandWait); terminal.Echoes(t); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command does not ask for a secret")
		}
	}
}

// untilClosed reads the master of a terminal until the last writer has closed its other end and everything has been read.
type untilClosed struct{ master *os.File }

// Read reads once more after the error of the end. The kernel looks first for what was written and then whether the other end is closed:
// what was written between the two is found only by the next read.
func (r untilClosed) Read(b []byte) (int, error) {
	n, err := r.master.Read(b)
	if errors.Is(err, unix.EIO) {
		n, err = r.master.Read(b)
	}
	return n, err
}

// OpenTerminal opens one until the test ends.
func OpenTerminal(t testing.TB) Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatalf("unlock the terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatalf("name the terminal: %v", err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open the terminal's other end: %v", err)
	}
	lines, shown := make(chan string, 1000), &transcript{}
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(io.TeeReader(untilClosed{master}, shown))
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return Terminal{Slave: slave, Lines: lines, master: master, shown: shown}
}
