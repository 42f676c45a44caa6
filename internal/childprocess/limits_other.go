//go:build !linux

package hashing

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }

func lowerPriority() {}

func forbidCoreDumps() {}
