package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Deadlocks counts the deadlocks that the server has resolved, in all its databases and also before it was killed: its log has them all.
func (s *Server) Deadlocks() (int, error) {
	log, err := os.ReadFile(s.logFile())
	if errors.Is(err, fs.ErrNotExist) { // it was never started
		return 0, nil
	}
	return bytes.Count(log, []byte("ERROR:  deadlock detected\n")), err
}

// deadlocked returns an error when there was a deadlock that the options do not expect.
func (s *Server) deadlocked() error {
	n, err := s.Deadlocks()
	if n > 0 && !s.options.Deadlocks {
		err = fmt.Errorf("the log of PostgreSQL has %d deadlocks", n)
	}
	return err
}
