package postgrestest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/needs"
)

// Twice runs the tests of a package on SQLite, and then once more on PostgreSQL, unless that is left out (see package needs). It stands in
// for a *testing.M.
type Twice struct {
	Tests interface{ Run() int }
	Begin func(*Server) // is told of the server before the second run
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
		server, err = New(Options{NoSync: true})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	t.Begin(server)
	fmt.Fprintln(os.Stderr, "once more, on PostgreSQL:")
	code := t.Tests.Run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "these failed on PostgreSQL, whose log ends with:\n%s\n", server.Log())
	}
	if err := server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// WriteURL leaves the address of a database in a data folder, for ReadURL.
func WriteURL(folder, url string) error { return os.WriteFile(urlFile(folder), []byte(url), 0o600) }

// ReadURL is the address that was left in a data folder; empty for a store that is in the folder itself.
func ReadURL(folder string) string {
	url, err := os.ReadFile(urlFile(folder))
	if err != nil {
		return ""
	}
	return string(url)
}

func urlFile(folder string) string { return folder + "/database-url" }
