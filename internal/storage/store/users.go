package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// User belongs to one organization. Canonical is the one spelling of its email under which it is looked up. DisabledAt is
// zero while the user may log in.
type User struct {
	UID, OrgUID, Email, Canonical string
	Role                          string // several are separated by spaces; with " +" at the end if there are roles in projects
	RoleNamed                     bool   // false: a member because no role was named
	Name, FirstName, LastName     string // as clients set them; may be empty
	PasswordHash                  string // PHC string; empty: no password was set yet
	PasswordChangedAt, CreatedAt  time.Time
	LastLoginAt, DisabledAt       time.Time
	Workload                      bool // of a trust rule: not a person
	SecondFactor                  bool // confirmed; Tx.Factors has it
}

const (
	// The column role has admin or member alone, so that every version of the program knows who is an administrator.
	roleOfUser  = `COALESCE(NULLIF(u.roles, ''), u.role) || CASE u.granted WHEN 1 THEN ' +' ELSE '' END`
	userColumns = `u.uid, u.org_uid, u.email, u.canonical, ` + roleOfUser + `, u.role_named, u.name, u.first_name, u.last_name,
		u.password_hash, u.password_changed_at, u.created_at, u.last_login_at, u.disabled_at, u.workload, u.second_factor`

	sqlInsertUser = `INSERT INTO users (uid, org_uid, email, canonical, role, role_named, name, first_name, last_name, password_hash,
		password_changed_at, created_at, workload, roles) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	sqlUpdateUser = `UPDATE users SET email = COALESCE(CAST($3 AS TEXT), email), canonical = COALESCE(CAST($4 AS TEXT), canonical),
		name = $5, first_name = $6, last_name = $7 WHERE org_uid = $1 AND uid = $2`
	sqlDeleteUser = `DELETE FROM users WHERE org_uid = $1 AND uid = $2`
	sqlOtherAdmin = `SELECT uid FROM users WHERE org_uid = $1 AND uid <> $2 AND role = 'admin' AND disabled_at IS NULL
		AND workload = 0 AND (password_hash <> '' OR $3 = 0) LIMIT 1`
	sqlUserByEmail = `SELECT ` + userColumns + ` FROM users u WHERE u.org_uid = $1 AND u.canonical = $2`
	sqlUser        = `SELECT ` + userColumns + ` FROM users u WHERE u.org_uid = $1 AND u.uid = $2`
	sqlUsers       = `SELECT ` + userColumns + ` FROM users u WHERE u.org_uid = $1 AND u.canonical > $2
		AND u.workload = 0 ORDER BY u.canonical LIMIT $3`
	sqlSetUserRole = `UPDATE users SET role = $3, role_named = $4, roles = $5 WHERE org_uid = $1 AND uid = $2`
	sqlGrant       = `UPDATE users SET granted = 1 WHERE org_uid = $1 AND uid = $2`
	sqlRaiseFloor  = `UPDATE schema_floor SET least = $1 WHERE id = 1 AND least < $1`
	sqlLockUser    = `UPDATE users SET role = role WHERE org_uid = $1 AND uid = $2`
	sqlNoteLogin   = `UPDATE users SET last_login_at = $3, password_hash = $4
		WHERE uid = $1 AND password_hash = $2 AND disabled_at IS NULL`

	sqlDisableUser    = `UPDATE users SET disabled_at = $3 WHERE org_uid = $1 AND uid = $2 AND disabled_at IS NULL`
	sqlEnableUser     = `UPDATE users SET disabled_at = NULL WHERE org_uid = $1 AND uid = $2 AND disabled_at IS NOT NULL`
	sqlSetPassword    = `UPDATE users SET password_hash = $3, password_changed_at = $4 WHERE org_uid = $1 AND uid = $2`
	sqlChangePassword = `UPDATE users SET password_hash = $4, password_changed_at = $5
		WHERE org_uid = $1 AND uid = $2 AND password_hash = $3 AND disabled_at IS NULL`
)

func scanUser(row rows.Scanner, u *User) error {
	return row.Scan(&u.UID, &u.OrgUID, &u.Email, &u.Canonical, &u.Role, rows.Truth(&u.RoleNamed), &u.Name, &u.FirstName, &u.LastName,
		&u.PasswordHash, rows.Moment(&u.PasswordChangedAt), rows.Moment(&u.CreatedAt), rows.Moment(&u.LastLoginAt),
		rows.Moment(&u.DisabledAt), rows.Truth(&u.Workload), rows.Truth(&u.SecondFactor))
}

// Users reads and changes users and their passwords.
type Users struct{ *conn }

// Insert adds a user. Its canonical email being taken in the organization is ErrExists.
func (tx Users) Insert(ctx context.Context, u User) error {
	role, roles, err := tx.roleColumns(ctx, u.Role)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsertUser, u.UID, u.OrgUID, u.Email, u.Canonical, role, rows.Flag(u.RoleNamed), u.Name, u.FirstName,
		u.LastName, u.PasswordHash, rows.Millis(u.PasswordChangedAt), rows.Millis(u.CreatedAt), rows.Flag(u.Workload), roles)
}

// roleColumns returns the columns role and roles of User.Role. Programs that do not know the column roles cannot open the store from then
// on.
func (tx Users) roleColumns(ctx context.Context, given string) (role, roles string, err error) {
	given = strings.TrimSuffix(given, " +")
	if role = "member"; slices.Contains(strings.Fields(given), "admin") {
		role = "admin"
	}
	if given == role {
		return role, "", nil
	}
	return role, given, tx.db.ChangeAny(ctx, sqlRaiseFloor, rolesSchema)
}

// rolesSchema is the number of the newest migration with columns for roles.
const rolesSchema = 37

// Update stores the names of a user, and its email unless that is empty, and notes the change for every process. The
// canonical email being taken by another user is ErrExists.
func (tx Users) Update(ctx context.Context, u User) error {
	if err := tx.db.ChangeOne(ctx, sqlUpdateUser, u.OrgUID, u.UID, rows.OrNull(u.Email), rows.OrNull(u.Canonical), u.Name, u.FirstName,
		u.LastName); err != nil {
		return err
	}
	return tx.note(ctx, u.UID)
}

// Delete deletes a user with its sessions, API keys and memberships, and notes the change for every process.
func (tx Users) Delete(ctx context.Context, orgUID, uid string) error {
	if err := tx.Lock(ctx, orgUID, uid); err != nil { // before its sessions, as disabling it does
		return err
	}
	if err := tx.addRepeatsOf(ctx, postgresLockSessionsOfUser, sqlAddRepeatsOfUser, orgUID, uid); err != nil {
		return err
	}
	return tx.noteIf(ctx, true, tx.db.ChangeOne(ctx, sqlDeleteUser, orgUID, uid), uid)
}

// HasOtherAdmin reports whether the organization has an enabled administrator other than that user, who has a password if it must.
func (tx Users) HasOtherAdmin(ctx context.Context, orgUID, uid string, withPassword bool) (bool, error) {
	other, err := rows.OneOrZero(ctx, tx.db, rows.ScanText, sqlOtherAdmin, orgUID, uid, rows.Flag(withPassword))
	return other != "", err
}

// ByEmail looks a user up by its canonical email within its organization.
func (tx Users) ByEmail(ctx context.Context, orgUID, canonical string) (User, error) {
	return rows.One(ctx, tx.db, scanUser, sqlUserByEmail, orgUID, canonical)
}

// Get looks a user up within its organization.
func (tx Users) Get(ctx context.Context, orgUID, uid string) (User, error) {
	return rows.One(ctx, tx.db, scanUser, sqlUser, orgUID, uid)
}

// List returns the page of an organization's users, by email, that follows one of them. The zero value precedes all. It
// reports whether there may be more.
func (tx Users) List(ctx context.Context, orgUID string, after User) ([]User, bool, error) {
	return rows.Page(ctx, tx.db, pageSize, scanUser, sqlUsers, orgUID, after.Canonical)
}

// Lock makes other transactions that lock the user wait until this one ends: what is read after it from several rows is
// unchanged when it is written. With one writer, it costs nothing.
func (tx Users) Lock(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlLockUser, orgUID, uid)
}

// SetRole gives a user a role, and notes the change for every process. named is stored as RoleNamed.
func (tx Users) SetRole(ctx context.Context, orgUID, uid, role string, named bool) error {
	column, roles, err := tx.roleColumns(ctx, role)
	if err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlSetUserRole, orgUID, uid, column, rows.Flag(named), roles); err != nil {
		return err
	}
	return tx.note(ctx, uid)
}

// Grant stores that a user has other roles than those in its organization, and notes the change for every process. Programs that do not
// know such roles cannot open the store from then on.
func (tx Users) Grant(ctx context.Context, orgUID, uid string) error {
	if err := tx.db.ChangeAny(ctx, sqlRaiseFloor, rolesSchema); err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlGrant, orgUID, uid); err != nil {
		return err
	}
	return tx.note(ctx, uid)
}

// NoteLogin stores a login with the password whose hash was verified, and replaces that hash with newHash (the same one when it needs no
// upgrade). It is ErrNotFound when the user was disabled or the password changed since the hash was read. The row is then locked until the
// transaction ends, so that a disabling sees the session that this transaction adds, or this transaction sees the disabling.
func (tx Users) NoteLogin(ctx context.Context, uid, verifiedHash, newHash string, at time.Time) error {
	return tx.db.ChangeOne(ctx, sqlNoteLogin, uid, verifiedHash, rows.Millis(at), newHash)
}

// Disable prevents logins of a user and ends its sessions. ErrNotFound: the user is disabled already, or does not exist.
func (tx Users) Disable(ctx context.Context, orgUID, uid string, at time.Time) error {
	if err := tx.db.ChangeOne(ctx, sqlDisableUser, orgUID, uid, rows.Millis(at)); err != nil {
		return err
	}
	if err := tx.note(ctx, uid); err != nil { // its API keys too, session or not
		return err
	}
	return Sessions(tx).EndOfUser(ctx, orgUID, uid, "", "disabled", at)
}

// Enable allows logins of a disabled user again. ErrNotFound: the user is not disabled, or does not exist.
func (tx Users) Enable(ctx context.Context, orgUID, uid string) error {
	if err := tx.db.ChangeOne(ctx, sqlEnableUser, orgUID, uid); err != nil {
		return err
	}
	return tx.note(ctx, uid)
}

// SetPassword replaces the password of a user without verifying the old one.
func (tx Users) SetPassword(ctx context.Context, orgUID, uid, hash string, at time.Time) error {
	return tx.db.ChangeOne(ctx, sqlSetPassword, orgUID, uid, hash, rows.Millis(at))
}

// ChangePassword replaces the password whose hash was verified. ErrNotFound: that is no longer the password, or the user is disabled.
func (tx Users) ChangePassword(ctx context.Context, orgUID, uid, verifiedHash, hash string, at time.Time) error {
	return tx.db.ChangeOne(ctx, sqlChangePassword, orgUID, uid, verifiedHash, hash, rows.Millis(at))
}
