// Package instance runs the real regwarden binary for tests: built once, on loopback, with a data
// directory and settings of its own, ended by a signal or by kill -9, and started again on the same data.
package instance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/test/contract"
)

// Paths seen from a test package, whose directory is its working directory.
const (
	productDir  = "../.."
	description = "../../api/openapi.yaml"
)

// builtBinary is the environment variable that names the binary when it was built for all test packages together.
const builtBinary = "BINARY_UNDER_TEST"

// build returns the path of the binary. Unless it was built before, it is built once in a test process, in the product's
// own module: with the versions that users get, not those that this module would choose.
var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(builtBinary); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "regwarden-binary-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	binary := filepath.Join(dir, "regwarden")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, "./cmd/regwarden")
	cmd.Dir = productDir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build regwarden: %w\n%s", err, out)
	}
	return binary, nil
})

var load = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(description) })

// buildDir is the directory that build created, if it ran.
var buildDir string

// Main runs a package's tests and deletes the binary if they built it. Use it in TestMain.
func Main(m *testing.M) int {
	defer func() {
		if buildDir != "" {
			_ = os.RemoveAll(buildDir)
		}
	}()
	return m.Run()
}

// Binary is the path of the built binary.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Description is the API description, with what was seen of it so far.
func Description() (*contract.Contract, error) { return load() }

// Contract is the API description that all responses of a test process are compared with.
func Contract(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
