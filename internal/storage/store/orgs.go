package store

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Org is an organization. Canonical is the one spelling under which it is looked up.
type Org struct {
	UID, Name, Canonical string
	CreatedAt            time.Time
	PasswordPolicy       string        // of package passwordpolicy; empty: none
	SessionIdle          time.Duration // after which a session ends without a refresh; 0: what the server sets
	SecondFactor         bool          // required of users who log in with a password
}

const (
	sqlInsertOrg   = `INSERT INTO orgs (uid, name, canonical, created_at) VALUES ($1, $2, $3, $4)`
	sqlOrgByName   = `SELECT uid, name, canonical, created_at, password_policy, session_idle, second_factor FROM orgs WHERE canonical = $1`
	sqlOrgByUID    = `SELECT uid, name, canonical, created_at, password_policy, session_idle, second_factor FROM orgs WHERE uid = $1`
	sqlOrgs        = `SELECT uid, name, canonical, created_at, password_policy, session_idle, second_factor FROM orgs ORDER BY canonical`
	sqlOrgsOfEmail = `SELECT o.name, u.email FROM orgs o JOIN users u ON u.org_uid = o.uid AND u.canonical = $1
		WHERE u.disabled_at IS NULL AND u.workload = 0 ORDER BY o.canonical LIMIT $2`
	sqlRenameOrg  = `UPDATE orgs SET name = $1, canonical = $2 WHERE uid = $3`
	sqlSetPolicy  = `UPDATE orgs SET password_policy = $1 WHERE uid = $2`
	sqlSetIdle    = `UPDATE orgs SET session_idle = $1 WHERE uid = $2`
	sqlCapIdle    = `UPDATE sessions SET idle_until = used_at + $1 WHERE org_uid = $2 AND ended_at IS NULL AND idle_until > used_at + $1`
	sqlLockKeyset = `UPDATE data_keyset SET id = id WHERE id = 1`
	sqlLockOrg    = `UPDATE orgs SET name = name WHERE uid = $1`
	sqlAnyOrg     = `SELECT uid, name, canonical, created_at, password_policy, session_idle, second_factor FROM orgs LIMIT 1`

	// A new unique value takes the lock of a deletion on PostgreSQL: no transaction can add a row that refers to the organization
	// before this one ends.
	sqlBeginOrgDelete   = `UPDATE orgs SET canonical = uid WHERE uid = $1`
	sqlRegistriesIn     = `SELECT name FROM registries WHERE org_uid = $1 LIMIT $2`
	sqlMembersIn        = `SELECT email FROM users WHERE org_uid = $1 AND role <> 'admin' LIMIT $2`
	sqlUserUIDs         = `SELECT uid FROM users WHERE org_uid = $1`
	sqlForgetAccount    = `DELETE FROM login_throttles WHERE account = $1`
	sqlDeleteAlertsIn   = `DELETE FROM alerts WHERE org_uid = $1`
	sqlDeleteAddresses  = `DELETE FROM alert_addresses WHERE org_uid = $1`
	sqlDeleteRegistries = `DELETE FROM registries WHERE org_uid = $1`
	sqlDeleteUsage      = `DELETE FROM org_usage WHERE org_uid = $1`
	sqlDropRunsIn       = `UPDATE registry_runs SET dropped = 1 WHERE org_uid = $1 AND dropped = 0`
	sqlDeleteProjects   = `DELETE FROM projects WHERE org_uid = $1`
	sqlLockUsersOfOrg   = `UPDATE users SET role = role WHERE org_uid = $1` // before what else is locked, as a login does
	sqlDeleteUsers      = `DELETE FROM users WHERE org_uid = $1`
	sqlDeleteOrg        = `DELETE FROM orgs WHERE uid = $1`
)

func scanOrg(row rows.Scanner, o *Org) error {
	var idle int64
	err := row.Scan(&o.UID, &o.Name, &o.Canonical, rows.Moment(&o.CreatedAt), &o.PasswordPolicy, &idle, rows.Truth(&o.SecondFactor))
	o.SessionIdle = time.Duration(idle) * time.Millisecond
	return err
}

// Orgs reads and changes organizations.
type Orgs struct{ *conn }

// Insert adds an organization. Its canonical name being taken is ErrExists.
func (tx Orgs) Insert(ctx context.Context, o Org) error {
	return tx.db.ChangeOne(ctx, sqlInsertOrg, o.UID, o.Name, o.Canonical, rows.Millis(o.CreatedAt))
}

// Rename changes the name of an organization. Its canonical name being taken is ErrExists.
func (tx Orgs) Rename(ctx context.Context, o Org) error {
	return tx.noteIf(ctx, true, tx.db.ChangeOne(ctx, sqlRenameOrg, o.Name, o.Canonical, o.UID), o.UID)
}

