//go:build !unix

package auth

func newSlots(n int) []uint64 { return make([]uint64, n) }
