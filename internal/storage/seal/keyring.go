// Package seal encrypts secrets at rest with two levels of keys. A master key wraps one keyring. The keyring encrypts all values and binds
// each to the location where it is stored.
//
// internal/storage/store stores the wrapped keyring and the encrypted values. A value that cannot be decrypted is always an error.
package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/xchacha20poly1305"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrWrongKey is returned if a master key cannot unwrap a keyring: it is another key, or the wrapped keyring is damaged. The
// cipher does not distinguish these.
var ErrWrongKey = errors.New("the master key does not open the keyring of this store")

// ErrDamaged is returned if a value cannot be decrypted for its location: it was changed, moved or encrypted by another
// keyring.
var ErrDamaged = errors.New("an encrypted value cannot be decrypted")

// keyringLocation is the associated data of the wrapped keyring, which distinguishes it from other encrypted values.
const keyringLocation = "regwarden|data_keyset|v1"

// Location is where an encrypted value is stored. It is authenticated with the value: a ciphertext that was copied to another
// table, row, organization or column cannot be decrypted there.
type Location struct {
	Table, Row, Org, Column string // Org is empty for values of the service
}

// associatedData joins the four parts with their lengths, so that two locations never have the same bytes.
func (p Location) associatedData() []byte {
	var b strings.Builder
	for _, part := range []string{p.Table, p.Row, p.Org, p.Column} {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
		b.WriteByte('|')
	}
	return []byte(b.String())
}

// Keyring encrypts and decrypts values. It is safe for concurrent use. It has several keys after a rotation; each ciphertext
// begins with the id of its key.
type Keyring struct {
	handle *keyset.Handle
	cipher tink.AEAD
	macKey []byte // of MAC
}

// NewKeyring creates a keyring with one new key. The nonces of XChaCha20-Poly1305 are long enough to be random for any
// number of values.
func NewKeyring() (*Keyring, error) {
	handle, err := keyset.NewHandle(aead.XChaCha20Poly1305KeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("create data key: %w", err)
	}
	return fromHandle(handle)
}

// Unwrap decrypts a keyring that Wrap encrypted with the same master key. With another key it returns ErrWrongKey.
func Unwrap(master MasterKey, wrapped []byte) (*Keyring, error) {
	wrapper, err := master.cipher()
	if err != nil {
		return nil, err
	}
	handle, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(wrapped)), wrapper, []byte(keyringLocation))
	if err != nil {
		return nil, ErrWrongKey // the library's error has no detail that may be shown
	}
	return fromHandle(handle)
}

func fromHandle(handle *keyset.Handle) (*Keyring, error) {
	cipher, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("use data keys: %w", err)
	}
	macKey, err := deriveMACKey(handle)
	if err != nil {
		return nil, fmt.Errorf("use data keys: %w", err)
	}
	return &Keyring{handle: handle, cipher: cipher, macKey: macKey}, nil
}

// deriveMACKey derives the key of MAC from the first key of the ring, which stays the first when others are added.
func deriveMACKey(handle *keyset.Handle) ([]byte, error) {
	entry, err := handle.Entry(0)
	if err != nil {
		return nil, err
	}
	first, ok := entry.Key().(*xchacha20poly1305.Key)
	if !ok {
		return nil, errors.New("the first key is of an unknown type")
	}
	return hkdf.Key(sha256.New, first.KeyBytes().Data(insecuresecretdataaccess.Token{}), nil, macPurpose, sha256.Size)
}

// macPurpose is part of what is stored: a change of it changes every MAC.
const macPurpose = "regwarden keyed hashes"

// MAC returns a keyed hash of a text for a purpose. Stored, it shows equal texts, and without the keyring nothing of them.
func (k *Keyring) MAC(purpose string, text []byte) []byte {
	mac := hmac.New(sha256.New, k.macKey)
	fmt.Fprintf(mac, "%d:%s|", len(purpose), purpose)
	mac.Write(text)
	return mac.Sum(nil)
}

// Wrap returns the keyring encrypted with the master key, to be stored.
func (k *Keyring) Wrap(master MasterKey) ([]byte, error) {
	wrapper, err := master.cipher()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := k.handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&out), wrapper, []byte(keyringLocation)); err != nil {
		return nil, fmt.Errorf("wrap data keys: %w", err)
	}
	return out.Bytes(), nil
}

// Encrypt encrypts plain for its location.
func (k *Keyring) Encrypt(plain []byte, at Location) ([]byte, error) {
	ciphertext, err := k.cipher.Encrypt(plain, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("encrypt %s.%s: %w", at.Table, at.Column, err)
	}
	return ciphertext, nil
}

// Decrypt decrypts what Encrypt returned for the same location. Otherwise it returns ErrDamaged.
func (k *Keyring) Decrypt(ciphertext []byte, at Location) ([]byte, error) {
	plain, err := k.cipher.Decrypt(ciphertext, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("decrypt %s.%s of row %s: %w", at.Table, at.Column, at.Row, ErrDamaged)
	}
	return plain, nil
}
