package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// deadlockEntry is the entry of a deadlock in the log: after the error the processes that waited, with what they waited for and their
// statements, a line of context, and the statement that was ended. Lines that belong to an entry begin with a tab.
var deadlockEntry = regexp.MustCompile(`.*ERROR:  deadlock detected\n(.*(DETAIL|HINT|CONTEXT|STATEMENT):  .*\n|\t.*\n)*`)

// Deadlocks counts the deadlocks that the server has resolved, in all its databases and also before it was killed: its log has them all.
func (s *Server) Deadlocks() (int, error) {
	entries, err := s.deadlocks()
	return len(entries), err
}

func (s *Server) deadlocks() ([][]byte, error) {
	log, err := os.ReadFile(s.logFile())
	if errors.Is(err, fs.ErrNotExist) { // it was never started
		return nil, nil
	}
	return deadlockEntry.FindAll(log, -1), err
}

// deadlocked returns an error when there was a deadlock that the options do not expect.
func (s *Server) deadlocked() error {
	entries, err := s.deadlocks()
	if len(entries) > 0 && !s.options.Deadlocks {
		err = fmt.Errorf("the log of PostgreSQL has %d deadlocks:\n%s", len(entries), bytes.Join(entries, nil))
	}
	return err
}
