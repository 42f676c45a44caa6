package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/regwarden/regwarden/secret"
)

const masterKeySize = 32

// MasterKey wraps the keyring. The zero value is no key. It never prints.
type MasterKey struct {
	text secret.String // the key's 32 bytes in base64, as in its file
}

// NewMasterKey draws a master key.
func NewMasterKey() MasterKey {
	raw := make([]byte, masterKeySize)
	_, _ = rand.Read(raw) // crypto/rand never fails, it ends the process
	return MasterKey{text: secret.String(base64.StdEncoding.EncodeToString(raw))}
}

// ParseMasterKey reads a master key from its text: 32 bytes in base64, blanks around it ignored.
func ParseMasterKey(text secret.String) (MasterKey, error) {
	trimmed := strings.TrimSpace(text.Reveal())
	raw, err := base64.StdEncoding.Strict().DecodeString(trimmed)
	if err != nil || len(raw) != masterKeySize {
		return MasterKey{}, fmt.Errorf("a master key is %d bytes in base64, which this is not; make one with: head -c %d /dev/urandom | base64", masterKeySize, masterKeySize)
	}
	return MasterKey{text: secret.String(trimmed)}, nil
}

// IsZero reports whether there is no key.
func (m MasterKey) IsZero() bool { return m.text == "" }

// Format masks the key for every verb.
func (m MasterKey) Format(f fmt.State, verb rune) { m.text.Format(f, verb) }

// LogValue masks the key in structured logs.
func (m MasterKey) LogValue() slog.Value { return m.text.LogValue() }

func (m MasterKey) cipher() (tink.AEAD, error) {
	raw, err := base64.StdEncoding.DecodeString(m.text.Reveal())
	if err != nil || len(raw) != masterKeySize {
		return nil, errors.New("no master key was given")
	}
	return subtle.NewXChaCha20Poly1305(raw)
}

// LoadMasterKey reads the key file at path, under the rules of ReadSecretFile.
func LoadMasterKey(path string) (MasterKey, error) {
	text, err := ReadSecretFile(path)
	if err != nil {
		return MasterKey{}, fmt.Errorf("read the master key file: %w", err)
	}
	key, err := ParseMasterKey(text)
	if err != nil {
		return MasterKey{}, fmt.Errorf("read the master key file %s: %w", path, err)
	}
	return key, nil
}

// LoadOrCreateMasterKey reads the key file at path, or makes it with a fresh key and mode 0600.
// When two processes do so at once, both return the same key.
func LoadOrCreateMasterKey(path string) (MasterKey, error) {
	key, err := LoadMasterKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	err = createKeyFile(path, NewMasterKey())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return MasterKey{}, fmt.Errorf("make the master key file: %w", err)
	}
	return LoadMasterKey(path)
}

// createKeyFile writes the whole file elsewhere and then links it to its name, which fails when the
// name is taken: no reader ever sees half a key, and a crash leaves none or all of it.
func createKeyFile(path string, key MasterKey) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".master-key-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(key.text.Reveal() + "\n")
	if err = errors.Join(err, GiveToOwnerOf(dir, file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a new name in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir) // the operator names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
