// Package needs decides whether a test runs that needs a Debian package. It is for tests alone.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// leftOut names the file to which skipped tests are added. test/all sets it where packages are missing and may not be installed.
const leftOut = "TESTS_LEFT_OUT"

// DebianPackage skips the test with -short, as in make check. Where the package is not installed the test fails, or is skipped if skipped
// tests are listed: no test is skipped unnoticed.
func DebianPackage(t testing.TB, name string, installed bool) {
	t.Helper()
	run, err := Runs(t.Name(), name, installed)
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case !run:
		t.Skipf("needs the Debian package %s", name)
	}
}

// Runs is DebianPackage for other uses than a test, such as a second run of all tests of a package.
func Runs(test, name string, installed bool) (bool, error) {
	list := os.Getenv(leftOut)
	switch {
	case testing.Short():
		return false, nil
	case installed:
		return true, nil
	case list == "":
		return false, fmt.Errorf("needs the Debian package %s: run test/install-deps, or apt-get install --no-install-recommends %[1]s",
			name)
	default:
		return false, appendLine(list, name+": "+test)
	}
}

// Program returns the path of a program of a Debian package, also in directories that are not in the PATH of every user.
func Program(t testing.TB, name, pkg string) string {
	t.Helper()
	path := ""
	for _, candidate := range []string{"/usr/sbin/" + name, "/usr/bin/" + name, name} {
		if found, err := exec.LookPath(candidate); err == nil {
			path = found
		}
	}
	DebianPackage(t, pkg, path != "")
	return path
}

// appendLine appends in one write, since test processes run at the same time.
func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600) // #nosec G703 -- named by test/all
	if err != nil {
		return err
	}
	if _, err := file.WriteString(line + "\n"); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
