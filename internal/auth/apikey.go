package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// An API key is "rwk_" and, in lower-case base32, 32 random bytes and their CRC-32. Scanners for leaked
// secrets find it by its prefix and tell it from look-alikes by the checksum, and so do we, before the
// store is asked. Letters and digits alone: a double click takes it whole.
const (
	apiKeyPrefix = "rwk_"
	apiKeyRandom = 32
	apiKeyBytes  = apiKeyRandom + crc32.Size
)

var apiKeyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// APIKey is what may be known about a key.
type APIKey struct {
	UID, OrgUID, UserUID, Email, Name string
	CreatedAt, ExpiresAt, LastUsedAt  time.Time // LastUsedAt: zero when never, and exact to some minutes
	Active                            bool
}

// NewAPIKey asks for a key.
type NewAPIKey struct {
	Org       string    // an operator names the organization; others leave it empty
	User      string    // uid or e-mail; empty: the caller
	Name      string    // unique among the user's keys
	ExpiresAt time.Time // required
}

// CreateAPIKey makes a key for the caller, or by an administrator for another user of the organization.
// The key itself is returned this once and kept nowhere.
//
// Faults: Invalid with fields name, expiresAt, user, org; Forbidden; NotFound for a user that is not of
// the organization; Conflict with code ApiKeyAlreadyExists.
func (s *Service) CreateAPIKey(ctx context.Context, origin audit.Origin, p Principal, ask NewAPIKey) (APIKey, secret.String, error) {
	now := s.config.Now()
	if problems := ask.problems(p, now); len(problems) > 0 {
		return APIKey{}, "", fault.InvalidFields(problems...)
	}
	key, hash := newAPIKey()
	var made store.APIKey
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := s.keyOwner(ctx, tx, p, ask)
		if err != nil {
			return err
		}
		made = store.APIKey{UID: uuid.NewString(), OrgUID: user.OrgUID, UserUID: user.UID, Name: strings.TrimSpace(ask.Name),
			Canonical: Canonical(ask.Name), Hash: hash, CreatedAt: now, ExpiresAt: ask.ExpiresAt, Email: user.Email}
		if err := tx.InsertAPIKey(ctx, made); err != nil {
			return err
		}
		event := p.Event(origin, audit.APIKeyCreate)
		event.UID, event.At, event.OrgUID, event.Object, event.Outcome = uuid.NewString(), now, user.OrgUID, made.UID, audit.Succeeded
		return tx.AppendAudit(ctx, event)
	})
	if errors.Is(err, store.ErrExists) {
		return APIKey{}, "", &fault.Error{Kind: fault.Conflict, Code: "ApiKeyAlreadyExists", Message: "The user has an API key of that name."}
	}
	if err != nil {
		return APIKey{}, "", fmt.Errorf("make an API key: %w", err)
	}
	return visible(made), key, nil
}

func (ask NewAPIKey) problems(p Principal, now time.Time) []fault.Field {
	problems := fieldIf("name", NameProblem(ask.Name))
	switch {
	case ask.ExpiresAt.IsZero():
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "is required"})
	case !ask.ExpiresAt.After(now):
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "is not in the future"})
	}
	if p.Role == RoleOperator && strings.TrimSpace(ask.User) == "" {
		problems = append(problems, fault.Field{Field: "user", Problem: "is required"})
	}
	return problems
}

// keyOwner is the user that the key is for.
func (s *Service) keyOwner(ctx context.Context, tx *store.Tx, p Principal, ask NewAPIKey) (store.User, error) {
	org, err := p.Org(ctx, tx, ask.Org)
	if err != nil {
		return store.User{}, err
	}
	if ask.User == "" || ask.User == p.UserUID || Canonical(ask.User) == Canonical(p.Email) {
		if p.Role != RoleOperator {
			return tx.User(ctx, org.UID, p.UserUID)
		}
	}
	if err := p.May(CreateAllAPIKeys); err != nil {
		return store.User{}, err
	}
	user, err := tx.User(ctx, org.UID, ask.User)
	if errors.Is(err, store.ErrNotFound) {
		user, err = tx.UserByEmail(ctx, org.UID, Canonical(ask.User))
	}
	if errors.Is(err, store.ErrNotFound) {
		err = &fault.Error{Kind: fault.NotFound, Code: fault.CodeResourceNotFound, Message: "There is no such user in the organization."}
	}
	return user, err
}

// ListAPIKeys lists the caller's keys, or for administrators those of the whole organization. An operator
// names the organization; others leave it empty.
func (s *Service) ListAPIKeys(ctx context.Context, p Principal, org string) ([]APIKey, error) {
	var list []APIKey
	err := s.db.View(ctx, func(tx *store.Tx) error {
		in, err := p.Org(ctx, tx, org)
		if err != nil {
			return err
		}
		keys, err := keysFor(ctx, tx, p, in)
		for _, key := range keys {
			list = append(list, visible(key))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return list, nil
}

func keysFor(ctx context.Context, tx *store.Tx, p Principal, org store.Org) ([]store.APIKey, error) {
	if p.Can(ReadAllAPIKeys) {
		return tx.APIKeysOfOrg(ctx, org.UID)
	}
	return tx.APIKeysOfUser(ctx, org.UID, p.UserUID)
}

func visible(k store.APIKey) APIKey {
	return APIKey{UID: k.UID, OrgUID: k.OrgUID, UserUID: k.UserUID, Email: k.Email, Name: k.Name,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, Active: k.DeactivatedAt.IsZero()}
}

// newAPIKey draws a key and returns it with what is stored of it. The key is as strong as the hash, so a
// fast hash without salt is enough: there is nothing to guess.
func newAPIKey() (secret.String, []byte) {
	raw := make([]byte, apiKeyRandom, apiKeyBytes)
	_, _ = rand.Read(raw)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	key := apiKeyPrefix + apiKeyEncoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(key))
	return secret.String(key), hash[:]
}

// apiKeyHash returns what would be stored of a key, and whether it has the form of one.
func apiKeyHash(key secret.String) ([]byte, bool) {
	text, found := strings.CutPrefix(key.Reveal(), apiKeyPrefix)
	if !found || len(text) != apiKeyEncoding.EncodedLen(apiKeyBytes) {
		return nil, false
	}
	raw, err := apiKeyEncoding.DecodeString(text)
	if err != nil || len(raw) != apiKeyBytes || apiKeyEncoding.EncodeToString(raw) != text {
		return nil, false
	}
	if crc32.ChecksumIEEE(raw[:apiKeyRandom]) != binary.BigEndian.Uint32(raw[apiKeyRandom:]) {
		return nil, false
	}
	hash := sha256.Sum256([]byte(key))
	return hash[:], true
}

// judgeAPIKey says why a key that was found is not good, "" when it is.
func judgeAPIKey(k store.APIKey, hash []byte, now time.Time) string {
	switch {
	case subtle.ConstantTimeCompare(k.Hash, hash) != 1: // the index found it; the comparison is ours
		return ReasonUnknown
	case !k.DeactivatedAt.IsZero() || !k.DisabledAt.IsZero():
		return ReasonInactive
	case !now.Before(k.ExpiresAt):
		return ReasonExpired
	}
	return ""
}
