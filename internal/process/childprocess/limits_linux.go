package childprocess

import (
	"bytes"
	"fmt"
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
// thread. If lowering is not permitted, the child runs at the usual priority.
func lowerPriority() {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || unix.Getpgrp() != os.Getpid() {
		return
	}
	niceness := 20 - raw // getpriority(2)
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, min(niceness+nicer, nicest))
}

// isStopped reports whether a process is stopped, also if /proc does not say.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := bytes.Cut(stat, []byte(") ")) // the name of the program is in parentheses
	return err != nil || !found || bytes.HasPrefix(state, []byte("T")) || bytes.HasPrefix(state, []byte("t"))
}

// apply sets limits that the process cannot raise again. It opens nothing.
func (l Limits) apply() {
	for resource, limit := range map[int]uint64{unix.RLIMIT_NOFILE: 0, unix.RLIMIT_DATA: l.Memory,
		unix.RLIMIT_CPU: uint64(l.CPU.Seconds())} {
		if limit > 0 || resource == unix.RLIMIT_NOFILE {
			_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}) // fails if the limit is lower already
		}
	}
}
