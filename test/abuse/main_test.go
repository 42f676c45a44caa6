// Package abuse_test attacks the built binary the way anonymous and signed-in clients could, and checks its memory and
// its service to a regular client during each attack.
package abuse_test

import (
	"os"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }
