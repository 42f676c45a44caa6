// Package directory manages organizations, their projects and their users, and reads audit records.
//
// Each change and its audit record are one transaction; refusals are recorded too. The package decides which data a
// caller may see: it never confirms an identifier of another organization, and a member sees only its own projects.
// Package auth has logins and password hashing.
package directory

import (
	"cmp"
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// DefaultProject is created with every organization. Palette's public clients look it up at every start.
const DefaultProject = "Default"

// Conflict codes.
const (
	CodeOrgExists       = "OrganizationAlreadyExists"
	CodeOrgNotEmpty     = "OrganizationNotEmpty"
	CodeProjectExists   = "ProjectAlreadyExists"
	CodeProjectNotEmpty = "ProjectNotEmpty"
	CodeUserExists      = "UserAlreadyExists"
	CodeTeamExists      = "TeamAlreadyExists"
	CodeTrustExists     = "TrustRuleAlreadyExists"
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
	Canonical           string // lists are sorted by it
	Annotations, Labels map[string]string
	CreatedAt           time.Time
}

// User is a user of one organization, without its password.
type User struct {
	UID, OrgUID, Email string
	Canonical          string // of the email; lists are sorted by it
	PersonName
	Role        auth.Role // its own
	Teams       []Team    // without members and projects
	RoleNamed   bool      // false if the user is a member because no role was named
	CreatedAt   time.Time
	LastLoginAt time.Time // zero if the user never logged in
	Disabled    bool

	SecondFactor bool // logins with the password ask for a code
}

// PersonName is the name of a user in the form of public clients; each part may be empty.
type PersonName struct{ Name, FirstName, LastName string }

// Directory is safe for concurrent use.
type Directory struct {
	db        *store.DB
	passwords *auth.Passwords
	now       func() time.Time
}

// New returns the directory of an open store. passwords is auth.Service.Passwords; now may be nil.
func New(db *store.DB, passwords *auth.Passwords, now func() time.Time) *Directory {
	if now == nil {
		now = time.Now
	}
	return &Directory{db: db, passwords: passwords, now: now}
}

// attempt is one administrative change by a principal.
type attempt struct {
	origin     audit.Origin
	principal  auth.Principal
	permission access.Permission
	action     audit.Action
	object     string // for the record of a refusal
	notSelf    bool   // object is a user and must not be the principal
	byKey      bool   // the record names the API key too
}

// refusal returns why the attempt is not allowed, nil if it is.
func (a attempt) refusal() error {
	p := a.principal
	if err := p.May(a.permission); err != nil || !a.notSelf {
		return err
	}
	if p.UserUID != "" && (a.object == p.UserUID || names.Canonical(a.object) == names.Canonical(p.Email)) {
		return notSelf(a.permission)
	}
	return nil
}

// notSelf prevents an administrator from locking out the organization, and a stolen administrator session from
// changing the password.
func notSelf(permission access.Permission) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(permission),
		Message: "You cannot do this to your own user. Ask another administrator. To change your own password, give the current one."}
}

// changeResult is the result of a change, for its record.
type changeResult struct {
	orgUID, uid string
	action      audit.Action // in place of that of the attempt; may be empty
	reason      string
	unchanged   bool // there is nothing to record
}

// change checks whether the attempt is allowed, makes the change and records the outcome.
func (d *Directory) change(ctx context.Context, a attempt, change func(*store.Tx) (changeResult, error)) error {
	record := a.principal.AuditRecord(a.origin, a.action)
	record.UID, record.At, record.Object = a.origin.RecordUID(), d.now(), a.object
	if a.byKey {
		record.Target = a.principal.APIKeyUID
	}
	if refusal := a.refusal(); refusal != nil {
		return auth.RecordRefusal(ctx, d.db, record, refusal)
	}
	err := d.db.InTx(ctx, func(tx *store.Tx) error {
		result, err := change(tx)
		if err != nil || result.unchanged {
			return err
		}
		done := record
		done.OrgUID, done.Object, done.Outcome, done.Reason = result.orgUID, result.uid, audit.Succeeded, result.reason
		done.Action = cmp.Or(result.action, a.action)
		return tx.Audits.Append(ctx, done)
	})
	return fault.Wrap(string(a.action), auth.RecordRefusal(ctx, d.db, record, err)) // forbidden because of what it would change
}
