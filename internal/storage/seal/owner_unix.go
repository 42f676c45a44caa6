//go:build unix

package seal

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait opens a named pipe without waiting for its writer. It does not change how regular files are read.
const noWait = syscall.O_NONBLOCK

// GiveToOwnerOf changes the owner of a file that root created to the owner of its directory, so that a service that runs as
// that user can read it. For other users it does nothing.
func GiveToOwnerOf(dir string, file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return file.Chown(int(stat.Uid), int(stat.Gid))
}

// ownerOf returns the owner of a file and the user of this process.
func ownerOf(info fs.FileInfo) (owner, self int) {
	self = os.Geteuid()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), self
	}
	return self, self
}
