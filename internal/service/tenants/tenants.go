// Package tenants manages settings of organizations: what clients store about single sign-on with the identity provider, and about
// sessions.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/tenants"
)

// Setting is the name of a setting, as it is stored.
type Setting string

// Settings. That of domains also limits whose addresses an identity provider may bring, and that of tokens how long sessions go on without
// a refresh. The others are stored and returned alone.
const (
	SAML    Setting = "saml"
	Domains Setting = "domains"
	Logins  Setting = "ssoLogins"
	Tokens  Setting = "tokens"

	OIDC Setting = "oidc" // in audit records only: the provider itself has those of its own

	passwords Setting = "passwordPolicy"
	reminders Setting = "keyReminders"
)

// changedBy has the permission that changing a setting requires.
var changedBy = map[Setting]access.Permission{SAML: access.CreateTrusts, Domains: access.CreateTrusts, Logins: access.CreateTrusts,
	OIDC: access.CreateTrusts, Tokens: access.ChangeTenant, passwords: access.ChangeTenant, reminders: access.ChangeTenant}

// Tenants is safe for concurrent use.
type Tenants struct {
	db  *store.DB
	now func() time.Time
}

// New returns the settings of an open store.
func New(db *store.DB, now func() time.Time) *Tenants { return &Tenants{db, now} }

// Get returns a setting of the caller's organization, the zero value if it was never set. Every user may read Tokens. For users without
// access.ReadTrusts the others look as if they were never set: public clients end at an error.
func Get[T any](ctx context.Context, t *Tenants, p auth.Principal, of Setting) (value T, err error) {
	if of != Tokens && !p.Can(access.ReadTrusts) {
		return value, nil
	}
	value, err = store.Read(ctx, t.db, func(tx *store.Tx) (T, error) { return tenants.Get[T](ctx, tx.Settings, p.OrgUID, string(of)) })
	return value, fault.Wrap("read a setting", err)
}

// Set stores a setting of the caller's organization as JSON.
//
// Faults: Forbidden.
func (t *Tenants) Set(ctx context.Context, p auth.Principal, origin audit.Origin, of Setting, value any) error {
	return t.change(ctx, p, origin, of, func(tx *store.Tx) error { return tx.Settings.Put(ctx, p.OrgUID, string(of), value) })
}

// LeaveUnchanged records a request that changes nothing, or its refusal.
//
// Faults: Forbidden.
func (t *Tenants) LeaveUnchanged(ctx context.Context, p auth.Principal, origin audit.Origin, of Setting) error {
	return t.change(ctx, p, origin, of, func(*store.Tx) error { return nil })
}

// SetIdle is Set for Tokens: sessions of the organization end after that time without a refresh, also those that exist.
func (t *Tenants) SetIdle(ctx context.Context, p auth.Principal, origin audit.Origin, value any, idle time.Duration) error {
	return t.change(ctx, p, origin, Tokens, func(tx *store.Tx) error {
		return errors.Join(tx.Settings.Put(ctx, p.OrgUID, string(Tokens), value), tx.Orgs.SetSessionIdle(ctx, p.OrgUID, idle))
	})
}

