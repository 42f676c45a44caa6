package postgrestest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared runs the tests of a package with one server for all of them, started for the first test that needs it. It replaces a
// *testing.M.
type Shared struct {
	Options Options
	Tests   interface{ Run() int }

	starting sync.Once
	server   *Server
	err      error
}

// Server returns the running server.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	requirePackage(t)
	s.starting.Do(func() { s.server, s.err = New(s.Options) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Run returns the exit code.
func (s *Shared) Run() int {
	code := s.Tests.Run()
	if s.server == nil {
		return code
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "the log of PostgreSQL ends with:\n%s\n", s.server.Log())
	}
	if err := s.server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
