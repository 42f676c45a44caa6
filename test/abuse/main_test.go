// Package abuse_test attacks the built binary the way anonymous and signed-in clients could, and holds its memory and its
// service to an honest client beside each attack.
package abuse_test

import (
	"os"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }
