package postgrestest

import "syscall"

// attributes returns the process attributes of a program of PostgreSQL. A test binary that exceeds its time limit runs no
// cleanup: then the kernel ends the program.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGINT}
}
