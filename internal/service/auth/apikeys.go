package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Prefixes of the random keys of API keys, and of the references that browsers have to their sessions.
const (
	apiKeyPrefix    = "rwk_"
	referencePrefix = "rwc_"

	// 30 of the 256 random bits: enough to distinguish the keys of an organization, useless for an attack
	visibleChars = len(apiKeyPrefix) + 6
)

// APIKey describes a key without its secret.
type APIKey struct {
	UID, UserUID, Email, Name        string
	Prefix                           string    // the first characters of the key, empty for keys of older versions
	Canonical                        string    // of the name; lists are sorted by it
	CreatedAt, ExpiresAt, LastUsedAt time.Time // LastUsedAt is zero for an unused key, and exact to five minutes
	Active                           bool
	Limit                            access.Limit
}

// APIKeys creates, lists, changes and revokes API keys. It is safe for concurrent use.
type APIKeys struct {
	db           *store.DB
	now, waitNow func() time.Time
	revocations  *perminute.Limiter // by source
}

// NewAPIKey is the input of APIKeys.Create.
type NewAPIKey struct {
	User      string    // uid or email; empty for the caller
	Name      string    // unique among the user's keys
	ExpiresAt time.Time // required
	Limit     access.Limit
}

// Create creates a key for the caller, or as an administrator for another user of the organization. The key
// itself is returned only once; the store has its hash.
//
// Faults: Invalid with fields name, expiresAt, user, org, scope, project; Forbidden; NotFound for a user outside of the organization;
// Conflict with code ApiKeyAlreadyExists.
func (k *APIKeys) Create(ctx context.Context, p Principal, origin audit.Origin, input NewAPIKey) (APIKey, secret.String, error) {
	now := k.now()
	if input.Limit.Scope == access.ScopeAll {
		input.Limit.Scope = ""
	}
	if problems := k.Problems(p, input); len(problems) > 0 {
		return APIKey{}, "", fault.InvalidFields(problems...)
	}
	key, hash := randomkey.New(prefixOf(input.Limit.Scope))
	var created store.APIKey
	err := k.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := k.lockOwner(ctx, tx, p, input)
		if err != nil {
			return err
		}
		created = store.APIKey{UID: uuid.NewString(), OrgUID: user.OrgUID, UserUID: user.UID, Name: strings.TrimSpace(input.Name),
			Canonical: names.Canonical(input.Name), Prefix: key.Reveal()[:visibleChars], Hash: hash,
			CreatedAt: now, ExpiresAt: input.ExpiresAt, Email: user.Email,
			Scope: string(input.Limit.Scope), ProjectUID: input.Limit.Project}
		if err := tx.APIKeys.Insert(ctx, created); err != nil {
			return err
		}
		record := p.Succeeded(origin, audit.APIKeyCreate, created.UID, now)
		record.OrgUID = user.OrgUID
		return tx.Audits.Append(ctx, record)
	})
	if err = k.recordRefusal(ctx, p, origin, audit.APIKeyCreate, input.User, err); err != nil {
		// a concurrent request may have deleted the user
		return APIKey{}, "", fault.Wrap("create an API key", keyNameTaken(UserNotFound(err)))
	}
	return visible(created), key, nil
}

// revocationsPerMinute is how many revocations without credentials a source may send.
const revocationsPerMinute = 30

// maxAPIKeys bounds the keys of one user: lists and expiry alerts contain each of them.
const maxAPIKeys = 100

// Problems lists the problems of a new key that can be found without the store.
func (k *APIKeys) Problems(p Principal, input NewAPIKey) []fault.Field {
	problems := append(fault.FieldProblem("name", names.NameProblem(input.Name)),
		fault.FieldProblem("scope", access.ScopeProblem(input.Limit.Scope))...)
	switch {
	case input.ExpiresAt.IsZero():
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "is required"})
	case !input.ExpiresAt.After(k.now()):
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "must be in the future"})
	}
	if p.Role == RoleOperator && strings.TrimSpace(input.User) == "" {
		problems = append(problems, fault.Field{Field: "user", Problem: "is required"})
	}
	return problems
}

