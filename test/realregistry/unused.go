package realregistry

import "testing"

// Unused is a loopback address where nothing listens.
func Unused(t testing.TB) string { return freeAddress(t) }
