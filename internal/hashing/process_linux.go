package hashing

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nicer  = 10 // than the service: a tenth of a full share is left when everything else is busy
	nicest = 19
)

// ownGroup puts the child into a process group of its own, which Ctrl-C in a terminal does not reach. It is not a session
// of its own: Linux compares niceness within a session only (sched(7), autogroup).
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// lowerPriority lowers the priority of all threads, which is what the process group stands for: on Linux a process id
// means one thread. Where it is not allowed, hashing runs at the usual priority.
func lowerPriority() {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || unix.Getpgrp() != os.Getpid() {
		return
	}
	niceness := 20 - raw // getpriority(2)
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, min(niceness+nicer, nicest))
}

// forbidCoreDumps keeps what derives from passwords off the disk.
func forbidCoreDumps() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
