package command

import (
	"os"
	"sync"
)

// Stdout is standard output that keeps the first error of a write: help and lines for people are printed by functions without an error.
type Stdout struct {
	mu  sync.Mutex
	err error
}

// Write writes to standard output.
func (s *Stdout) Write(b []byte) (int, error) {
	n, err := os.Stdout.Write(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Fd returns the descriptor of standard output.
func (*Stdout) Fd() uintptr { return os.Stdout.Fd() }

// Err returns the first error of a write, nil if all of them succeeded.
func (s *Stdout) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
