package sqldb

import (
	"crypto/hmac"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

// A backup ends with a line that authenticates everything before it: the time, the id of the key, and an HMAC-SHA-256. SQLite ignores
// what follows the last page, so the file remains a database.
const (
	backupPurpose = "regwarden backup" // part of what is stored: a change of it changes every code
	trailerHead   = "\nregwarden-backup-v1 %s key %s hmac-sha256 "
	trailerSize   = len("\nregwarden-backup-v1 2006-01-02T15:04:05Z key 0123456789abcdef hmac-sha256 \n") + 64
)

var trailerPattern = lazyregexp.New(`^\nregwarden-backup-v1 (\S{20}) key ([0-9a-f]{16}) hmac-sha256 ([0-9a-f]{64})\n$`)

// appendTrailer authenticates the content of a file with a key.
func appendTrailer(file *os.File, key seal.MasterKey, now time.Time) error {
	mac, keyID, err := key.MAC(backupPurpose)
	if err != nil {
		return err
	}
	size, err := io.Copy(mac, io.NewSectionReader(file, 0, 1<<62))
	if err != nil {
		return err
	}
	head := fmt.Sprintf(trailerHead, now.UTC().Format(time.RFC3339), keyID)
	mac.Write([]byte(head))
	_, err = file.WriteAt([]byte(head+hex.EncodeToString(mac.Sum(nil))+"\n"), size)
	return err
}

// trailer is the last line of a backup.
type trailer struct {
	at      time.Time
	keyID   string
	mac     []byte
	content int64 // bytes before the line
	covered int64 // bytes that mac covers
}

// readTrailer returns nil for a file without the line.
func readTrailer(file *os.File) (*trailer, error) {
	info, err := file.Stat()
	if err != nil || info.Size() < int64(trailerSize) {
		return nil, err
	}
	t := &trailer{content: info.Size() - int64(trailerSize)}
	line := make([]byte, trailerSize)
	if _, err := file.ReadAt(line, t.content); err != nil {
		return nil, err
	}
	match := trailerPattern.Get().FindSubmatch(line)
	if match == nil {
		return nil, nil
	}
	if t.at, err = time.Parse(time.RFC3339, string(match[1])); err != nil {
		return nil, nil
	}
	t.keyID, t.covered = string(match[2]), info.Size()-int64(len(match[3])+1)
	t.mac, err = hex.DecodeString(string(match[3]))
	return t, err
}

// verify compares the content of the file with the authentication code. seal.ErrWrongKey: no key is that of the backup.
func (t *trailer) verify(file *os.File, keys []seal.MasterKey) error {
	for _, key := range keys {
		mac, keyID, err := key.MAC(backupPurpose)
		if err != nil {
			return err
		}
		if keyID != t.keyID {
			continue
		}
		if _, err := io.Copy(mac, io.NewSectionReader(file, 0, t.covered)); err != nil {
			return err
		}
		if !hmac.Equal(mac.Sum(nil), t.mac) {
			return fmt.Errorf("%w: it was changed or damaged after it was written; restore another one", ErrNoBackup)
		}
		return nil
	}
	return seal.ErrWrongKey
}
