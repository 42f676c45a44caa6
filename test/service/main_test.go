// Package service_test drives the built binary over HTTP, against real registries.
package service_test

import (
	"os"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }
