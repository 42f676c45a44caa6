package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

const macKeyBytes = 32

// Keys has the keys of the service, which sign its tokens. It is safe for concurrent use.
type Keys struct {
	db         *store.DB
	now        func() time.Time
	sessionMax time.Duration
	set        atomic.Pointer[keySet]
}

// JWKS returns the JWK set of the public signing keys (RFC 7517).
func (k *Keys) JWKS() []byte { return k.keySet().jwks }

// keySet holds the keys of the service as they were when it was loaded. It is immutable.
type keySet struct {
	signing *signingKey            // signs new tokens
	verify  map[string]*signingKey // by kid; includes retired keys that may still verify
	mac     []byte                 // for new refresh tokens
	macs    [][]byte               // all keys that may still verify
	jwks    []byte

	all   []store.ServiceKey
	until time.Time // end of the first key that expires; zero for never
}

type signingKey struct {
	kid     string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
	header  string // of its tokens, encoded
}

// loadKeys reads the keys from the store and generates missing ones. If several processes do so at once, the store
// accepts one key of each purpose, and all of them read it.
func loadKeys(ctx context.Context, db *store.DB, now time.Time) (*keySet, error) {
	var keys []store.ServiceKey
	read := func(tx *store.Tx) (err error) {
		keys, err = tx.Keys.List(ctx)
		return err
	}
	if err := db.View(ctx, read); err != nil {
		return nil, err
	}
	if set, err := newKeySet(keys, now); !errors.Is(err, errNoKey) {
		return set, err
	}
	err := db.InTx(ctx, func(tx *store.Tx) error {
		if err := generateKeys(ctx, tx, now); err != nil {
			return err
		}
		return read(tx)
	})
	if err != nil {
		return nil, err
	}
	return newKeySet(keys, now)
}

// keySet returns the current keys, without those whose last token has expired since they were loaded.
func (k *Keys) keySet() *keySet {
	set, now := k.set.Load(), k.now()
	if set.until.IsZero() || now.Before(set.until) {
		return set
	}
	smaller, err := newKeySet(set.all, now)
	if err != nil { // the keys were valid when loaded, and time never removes a key in use
		return set
	}
	k.set.CompareAndSwap(set, smaller)
	return smaller
}

// reload reads the keys, at the start and after a rotation.
func (k *Keys) reload(ctx context.Context) error {
	set, err := loadKeys(ctx, k.db, k.now())
	if err != nil {
		return fmt.Errorf("load the keys of the service: %w", err)
	}
	k.set.Store(set)
	return nil
}

// generateKeys generates a key for each purpose that has none in use.
func generateKeys(ctx context.Context, tx *store.Tx, now time.Time) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("generate a signing key: %w", err)
	}
	mac := make([]byte, macKeyBytes)
	_, _ = rand.Read(mac)
	for _, key := range []store.ServiceKey{
		{UID: uuid.NewString(), Purpose: store.KeySign, Public: public, Secret: private.Seed(), CreatedAt: now},
		{UID: uuid.NewString(), Purpose: store.KeyMAC, Secret: mac, CreatedAt: now},
	} {
		if _, err := tx.Keys.Insert(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

var errNoKey = errors.New("no key is in use")

// newKeySet sorts keys by purpose and drops those whose last token has expired.
func newKeySet(keys []store.ServiceKey, now time.Time) (*keySet, error) {
	set := &keySet{verify: map[string]*signingKey{}, all: keys}
	var public jose.JSONWebKeySet
	for _, key := range keys {
		active := key.RetiredAt.IsZero()
		if !active && !now.Before(key.VerifyUntil) {
			continue
		}
		if !active && (set.until.IsZero() || key.VerifyUntil.Before(set.until)) {
			set.until = key.VerifyUntil
		}
		switch key.Purpose {
		case store.KeySign:
			signing, err := newSigningKey(key)
			if err != nil {
				return nil, err
			}
			set.verify[signing.kid] = signing
			if active {
				set.signing = signing
			}
			public.Keys = append(public.Keys, jose.JSONWebKey{Key: signing.public, KeyID: signing.kid,
				Algorithm: string(jose.EdDSA), Use: "sig"})
		case store.KeyMAC:
			set.macs = append(set.macs, key.Secret)
			if active {
				set.mac = key.Secret
			}
		}
	}
	if set.signing == nil || set.mac == nil {
		return nil, errNoKey
	}
	var err error
	set.jwks, err = json.Marshal(public)
	return set, err
}

func newSigningKey(key store.ServiceKey) (*signingKey, error) {
	if len(key.Secret) != ed25519.SeedSize {
		return nil, fmt.Errorf("signing key %s has %d bytes", key.UID, len(key.Secret))
	}
	private := ed25519.NewKeyFromSeed(key.Secret)
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok || !public.Equal(ed25519.PublicKey(key.Public)) {
		return nil, fmt.Errorf("signing key %s does not match its public key", key.UID)
	}
	header, err := json.Marshal(tokenHeader{Algorithm: string(jose.EdDSA), KeyID: key.UID, Type: tokenType})
	if err != nil {
		return nil, fmt.Errorf("create a signer for key %s: %w", key.UID, err)
	}
	return &signingKey{kid: key.UID, public: public, private: private, header: base64.RawURLEncoding.EncodeToString(header)}, nil
}