// SetDomains is Set for Domains. The identity provider of the organization gets them too. One that is switched off keeps its domains if
// there are none: clients that switch it off send none, and with it on again, everyone whom the provider knows could log in.
func (t *Tenants) SetDomains(ctx context.Context, p auth.Principal, origin audit.Origin, domains []string) error {
	return t.change(ctx, p, origin, Domains, func(tx *store.Tx) error {
		if err := tx.Settings.Put(ctx, p.OrgUID, string(Domains), domains); err != nil {
			return err
		}
		provider, err := tx.Identities.Provider(ctx, p.OrgUID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || len(domains) == 0 && provider.Settings.Disabled {
			return err
		}
		provider.Settings.EmailDomains = Canonical(domains)
		return tx.Identities.PutProvider(ctx, provider)
	})
}

// PasswordPolicy returns the password policy of the caller's organization. Every user may read it.
func (t *Tenants) PasswordPolicy(ctx context.Context, p auth.Principal) (policy passwordpolicy.Policy, err error) {
	org, err := store.Read(ctx, t.db, func(tx *store.Tx) (store.Org, error) { return tx.Orgs.Get(ctx, p.OrgUID) })
	if err == nil {
		policy, err = passwordpolicy.Of(org.PasswordPolicy)
	}
	return policy, fault.Wrap("read the password policy", err)
}

// SetPasswordPolicy replaces the password policy of the caller's organization. Passwords that are set are not checked again, but expire.
//
// Faults: Invalid with the fields of passwordpolicy.Policy.Problems; Forbidden.
func (t *Tenants) SetPasswordPolicy(ctx context.Context, p auth.Principal, origin audit.Origin, policy passwordpolicy.Policy) error {
	if problems := policy.Problems(); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	text, err := policy.Text()
	if err != nil {
		return err
	}
	return t.change(ctx, p, origin, passwords, func(tx *store.Tx) error { return tx.Orgs.SetPasswordPolicy(ctx, p.OrgUID, text) })
}

// KeyReminders returns how many days before the end of an API key the caller's organization is reminded, the most first. Every user may
// read it.
func (t *Tenants) KeyReminders(ctx context.Context, p auth.Principal) (days []int, err error) {
	set, err := store.Read(ctx, t.db, func(tx *store.Tx) (store.Reminders, error) { return tx.APIKeys.Reminders(ctx, p.OrgUID) })
	for _, n := range set {
		if n != 0 {
			days = append(days, n)
		}
	}
	return days, fault.Wrap("read the reminders of API keys", err)
}

// SetKeyReminders replaces the reminders of the caller's organization; none switches them off.
//
// Faults: Invalid with the field days; Forbidden.
func (t *Tenants) SetKeyReminders(ctx context.Context, p auth.Principal, origin audit.Origin, days []int) error {
	var set store.Reminders
	sorted := slices.Sorted(slices.Values(days))
	slices.Reverse(sorted)
	if len(days) > len(set) || len(slices.Compact(slices.Clone(sorted))) != len(days) ||
		slices.ContainsFunc(days, func(n int) bool { return n < 1 || n > store.MaxReminder }) {
		return fault.InvalidField("days", fmt.Sprintf("must be at most %d different numbers from 1 to %d", len(set), store.MaxReminder))
	}
	copy(set[:], sorted)
	return t.change(ctx, p, origin, reminders, func(tx *store.Tx) error { return tx.APIKeys.SetReminders(ctx, p.OrgUID, set) })
}

// Canonical returns domains as the identity provider has them.
func Canonical(domains []string) []string {
	list := make([]string, len(domains))
	for i, domain := range domains {
		list[i] = names.Canonical(domain)
	}
	slices.Sort(list)
	return list
}

// mayChange returns the fault of a permission that the caller lacks. Whose addresses log in decides who becomes an administrator, so that
// domains require every permission, as the identity provider does. OIDC requires reading the provider: for other callers there seems to be
// none.
func mayChange(p auth.Principal, of Setting) error {
	needed := []access.Permission{changedBy[of]}
	if of == OIDC {
		needed = append(needed, access.ReadTrusts)
	}
	if of == Domains && !p.HasAll() {
		needed = append(needed, access.Permissions()...)
	}
	for _, permission := range needed {
		if err := p.May(permission); err != nil {
			return err
		}
	}
	return nil
}

// change makes a change if the caller may, and records it or the refusal.
func (t *Tenants) change(ctx context.Context, p auth.Principal, origin audit.Origin, of Setting, do func(*store.Tx) error) error {
	record := p.AuditRecord(origin, audit.TenantUpdate)
	record.UID, record.At, record.Object, record.Outcome = origin.RecordUID(), t.now(), string(of), audit.Succeeded
	refusal := mayChange(p, of)
	if refusal != nil {
		record.Outcome, record.Reason = audit.Refused, fault.CodeOperationForbidden
		do = func(*store.Tx) error { return nil }
	}
	err := t.db.InTx(ctx, func(tx *store.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil {
		err = refusal
	}
	return fault.Wrap("change a setting", err)
}