// lockOwner returns the user that the new key belongs to, if it may have one. Without a lock, concurrent calls could exceed the limit.
func (k *APIKeys) lockOwner(ctx context.Context, tx *store.Tx, p Principal, input NewAPIKey) (store.User, error) {
	user, err := k.keyOwner(ctx, tx, p, input)
	if err == nil && user.Workload { // a key would outlive the trust in its issuer
		err = &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: "apiKey.create",
			Message: "A workload has no API keys: it exchanges a token of its issuer."}
	}
	if err == nil {
		err = keyProject(ctx, tx, p, user, input.Limit.Project)
	}
	if err == nil {
		err = tx.Users.Lock(ctx, user.OrgUID, user.UID)
	}
	if err == nil {
		err = mayAddKey(ctx, tx, user, input.Limit.Scope)
	}
	return user, err
}

// mayAddKey returns a fault if the user has as many keys as it may have.
func mayAddKey(ctx context.Context, tx *store.Tx, user store.User, scope access.Scope) error {
	keys, err := tx.APIKeys.OfUser(ctx, user.OrgUID, user.UID)
	switch {
	case err != nil:
		return err
	case len(keys) >= maxAPIKeys:
		return fault.InvalidField("name", fmt.Sprintf("exceeds the limit of %d keys per user; delete a key first", maxAPIKeys))
	case scope == access.ScopeCalendar && calendarsOf(keys) >= maxCalendars:
		return fault.InvalidField("scope",
			fmt.Sprintf("exceeds the limit of %d calendars per user; delete the key of a calendar first", maxCalendars))
	}
	return nil
}

// keyOwner returns the user that the new key belongs to.
func (k *APIKeys) keyOwner(ctx context.Context, tx *store.Tx, p Principal, input NewAPIKey) (store.User, error) {
	org, err := p.Org(ctx, tx)
	if err != nil {
		return store.User{}, err
	}
	if input.User == "" || input.User == p.UserUID || names.Canonical(input.User) == names.Canonical(p.Email) {
		if p.Role != RoleOperator {
			return tx.Users.Get(ctx, org.UID, p.UserUID)
		}
	}
	if err := p.May(access.CreateAllAPIKeys); err != nil {
		return store.User{}, err
	}
	user, err := userOf(ctx, tx, org, input.User)
	if err == nil {
		err = p.Covers(ctx, tx, user)
	}
	return user, err
}

// keyProject returns a fault unless the project of a new key exists for the caller.
func keyProject(ctx context.Context, tx *store.Tx, p Principal, owner store.User, uid string) (err error) {
	switch {
	case uid == "":
		return nil
	case p.Can(access.ReadAllProjects):
		_, err = tx.Projects.Get(ctx, owner.OrgUID, uid)
	default:
		_, err = tx.Projects.OneForUser(ctx, owner.OrgUID, p.UserUID, uid)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = fault.InvalidField("project", "does not exist in your organization")
	}
	return err
}

