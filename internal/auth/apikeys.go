package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// APIKey describes a key without its secret.
type APIKey struct {
	UID, OrgUID, UserUID, Email, Name string
	Canonical                         string    // of the name; lists are sorted by it
	CreatedAt, ExpiresAt, LastUsedAt  time.Time // LastUsedAt is zero for an unused key, and exact to five minutes
	Active                            bool
}

// NewAPIKey is the input of CreateAPIKey.
type NewAPIKey struct {
	Org       string    // required for an operator; empty for others
	User      string    // uid or email; empty for the caller
	Name      string    // unique among the user's keys
	ExpiresAt time.Time // required
}

// CreateAPIKey creates a key for the caller, or as an administrator for another user of the organization. The key
// itself is returned only once; the store has its hash.
//
// Faults: Invalid with fields name, expiresAt, user, org; Forbidden; NotFound for a user outside of the organization;
// Conflict with code ApiKeyAlreadyExists.
func (s *Service) CreateAPIKey(ctx context.Context, p Principal, origin audit.Origin, input NewAPIKey) (APIKey, secret.String, error) {
	now := s.now()
	if problems := s.APIKeyProblems(p, input); len(problems) > 0 {
		return APIKey{}, "", fault.InvalidFields(problems...)
	}
	key, hash := newAPIKey()
	var created store.APIKey
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := s.keyOwner(ctx, tx, p, input)
		if err != nil {
			return err
		}
		if err := tx.Users.Lock(ctx, user.OrgUID, user.UID); err != nil { // else concurrent calls could exceed the limit
			return err
		}
		n, err := tx.APIKeys.Count(ctx, user.OrgUID, user.UID)
		if err != nil {
			return err
		}
		if n >= maxAPIKeys {
			return fault.InvalidFields(fault.Field{Field: "name", Problem: fmt.Sprintf("exceeds the limit of %d keys per user; delete a key first", maxAPIKeys)})
		}
		created = store.APIKey{UID: uuid.NewString(), OrgUID: user.OrgUID, UserUID: user.UID, Name: strings.TrimSpace(input.Name),
			Canonical: Canonical(input.Name), Hash: hash, CreatedAt: now, ExpiresAt: input.ExpiresAt, Email: user.Email}
		if err := tx.APIKeys.Insert(ctx, created); err != nil {
			return err
		}
		record := s.succeeded(p, origin, audit.APIKeyCreate, created.UID, now)
		record.OrgUID = user.OrgUID
		return tx.Audits.Append(ctx, record)
	})
	if err != nil {
		return APIKey{}, "", fault.Wrap("create an API key", keyNameTaken(UserNotFound(err))) // a concurrent request may have deleted the user
	}
	return visible(created), key, nil
}

// maxAPIKeys bounds the keys of one user: lists and expiry alerts contain each of them.
const maxAPIKeys = 100

// APIKeyProblems lists the problems of a new key that can be found without the store.
func (s *Service) APIKeyProblems(p Principal, input NewAPIKey) []fault.Field {
	problems := fault.FieldProblem("name", NameProblem(input.Name))
	switch {
	case input.ExpiresAt.IsZero():
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "is required"})
	case !input.ExpiresAt.After(s.now()):
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "must be in the future"})
	}
	if p.Role == RoleOperator && strings.TrimSpace(input.User) == "" {
		problems = append(problems, fault.Field{Field: "user", Problem: "is required"})
	}
	return problems
}

// keyOwner returns the user that the new key belongs to.
func (s *Service) keyOwner(ctx context.Context, tx *store.Tx, p Principal, input NewAPIKey) (store.User, error) {
	org, err := p.Org(ctx, tx, input.Org)
	if err != nil {
		return store.User{}, err
	}
	if input.User == "" || input.User == p.UserUID || Canonical(input.User) == Canonical(p.Email) {
		if p.Role != RoleOperator {
			return tx.Users.Get(ctx, org.UID, p.UserUID)
		}
	}
	if err := p.May(CreateAllAPIKeys); err != nil {
		return store.User{}, err
	}
	return userOf(ctx, tx, org, input.User)
}

// ListAPIKeys lists the caller's keys. For administrators it returns the page of the organization's keys that follows
// the given key, and whether there may be more. The zero value starts at the first page. Only an operator has to name
// the organization.
func (s *Service) ListAPIKeys(ctx context.Context, p Principal, org string, after APIKey) (list []APIKey, more bool, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx, org)
		if err != nil {
			return err
		}
		var keys []store.APIKey
		if p.Can(ReadAllAPIKeys) {
			keys, more, err = tx.APIKeys.OfOrg(ctx, orgUID, store.APIKey{UserUID: after.UserUID, Canonical: after.Canonical})
		} else {
			keys, err = tx.APIKeys.OfUser(ctx, orgUID, p.UserUID)
		}
		for _, key := range keys {
			list = append(list, visible(key))
		}
		return err
	})
	return list, more, fault.Wrap("list API keys", err)
}

