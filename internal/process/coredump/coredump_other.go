//go:build !unix

// Package coredump keeps the memory of this process, with its keys and passwords, from disk.
package coredump

// Forbid does nothing on this system, which writes no core dumps unless its administrator asks for them.
func Forbid() {}
