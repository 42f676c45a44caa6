package hashing

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nicer  = 10 // added to the niceness of the service: a tenth of the CPU share when the machine is busy
	nicest = 19
)

// ownGroup puts the child into its own process group, which Ctrl-C in a terminal does not reach. It stays in the
// session of the service: Linux compares niceness within a session only (sched(7), autogroup).
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// lowerPriority lowers the priority of all threads. It names the process group, since on Linux a process id means one
// thread. If lowering is not permitted, hashing runs at the usual priority.
func lowerPriority() {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || unix.Getpgrp() != os.Getpid() {
		return
	}
	niceness := 20 - raw // getpriority(2)
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, min(niceness+nicer, nicest))
}

// forbidCoreDumps prevents writing data derived from passwords to disk.
func forbidCoreDumps() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