func visible(k store.APIKey) APIKey {
	return APIKey{UID: k.UID, OrgUID: k.OrgUID, UserUID: k.UserUID, Email: k.Email, Name: k.Name, Canonical: k.Canonical,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, Active: k.DeactivatedAt.IsZero()}
}

// APIKey returns one of the caller's keys, or for administrators one of the organization's.
//
// Faults: NotFound for a key that does not exist or that the caller may not see.
func (s *Service) APIKey(ctx context.Context, p Principal, uid string) (APIKey, error) {
	var key store.APIKey
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		key, err = s.keyFor(ctx, tx, p, uid)
		return err
	})
	return visible(key), fault.Wrap("look up an API key", err)
}

// keyFor reads a key that the principal may see and change.
func (s *Service) keyFor(ctx context.Context, tx *store.Tx, p Principal, uid string) (store.APIKey, error) {
	read := func() (store.APIKey, error) { return tx.APIKeys.Get(ctx, p.OrgUID, uid) }
	if p.Role == RoleOperator {
		read = func() (store.APIKey, error) { return tx.APIKeys.ByUID(ctx, uid) }
	}
	key, err := read()
	if err == nil && key.UserUID != p.UserUID && !p.Can(ManageAllAPIKeys) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.APIKey{}, asNotFound(err, "API key not found.")
	}
	return key, nil
}

// APIKeyChange is a change of a key; nil fields stay unchanged.
type APIKeyChange struct {
	Name      *string
	ExpiresAt *time.Time
	Active    *bool
}

// APIKeyChangeProblems lists the problems of a change that can be found without the store.
func (s *Service) APIKeyChangeProblems(c APIKeyChange) (problems []fault.Field) {
	if c.Name != nil {
		problems = fault.FieldProblem("name", NameProblem(*c.Name))
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.After(s.now()) {
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "must be in the future"})
	}
	return problems
}

// stored returns the change in the form of the store, where empty fields stay unchanged.
func (c APIKeyChange) stored() store.APIKeyChange {
	wanted := store.APIKeyChange{Active: c.Active}
	if c.Name != nil {
		wanted.Name, wanted.Canonical = strings.TrimSpace(*c.Name), Canonical(*c.Name)
	}
	if c.ExpiresAt != nil {
		wanted.ExpiresAt = *c.ExpiresAt
	}
	return wanted
}

// UpdateAPIKey changes a key of the caller, or for administrators one of the organization. The change takes effect at
// once.
//
// Faults: Invalid with fields name, expiresAt; NotFound; Conflict with code ApiKeyAlreadyExists.
func (s *Service) UpdateAPIKey(ctx context.Context, p Principal, origin audit.Origin, uid string, change APIKeyChange) (APIKey, error) {
	if problems := s.APIKeyChangeProblems(change); len(problems) > 0 {
		return APIKey{}, fault.InvalidFields(problems...)
	}
	var changed store.APIKey
	err := s.changeKey(ctx, p, origin, uid, audit.APIKeyUpdate, func(tx *store.Tx, key store.APIKey, now time.Time) (err error) {
		if err := tx.APIKeys.Update(ctx, key.OrgUID, key.UID, change.stored(), now); err != nil {
			return err
		}
		changed, err = tx.APIKeys.Get(ctx, key.OrgUID, key.UID) // read again: a concurrent request may have changed the key since
		return err
	})
	return visible(changed), err
}

// RevokeAPIKey deactivates a key; UpdateAPIKey can activate it again.
//
// Faults: NotFound.
func (s *Service) RevokeAPIKey(ctx context.Context, p Principal, origin audit.Origin, uid string) error {
	inactive := false
	_, err := s.UpdateAPIKey(ctx, p, origin, uid, APIKeyChange{Active: &inactive})
	return err
}

// DeleteAPIKey deletes a key.
//
// Faults: NotFound.
func (s *Service) DeleteAPIKey(ctx context.Context, p Principal, origin audit.Origin, uid string) error {
	return s.changeKey(ctx, p, origin, uid, audit.APIKeyDelete, func(tx *store.Tx, key store.APIKey, _ time.Time) error {
		return tx.APIKeys.Delete(ctx, key.OrgUID, key.UID)
	})
}

// changeKey changes one key and writes the audit record.
func (s *Service) changeKey(ctx context.Context, p Principal, origin audit.Origin, uid string, action audit.Action, change func(*store.Tx, store.APIKey, time.Time) error) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		key, err := s.keyFor(ctx, tx, p, uid)
		if err != nil {
			return err
		}
		if err := change(tx, key, now); err != nil {
			return err
		}
		record := s.succeeded(p, origin, action, uid, now)
		record.OrgUID = key.OrgUID
		return tx.Audits.Append(ctx, record)
	})
	return fault.Wrap("change an API key", keyNameTaken(err))
}

func keyNameTaken(err error) error {
	if errors.Is(err, store.ErrExists) {
		return &fault.Error{Kind: fault.Conflict, Code: "ApiKeyAlreadyExists", Message: "The user already has an API key with this name."}
	}
	return err
}
