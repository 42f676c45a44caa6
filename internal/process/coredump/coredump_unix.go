//go:build unix

// Package coredump keeps the memory of this process, with its keys and passwords, from disk.
package coredump

import "golang.org/x/sys/unix"

// Forbid prevents core dumps of this process and of those that it starts. It never fails: lowering a limit needs no privilege. Processes
// of the same user may still attach to it, such as debuggers: they can read the files with the keys too.
func Forbid() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