// SetPasswordPolicy replaces the password policy of an organization.
func (tx Orgs) SetPasswordPolicy(ctx context.Context, uid, policy string) error {
	return tx.db.ChangeOne(ctx, sqlSetPolicy, policy, uid)
}

// SetSessionIdle sets after which time without a refresh sessions of an organization end, also those that exist.
func (tx Orgs) SetSessionIdle(ctx context.Context, uid string, idle time.Duration) error {
	if err := tx.db.ChangeOne(ctx, sqlSetIdle, idle.Milliseconds(), uid); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlCapIdle, idle.Milliseconds(), uid)
}

// ByName looks an organization up by its canonical name.
func (tx Orgs) ByName(ctx context.Context, canonical string) (Org, error) {
	return rows.One(ctx, tx.db, scanOrg, sqlOrgByName, canonical)
}

// Get looks an organization up.
func (tx Orgs) Get(ctx context.Context, uid string) (Org, error) {
	return rows.One(ctx, tx.db, scanOrg, sqlOrgByUID, uid)
}

// OrgOfUser is the organization of a user with that email.
type OrgOfUser struct{ Name, Email string }

// OfEmail lists at most limit organizations that have a user who is not disabled, with a canonical email.
func (tx Orgs) OfEmail(ctx context.Context, canonical string, limit int) ([]OrgOfUser, error) {
	scan := func(row rows.Scanner, o *OrgOfUser) error { return row.Scan(&o.Name, &o.Email) }
	return rows.All(ctx, tx.db, scan, sqlOrgsOfEmail, canonical, limit)
}

// List lists all organizations by name.
func (tx Orgs) List(ctx context.Context) ([]Org, error) {
	return rows.All(ctx, tx.db, scanOrg, sqlOrgs)
}

// Any returns some organization, ErrNotFound when there is none yet.
func (tx Orgs) Any(ctx context.Context) (Org, error) { return rows.One(ctx, tx.db, scanOrg, sqlAnyOrg) }

// First returns ErrExists when there is an organization. Otherwise concurrent calls wait until the transaction ends: of several
// that create a first organization at once, one does.
func (tx Orgs) First(ctx context.Context) error {
	// Every opened store has the row. Its lock is what matters.
	if err := tx.db.ChangeOne(ctx, sqlLockKeyset); err != nil {
		return err
	}
	_, err := tx.Any(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return ErrExists
	}
	return err
}

// Lock is Users.Lock for an organization.
func (tx Orgs) Lock(ctx context.Context, uid string) error {
	return tx.db.ChangeOne(ctx, sqlLockOrg, uid)
}

// BeginDelete makes other transactions wait that use the organization, until this one ends. It belongs before Registries,
// Members and Delete.
func (tx Orgs) BeginDelete(ctx context.Context, uid string) error {
	return tx.db.ChangeOne(ctx, sqlBeginOrgDelete, uid)
}

// Registries lists names of at most limit registries of an organization, in no order.
func (tx Orgs) Registries(ctx context.Context, uid string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlRegistriesIn, uid, limit)
}

// Members lists emails of at most limit users of an organization who are not administrators, in no order.
func (tx Orgs) Members(ctx context.Context, uid string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlMembersIn, uid, limit)
}

// Delete deletes an organization with everything of it but its audit records, and notes the change for every process. Contents.Sweep
// deletes the content of its registries later.
func (tx Orgs) Delete(ctx context.Context, uid string) error {
	if err := tx.db.ChangeAny(ctx, sqlLockUsersOfOrg, uid); err != nil {
		return err
	}
	users, err := rows.All(ctx, tx.db, rows.ScanText, sqlUserUIDs, uid)
	if err != nil {
		return err
	}
	for _, user := range users {
		if err := tx.db.ChangeAny(ctx, sqlForgetAccount, []byte(user)); err != nil {
			return err
		}
	}
	for _, query := range []string{sqlDeleteAllowancesOfOrg, sqlDeleteAlertsIn, sqlDeleteAddresses, sqlDeleteRegistries, sqlDeleteUsage,
		sqlDropRunsIn, sqlDeleteProjects} {
		if err := tx.db.ChangeAny(ctx, query, uid); err != nil {
			return err
		}
	}
	if err := tx.addRepeatsOf(ctx, postgresLockSessionsOfOrg, sqlAddRepeatsOfOrg, uid); err != nil {
		return err
	}
	if err := tx.db.ChangeAny(ctx, sqlDeleteUsers, uid); err != nil {
		return err
	}
	return tx.noteIf(ctx, true, tx.db.ChangeOne(ctx, sqlDeleteOrg, uid), uid)
}
