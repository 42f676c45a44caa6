package auth

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	hashNiceness = 10 // above the process's own: a tenth of a full share is left when everything else is busy
	mostNice     = 19
)

// onOwnThread runs work on a thread of its own at low priority, and returns when it has ended. On Linux a
// niceness belongs to a thread. The thread is never given back to the Go scheduler, which ends it with its
// goroutine; making one costs some ten microseconds, a thousandth of a hash.
func onOwnThread(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// Where it is not allowed, hashing runs at the usual priority: slower for others, but right.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, min(ownNiceness()+hashNiceness, mostNice))
		work()
	}()
	<-done
}

// ownNiceness is the calling thread's. The system call gives 20 less it (getpriority(2)).
func ownNiceness() int {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - raw
}

// mapBlocks gets memory from the system, nil when there is none to get. It stays out of core dumps: what is in
// it comes from passwords.
func mapBlocks(blocks uint32) ([]memoryBlock, func()) {
	raw, err := unix.Mmap(-1, 0, int(blocks)*int(unsafe.Sizeof(memoryBlock{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil
	}
	_ = unix.Madvise(raw, unix.MADV_DONTDUMP)
	// A hash jumps about in all of it, more than a processor knows small pages of; after each switch it has to look them up
	// anew. Where there are no large ones it goes on with small ones.
	_ = unix.Madvise(raw, unix.MADV_HUGEPAGE)
	release := func() { _ = unix.Munmap(raw) }
	return unsafe.Slice((*memoryBlock)(unsafe.Pointer(&raw[0])), blocks), release // #nosec G103 -- page-aligned and as long as said
}
