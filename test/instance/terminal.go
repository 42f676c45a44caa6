package instance

import (
	"bufio"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal (pty(7)): what a process writes to Slave arrives as Lines.
type Terminal struct {
	Slave *os.File
	Lines <-chan string
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
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(master)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return Terminal{Slave: slave, Lines: lines}
}
