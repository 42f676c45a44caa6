//go:build unix

package seal

import (
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns the user that a file belongs to and the one we run as.
func ownerOf(info fs.FileInfo) (owner, self int) {
	self = os.Geteuid()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), self
	}
	return self, self
}
