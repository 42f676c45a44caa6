//go:build !linux

package childprocess

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }

func lowerPriority() {}

func (Limits) apply() {}

func isStopped(int) bool { return true } // is not known
