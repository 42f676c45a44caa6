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

// Each process of PostgreSQL is a session of its own, so that they are found as children and not as a group.

// KillHard ends the server as the loss of its machine does: all its processes at once, none of them with time to tell
// a client, a standby or the disk anything.
func (s *Server) KillHard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return errors.New("PostgreSQL does not run")
	}
	// Stopped first, the parent neither starts another process nor has the others end in order.
	err := errors.Join(s.signal(syscall.SIGSTOP), s.signal(syscall.SIGKILL))
	<-s.done
	s.cmd = nil
	return errors.Join(err, s.forgetMemory())
}

// forgetMemory gives the piece of shared memory back to the system which only the parent would have (line 7 of its
// postmaster.pid has key and id), or the next start on the same data.
func (s *Server) forgetMemory() error {
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

// Freeze stops the server without ending it: connections stay, new ones are taken by the kernel, and nothing answers.
func (s *Server) Freeze() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal(syscall.SIGSTOP)
}

// StopSending stops the processes that send to standbys, and no other: what is committed from then on is on no standby.
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

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal(syscall.SIGCONT)
}

// signal sends a signal to the server and to its children, the children first but for SIGSTOP.
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
			continue // no process
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		// The name in parentheses may have blanks and parentheses itself; state and parent follow it.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children, nil
}
