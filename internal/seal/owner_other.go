//go:build !unix

package seal

import (
	"io/fs"
	"os"
)

// GiveToOwnerOf has nothing to do here.
func GiveToOwnerOf(string, *os.File) error { return nil }

// ownerOf knows no owners here: the file counts as ours.
func ownerOf(fs.FileInfo) (owner, self int) { return 0, 0 }
