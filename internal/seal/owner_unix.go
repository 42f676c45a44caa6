//go:build unix

package seal

import (
	"io/fs"
	"os"
	"syscall"
)

// GiveToOwnerOf gives a file that root has made to the owner of its folder: a service that runs as that user could
// not read it otherwise, and would not start again. Whoever is not root owns what it makes.
func GiveToOwnerOf(folder string, file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return file.Chown(int(stat.Uid), int(stat.Gid))
}

// ownerOf returns the user that a file belongs to and the one we run as.
func ownerOf(info fs.FileInfo) (owner, self int) {
	self = os.Geteuid()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), self
	}
	return self, self
}
