package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every run of the program, also those of shells that complete a word, initializes all packages. So tables and expressions are built when
// they are needed. The count of allocations stands for the time, which depends on the machine.
func TestPackagesInitializeLittle(t *testing.T) {
	const greatest = 100
	cmd := exec.Command(os.Args[0], "-test.list=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(lines) < 100 {
		t.Fatalf("%d packages in %s", len(lines), out)
	}
	for _, line := range lines {
		if n, _ := strconv.Atoi(line[2]); n > greatest && strings.HasPrefix(line[1], "github.com/regwarden/") {
			t.Errorf("%s allocates %d times before main, want at most %d", line[1], n, greatest)
		}
	}
}
