// Command regwarden issues authorization tokens and checks OCI registry definitions.
package main

import (
	"os"

	"github.com/regwarden/regwarden/internal/cli"
	"github.com/regwarden/regwarden/internal/process/coredump"
)

// version is set by the build (-ldflags "-X main.version=..."). Empty: what the go command recorded.
var version string

func main() {
	coredump.Forbid() // every command may read secrets
	os.Exit(cli.Run(version, os.Args[1:]))
}