// List lists the caller's keys. For administrators it returns the page of the organization's keys that follows
// the given key, and whether there may be more. The zero value starts at the first page.
func (k *APIKeys) List(ctx context.Context, p Principal, after APIKey) (list []APIKey, more bool, err error) {
	err = k.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		var keys []store.APIKey
		if p.Can(access.ReadAllAPIKeys) {
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

// Expiring lists at most limit active keys that the caller may see and that expire within that time, the first to expire first.
func (k *APIKeys) Expiring(ctx context.Context, p Principal, within time.Duration, limit int) (list []APIKey, err error) {
	user, now := p.UserUID, k.now()
	if p.Can(access.ReadAllAPIKeys) {
		user = ""
	}
	err = k.db.View(ctx, func(tx *store.Tx) error {
		keys, err := tx.APIKeys.ExpiringOfOrg(ctx, p.OrgUID, user, now, now.Add(within), limit)
		for _, key := range keys {
			list = append(list, visible(key))
		}
		return err
	})
	return list, fault.Wrap("list expiring API keys", err)
}

func visible(k store.APIKey) APIKey {
	return APIKey{UID: k.UID, UserUID: k.UserUID, Email: k.Email, Name: k.Name, Prefix: k.Prefix, Canonical: k.Canonical,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, Active: k.DeactivatedAt.IsZero(),
		Limit: access.Limit{Scope: cmp.Or(access.Scope(k.Scope), access.ScopeAll), Project: k.ProjectUID}}
}

// Get returns one of the caller's keys, or for administrators one of the organization's.
//
// Faults: NotFound for a key that does not exist or that the caller may not see.
func (k *APIKeys) Get(ctx context.Context, p Principal, uid string) (APIKey, error) {
	key, err := store.Read(ctx, k.db, func(tx *store.Tx) (store.APIKey, error) { return k.keyFor(ctx, tx, p, uid) })
	return visible(key), fault.Wrap("look up an API key", err)
}

// keyFor reads a key that the principal may see and change.
func (k *APIKeys) keyFor(ctx context.Context, tx *store.Tx, p Principal, uid string) (store.APIKey, error) {
	read := func() (store.APIKey, error) { return tx.APIKeys.Get(ctx, p.OrgUID, uid) }
	if p.Role == RoleOperator {
		read = func() (store.APIKey, error) { return tx.APIKeys.ByUID(ctx, uid) }
	}
	key, err := read()
	if err == nil && key.UserUID != p.UserUID && !p.Can(access.ManageAllAPIKeys) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.APIKey{}, NotFoundAs(err, "API key not found.")
	}
	return key, nil
}

// APIKeyChange is a change of a key; nil fields stay unchanged.
type APIKeyChange struct {
	Name      *string
	ExpiresAt *time.Time
	Active    *bool
}

// ChangeProblems lists the problems of a change that can be found without the store.
func (k *APIKeys) ChangeProblems(c APIKeyChange) (problems []fault.Field) {
	if c.Name != nil {
		problems = fault.FieldProblem("name", names.NameProblem(*c.Name))
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.After(k.now()) {
		problems = append(problems, fault.Field{Field: "expiresAt", Problem: "must be in the future"})
	}
	return problems
}

// stored returns the change in the form of the store, where empty fields stay unchanged.
func (c APIKeyChange) stored() store.APIKeyChange {
	wanted := store.APIKeyChange{Active: c.Active}
	if c.Name != nil {
		wanted.Name, wanted.Canonical = strings.TrimSpace(*c.Name), names.Canonical(*c.Name)
	}
	if c.ExpiresAt != nil {
		wanted.ExpiresAt = *c.ExpiresAt
	}
	return wanted
}

// Update changes a key of the caller, or for administrators one of the organization. The change takes effect at
// once.
//
// Faults: Invalid with fields name, expiresAt; NotFound; Conflict with code ApiKeyAlreadyExists.
func (k *APIKeys) Update(ctx context.Context, p Principal, origin audit.Origin, uid string, change APIKeyChange) (APIKey, error) {
	if problems := k.ChangeProblems(change); len(problems) > 0 {
		return APIKey{}, fault.InvalidFields(problems...)
	}
	var changed store.APIKey
	err := k.changeKey(ctx, p, origin, uid, audit.APIKeyUpdate, func(tx *store.Tx, key store.APIKey, now time.Time) (err error) {
		if err := tx.APIKeys.Update(ctx, key.OrgUID, key.UID, change.stored(), now); err != nil {
			return err
		}
		changed, err = tx.APIKeys.Get(ctx, key.OrgUID, key.UID) // read again: a concurrent request may have changed the key since
		return err
	})
	return visible(changed), err
}

// RevokePresented deactivates a key that the caller has. No other credentials are needed, so that everyone who finds a
// leaked key can end it. It does not report whether the key existed. Whether it is valid can be found out by using it, so the time
// that the call takes reveals nothing more.
//
// Faults: Invalid with field apiKey; Limited.
func (k *APIKeys) RevokePresented(ctx context.Context, origin audit.Origin, key secret.String) error {
	hash, ok := randomkey.Hash(apiKeyPrefix, key)
	if !ok {
		hash, ok = randomkey.Hash(calendarPrefix, key)
	}
	if !ok {
		return fault.InvalidField("apiKey", fmt.Sprintf("must be a whole API key: %s and %d other characters",
			apiKeyPrefix, randomkey.Chars))
	}
	if wait, reserved := k.revocations.Reserve(origin.Source(), 0, k.waitNow()); !reserved {
		return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
			Message: "Too many revocations of API keys in the last minute. Retry after the time in Retry-After."}
	}
	var found store.APIKey
	err := k.db.View(ctx, func(tx *store.Tx) (err error) { // an unknown key must not cause a write
		found, err = tx.APIKeys.ByHash(ctx, hash)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !found.DeactivatedAt.IsZero() {
		return nil
	}
	if err == nil {
		err = k.revokeFound(ctx, origin, found)
	}
	return fault.Wrap("revoke an API key", err)
}

// revokeFound deactivates a key. Its owner is the actor of the record, as for every other use of the key.
func (k *APIKeys) revokeFound(ctx context.Context, origin audit.Origin, key store.APIKey) error {
	inactive, now := false, k.now()
	owner := Principal{UserUID: key.UserUID, OrgUID: key.OrgUID, Email: key.Email, Method: audit.MethodAPIKey}
	err := k.db.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.APIKeys.Update(ctx, key.OrgUID, key.UID, store.APIKeyChange{Active: &inactive}, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, owner.Succeeded(origin, audit.APIKeyRevoke, key.UID, now))
	})
	if errors.Is(err, store.ErrNotFound) { // deleted concurrently
		return nil
	}
	return err
}

// Delete deletes a key.
//
// Faults: NotFound.
func (k *APIKeys) Delete(ctx context.Context, p Principal, origin audit.Origin, uid string) error {
	return k.changeKey(ctx, p, origin, uid, audit.APIKeyDelete, func(tx *store.Tx, key store.APIKey, _ time.Time) error {
		return tx.APIKeys.Delete(ctx, key.OrgUID, key.UID)
	})
}

// changeKey changes one key and writes the audit record.
func (k *APIKeys) changeKey(ctx context.Context, p Principal, origin audit.Origin, uid string, action audit.Action,
	change func(*store.Tx, store.APIKey, time.Time) error) error {
	err := k.db.InTx(ctx, func(tx *store.Tx) error {
		now := k.now()
		key, err := k.keyFor(ctx, tx, p, uid)
		if err != nil {
			return err
		}
		owner, err := tx.Users.Get(ctx, key.OrgUID, key.UserUID)
		if err == nil { // else a key of an administrator that leaked and was deactivated could be made valid again
			err = p.Covers(ctx, tx, owner)
		}
		if err != nil {
			return NotFoundAs(err, "API key not found.")
		}
		if err := change(tx, key, now); err != nil {
			return err
		}
		record := p.Succeeded(origin, action, uid, now)
		record.OrgUID = key.OrgUID
		return tx.Audits.Append(ctx, record)
	})
	err = k.recordRefusal(ctx, p, origin, action, uid, err)
	return fault.Wrap("change an API key", keyNameTaken(err))
}

func (k *APIKeys) recordRefusal(ctx context.Context, p Principal, origin audit.Origin, action audit.Action, object string,
	err error) error {
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object = audit.NewUID(), k.now(), object
	return RecordRefusal(ctx, k.db, record, err)
}

func keyNameTaken(err error) error {
	return ExistsAs(err, "ApiKeyAlreadyExists", "The user already has an API key with this name.")
}

// checkAPIKey returns why a stored key is not accepted, "" if it is.
func checkAPIKey(k store.APIKey, hash []byte, now time.Time) string {
	switch {
	case subtle.ConstantTimeCompare(k.Hash, hash) != 1: // the index found it; compare again in constant time
		return ReasonUnknown
	case !k.DeactivatedAt.IsZero() || !k.DisabledAt.IsZero():
		return ReasonInactive
	case !now.Before(k.ExpiresAt):
		return ReasonExpired
	}
	return ""
}
