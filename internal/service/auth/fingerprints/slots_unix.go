//go:build unix

package fingerprints

import (
	"syscall"
	"unsafe"
)

// newSlots returns zeroed memory outside of Go's heap: there it would count as used from the start, and let the heap grow by as much again
// between two collections.
func newSlots(n int) []uint64 {
	const bytesEach = 8
	memory, err := syscall.Mmap(-1, 0, n*bytesEach, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]uint64, n)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), n) // #nosec G103 -- pages are aligned, and zero
}
