package postgrestest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/needs"
)

// Twice runs the tests of a package on SQLite, and then once more on PostgreSQL, unless the second run is left out (see package needs). It
// replaces a *testing.M.
type Twice struct {
	Tests interface{ Run() int }
	Begin func(*Server) // is called with the server before the second run
	Once  string        // matches the names of tests without a store that Begin determines: the second run would repeat them
}

// Run returns the exit code.
func (t Twice) Run() int {
	if code := t.Tests.Run(); code != 0 {
		return code
	}
	_, err := binaries()
	run, err := needs.Runs(filepath.Base(os.Args[0])+" on PostgreSQL", "postgresql", err == nil)
	if err == nil && !run {
		return 0
	}
	var server *Server
	if err == nil {
		server, err = New(Options{NoSync: true, Settings: LongTimeouts})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	t.Begin(server)
	if t.Once != "" && flag.Lookup("test.skip").Value.String() == "" {
		err = flag.Set("test.skip", t.Once)
	}
	fmt.Fprintln(os.Stderr, "once more, on PostgreSQL:")
	code := t.Tests.Run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "these failed on PostgreSQL, whose log ends with:\n%s\n", server.Log())
	}
	if err := errors.Join(err, server.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// WriteURL writes the address of a database to a data directory, for ReadURL.
func WriteURL(dir, url string) error { return os.WriteFile(urlFile(dir), []byte(url), 0o600) }

// ReadURL returns the address in a data directory; empty for a store in the directory itself.
func ReadURL(dir string) string {
	url, err := os.ReadFile(urlFile(dir))
	if err != nil {
		return ""
	}
	return string(url)
}

func urlFile(dir string) string { return dir + "/database-url" }
