// Package bench measures the built binary and the engine on loopback, and holds them against limits:
// figures that move with the machine stand beside what the same machine does in the same run.
//
// The benchmarks are started by the Makefile: `make bench`, and one alone by `make bench-…`. Each prints a table. With -strict a
// missed limit fails the run, and with -write the tables go into docs/benchmarks.md.
package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

var (
	strict = flag.Bool("strict", false, "fail when a limit is missed")
	write  = flag.Bool("write", false, "write the figures into docs/benchmarks.md")
)

func TestMain(m *testing.M) {
	if name := os.Getenv(partName); name != "" {
		if err := runPart(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(instance.Main(m))
}
