//go:build !linux

package auth

// onOwnThread runs work where it is: a priority of one thread is Linux's alone.
func onOwnThread(work func()) { work() }
