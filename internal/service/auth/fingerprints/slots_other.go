//go:build !unix

package fingerprints

func newSlots(n int) []uint64 { return make([]uint64, n) }
