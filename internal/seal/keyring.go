// Package seal keeps secrets at rest: a master key wraps one keyring, and the keyring seals everything
// else, each value bound to the place where it is kept.
//
// It knows keys and bytes only. Where the wrapped keyring and the sealed values are stored is the
// business of internal/store. It never falls back: a value that does not open is an error.
package seal

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ErrWrongKey is returned when a keyring does not open with a master key: it is another key, or
// the wrapped keyring is damaged. The cipher can't tell which.
var ErrWrongKey = errors.New("the master key does not open the keyring of this store")

// ErrDamaged is returned when a sealed value does not open at its place: it was changed, moved or
// sealed by another keyring.
var ErrDamaged = errors.New("a sealed value does not open")

// keyringPlace is the associated data of the wrapped keyring, so that no other wrapped thing passes for it.
const keyringPlace = "regwarden|data_keyset|v1"

// Place says where a sealed value is kept. It is authenticated with the value, so that a ciphertext
// copied to another table, row, organization or column does not open there.
type Place struct {
	Table, Row, Org, Column string // Org is empty for what belongs to the service
}

// associatedData joins the four parts with their lengths, so that no two places give the same bytes.
func (p Place) associatedData() []byte {
	var b strings.Builder
	for _, part := range []string{p.Table, p.Row, p.Org, p.Column} {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
		b.WriteByte('|')
	}
	return []byte(b.String())
}

// Keyring seals and opens values. It is safe for concurrent use. It holds several keys after a
// rotation; the key's id stands at the head of each ciphertext.
type Keyring struct {
	handle *keyset.Handle
	cipher tink.AEAD
}

// NewKeyring makes a keyring with one fresh key. XChaCha20-Poly1305 has nonces long enough to be
// drawn at random for any number of values.
func NewKeyring() (*Keyring, error) {
	handle, err := keyset.NewHandle(aead.XChaCha20Poly1305KeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a data key: %w", err)
	}
	return fromHandle(handle)
}

// Unwrap opens a keyring that Wrap made with the same master key, else ErrWrongKey.
func Unwrap(master MasterKey, wrapped []byte) (*Keyring, error) {
	wrapper, err := master.cipher()
	if err != nil {
		return nil, err
	}
	handle, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(wrapped)), wrapper, []byte(keyringPlace))
	if err != nil {
		return nil, ErrWrongKey // the library's error adds nothing that may be shown
	}
	return fromHandle(handle)
}

func fromHandle(handle *keyset.Handle) (*Keyring, error) {
	cipher, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("use the data keys: %w", err)
	}
	return &Keyring{handle: handle, cipher: cipher}, nil
}

// Wrap returns the keyring encrypted with the master key, fit to be stored.
func (k *Keyring) Wrap(master MasterKey) ([]byte, error) {
	wrapper, err := master.cipher()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := k.handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&out), wrapper, []byte(keyringPlace)); err != nil {
		return nil, fmt.Errorf("wrap the data keys: %w", err)
	}
	return out.Bytes(), nil
}

// Seal encrypts plain for its place.
func (k *Keyring) Seal(plain []byte, at Place) ([]byte, error) {
	sealed, err := k.cipher.Encrypt(plain, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", at.Table, at.Column, err)
	}
	return sealed, nil
}

// Open decrypts what Seal made for the same place, else ErrDamaged.
func (k *Keyring) Open(sealed []byte, at Place) ([]byte, error) {
	plain, err := k.cipher.Decrypt(sealed, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("open %s.%s of row %s: %w", at.Table, at.Column, at.Row, ErrDamaged)
	}
	return plain, nil
}
