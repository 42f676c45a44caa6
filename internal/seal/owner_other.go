//go:build !unix

package seal

import "io/fs"

// ownerOf knows no owners here: the file counts as ours.
func ownerOf(fs.FileInfo) (owner, self int) { return 0, 0 }
