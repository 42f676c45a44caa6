// Package directory keeps organizations, their projects and their users, and reads what is on record about them.
//
// Each change and its audit record are one transaction, and so is a refusal's record. It decides who may
// see what: an identifier of another organization is never confirmed, and a member sees its own projects
// only. Logins and hashing are in internal/auth.
package directory

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// DefaultProject is made with every organization; Palette's public clients look for it at every start.
const DefaultProject = "Default"

// Codes of conflicts.
const (
	CodeOrgExists       = "OrganizationAlreadyExists"
	CodeProjectExists   = "ProjectAlreadyExists"
	CodeProjectNotEmpty = "ProjectNotEmpty"
	CodeUserExists      = "UserAlreadyExists"
	CodeLastAdmin       = "LastAdministrator" // a change would leave an organization without an administrator who can log in
)

// Org is an organization.
type Org struct {
	UID, Name string
	CreatedAt time.Time
}

// Project is a project of one organization.
type Project struct {
	UID, OrgUID, Name   string
	Canonical           string // by which lists are sorted
	Annotations, Labels map[string]string
	CreatedAt           time.Time
}

// User is a user of one organization, without its password.
type User struct {
	UID, OrgUID, Email string
	Canonical          string // of the email, by which lists are sorted
	UserNames
	Role        auth.Role
	RoleNamed   bool // false: a member because no role was named
	CreatedAt   time.Time
	LastLoginAt time.Time // zero: never
	Disabled    bool
}

// UserNames are what clients call a user; each may be empty.
type UserNames struct{ Name, FirstName, LastName string }

// Directory is safe for concurrent use.
type Directory struct {
	db        *store.DB
	passwords *auth.Passwords
	now       func() time.Time
}

// New makes a directory on an opened store. passwords is auth.Service.Passwords; now may be nil.
func New(db *store.DB, passwords *auth.Passwords, now func() time.Time) *Directory {
	if now == nil {
		now = time.Now
	}
	return &Directory{db: db, passwords: passwords, now: now}
}

// attempt is one administrative change: who wants what.
type attempt struct {
	origin     audit.Origin
	principal  auth.Principal
	permission auth.Permission
	action     audit.Action
	object     string // what is to be made or changed, for the record of a refusal
	notOneself bool   // object is a user that must not be the principal
}

// refusal returns why the attempt is not allowed, nil if it is.
func (a attempt) refusal() error {
	p := a.principal
	if err := p.May(a.permission); err != nil || !a.notOneself {
		return err
	}
	if p.UserUID != "" && (a.object == p.UserUID || auth.Canonical(a.object) == auth.Canonical(p.Email)) {
		return notOneself(a.permission)
	}
	return nil
}

// notOneself keeps an administrator from locking out the last one, and whoever took over an administrator's
// session from taking the password too.
func notOneself(permission auth.Permission) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(permission),
		Message: "That is not possible for your own user. Ask another administrator, or change your own password with the current one."}
}

// made is what a change made, for its record.
type made struct{ orgUID, uid string }

// change decides whether the attempt is allowed, makes the change and records either.
func (d *Directory) change(ctx context.Context, a attempt, change func(*store.Tx) (made, error)) error {
	event := a.principal.Event(a.origin, a.action)
	event.UID, event.At = a.origin.RecordUID(), d.now()
	if refusal := a.refusal(); refusal != nil {
		event.Object, event.Outcome, event.Reason = a.object, audit.Refused, fault.CodeOperationForbidden
		if err := d.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, event) }); err != nil {
			return fault.Wrap("record a refusal", err)
		}
		return refusal
	}
	err := d.db.InTx(ctx, func(tx *store.Tx) error {
		result, err := change(tx)
		if err != nil {
			return err
		}
		event.OrgUID, event.Object, event.Outcome = result.orgUID, result.uid, audit.Succeeded
		return tx.Audits.Append(ctx, event)
	})
	return fault.Wrap(string(a.action), err)
}

// existsAs gives a unique violation its code.
func existsAs(err error, code, message string) error {
	if errors.Is(err, store.ErrExists) {
		return &fault.Error{Kind: fault.Conflict, Code: code, Message: message}
	}
	return err
}
