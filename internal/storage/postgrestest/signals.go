package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Each process of PostgreSQL has its own session, so they are found as children and not as a group.

// KillHard ends the server as the loss of its machine does: all its processes at once, before they send anything to a
// client or a standby, or write anything to the disk.
func (s *Server) KillHard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return errors.New("PostgreSQL does not run")
	}
	// The parent is stopped first, so that it neither starts another process nor shuts the others down.
	err := errors.Join(s.signal(syscall.SIGSTOP), s.signal(syscall.SIGKILL))
	<-s.done
	s.cmd = nil
	return errors.Join(err, s.removeSharedMemory())
}

// removeSharedMemory removes the shared memory that the killed parent left (line 7 of its postmaster.pid has key and id).
func (s *Server) removeSharedMemory() error {
	notes, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	var key, id int
	if _, err := fmt.Sscan(strings.Join(strings.Split(string(notes), "\n")[6:7], ""), &key, &id); err != nil {
		return fmt.Errorf("read postmaster.pid: %w", err)
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return err
}

// Freeze stops the server without ending it: connections stay, the kernel accepts new ones, and nothing responds.
func (s *Server) Freeze() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal(syscall.SIGSTOP)
}

// StopSending stops only the processes that send to standbys: later commits are on no standby.
func (s *Server) StopSending() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	children, err := childrenOf(s.cmd.Process.Pid)
	stopped := 0
	for _, child := range children {
		title, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		if readErr == nil && strings.HasPrefix(string(title), "postgres: walsender") {
			err = errors.Join(err, syscall.Kill(child, syscall.SIGSTOP))
			stopped++
		}
	}
	if stopped == 0 {
		err = errors.Join(err, errors.New("PostgreSQL sends to no standby"))
	}
	return err
}

// Thaw continues a frozen server.
func (s *Server) Thaw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal(syscall.SIGCONT)
}

// signal sends a signal to the server and to its children, the children first except for SIGSTOP.
func (s *Server) signal(signal syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	parent := s.cmd.Process.Pid
	if signal == syscall.SIGSTOP {
		if err := syscall.Kill(parent, signal); err != nil {
			return err
		}
	}
	children, err := childrenOf(parent)
	for _, child := range children {
		if failed := syscall.Kill(child, signal); !errors.Is(failed, syscall.ESRCH) { // it ended by itself
			err = errors.Join(err, failed)
		}
	}
	if signal == syscall.SIGSTOP {
		return err
	}
	return errors.Join(err, syscall.Kill(parent, signal))
}

// childrenOf reads the process table (proc(5)).
func childrenOf(parent int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		// The name in parentheses may contain blanks and parentheses; state and parent follow it.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children, nil
}
