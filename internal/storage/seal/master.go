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

// MasterKey wraps the keyring. The zero value means no key. It prints as a mask.
type MasterKey struct {
	text secret.String // the key's 32 bytes in base64, as in its file
}

// NewMasterKey generates a master key.
func NewMasterKey() MasterKey {
	raw := make([]byte, masterKeySize)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return MasterKey{text: secret.String(base64.StdEncoding.EncodeToString(raw))}
}

// ParseMasterKey parses 32 bytes in base64. It ignores blanks around them.
func ParseMasterKey(text secret.String) (MasterKey, error) {
	trimmed := strings.TrimSpace(text.Reveal())
	raw, err := base64.StdEncoding.Strict().DecodeString(trimmed)
	if err != nil || len(raw) != masterKeySize {
		return MasterKey{}, fmt.Errorf("the master key must be %d bytes in base64; create one with: head -c %d /dev/urandom | base64",
			masterKeySize, masterKeySize)
	}
	return MasterKey{text: secret.String(trimmed)}, nil
}

// IsZero reports whether there is no key.
func (m MasterKey) IsZero() bool { return m.text == "" }

// Format masks the key for every verb.
func (m MasterKey) Format(f fmt.State, verb rune) { m.text.Format(f, verb) }

// LogValue masks the key in structured logs.
func (m MasterKey) LogValue() slog.Value { return m.text.LogValue() }

func (m MasterKey) bytes() ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(m.text.Reveal())
	if err != nil || len(raw) != masterKeySize {
		return nil, errors.New("master key is required")
	}
	return raw, nil
}

func (m MasterKey) cipher() (tink.AEAD, error) {
	raw, err := m.bytes()
	if err != nil {
		return nil, err
	}
	return subtle.NewXChaCha20Poly1305(raw)
}

// LoadMasterKey reads the key file at path, under the rules of ReadSecretFile.
func LoadMasterKey(path string) (MasterKey, error) {
	text, err := ReadSecretFile(path)
	if err != nil {
		return MasterKey{}, fmt.Errorf("master key file %w", err)
	}
	key, err := ParseMasterKey(text)
	if err != nil {
		return MasterKey{}, fmt.Errorf("master key file %s: %w", path, err)
	}
	return key, nil
}

// LoadOrCreateMasterKey reads the key file at path, or creates it with a new key and mode 0600. Two concurrent processes
// return the same key.
func LoadOrCreateMasterKey(path string) (MasterKey, error) {
	key, err := LoadMasterKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	err = createKeyFile(path, NewMasterKey())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return MasterKey{}, fmt.Errorf("create the master key file: %w", err)
	}
	return LoadMasterKey(path)
}

// createKeyFile writes a temporary file and links it to its name, which fails if the name exists. Readers and crashes
// never see a part of a key.
func createKeyFile(path string, key MasterKey) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".master-key-*") // created with mode 0600
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
	d, err := os.Open(dir) // the operator names the directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
