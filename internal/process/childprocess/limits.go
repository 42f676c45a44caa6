package childprocess

import "time"

// Limits are what the operating system kills a child process for; on Linux only. 0 is no limit.
type Limits struct {
	Memory uint64        // bytes of data that it may map, also without using them
	CPU    time.Duration // of its whole life, in seconds
}
