package postgrestest

import "syscall"

// attributes are those of a program of PostgreSQL's. A test binary that dies by its own time limit runs no clean-up: the kernel
// ends the program then.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGINT}
}
