// Package roles stores the roles that organizations define.
package roles

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Role belongs to one organization.
type Role struct {
	UID, OrgUID     string
	Name, Canonical string // unique in the organization
	Description     string
	Scope           string // ScopeTenant or ScopeProject
	Permissions     []string
	CreatedAt       time.Time
}

// Scopes: a role of a project can be given in projects too.
const (
	ScopeTenant  = "tenant"
	ScopeProject = "project"
)

const (
	columns   = `SELECT uid, org_uid, name, canonical, description, scope, permissions, created_at FROM roles`
	sqlInsert = `INSERT INTO roles (uid, org_uid, name, canonical, description, scope, permissions, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (org_uid, canonical) DO NOTHING`
	sqlUpdate = `UPDATE roles SET name = $3, canonical = $4, description = $5, scope = $6, permissions = $7 WHERE org_uid = $1 AND uid = $2`
	sqlDelete = `DELETE FROM roles WHERE org_uid = $1 AND uid = $2`
	sqlGet    = columns + ` WHERE org_uid = $1 AND uid = $2`
	sqlOfOrg  = columns + ` WHERE org_uid = $1 ORDER BY canonical`

	// A uid is not part of another text of roles.
	sqlUses = `SELECT u.email FROM users u WHERE u.org_uid = $1 AND u.roles LIKE $2
		UNION SELECT u.email FROM users u JOIN project_members m ON m.user_uid = u.uid WHERE u.org_uid = $1 AND m.roles LIKE $2
		UNION SELECT t.name FROM teams t WHERE t.org_uid = $1 AND t.roles LIKE $2
		UNION SELECT t.name FROM teams t JOIN team_projects p ON p.team_uid = t.uid WHERE t.org_uid = $1 AND p.roles LIKE $2
		ORDER BY 1 LIMIT $3`
	sqlUsesInProjects = `SELECT u.email FROM users u JOIN project_members m ON m.user_uid = u.uid WHERE u.org_uid = $1 AND m.roles LIKE $2
		UNION SELECT t.name FROM teams t JOIN team_projects p ON p.team_uid = t.uid WHERE t.org_uid = $1 AND p.roles LIKE $2
		ORDER BY 1 LIMIT $3`
)

func scan(row rows.Scanner, r *Role) error {
	return row.Scan(&r.UID, &r.OrgUID, &r.Name, &r.Canonical, &r.Description, &r.Scope, jsontext.To(&r.Permissions),
		rows.Moment(&r.CreatedAt))
}

// Roles reads and changes roles. Callers note the changes for other processes.
type Roles struct{ db *rows.Conn }

// In returns the roles of one transaction.
func In(db *rows.Conn) Roles { return Roles{db} }

// Insert adds a role. Its name being taken in the organization is sqldb.ErrExists.
func (tx Roles) Insert(ctx context.Context, r Role) error {
	permissions, err := jsontext.List(r.Permissions)
	if err != nil {
		return err
	}
	added, err := tx.db.Changed(ctx, sqlInsert, r.UID, r.OrgUID, r.Name, r.Canonical, r.Description, r.Scope, permissions,
		rows.Millis(r.CreatedAt))
	if err == nil && !added {
		err = sqldb.ErrExists
	}
	return err
}

// Update replaces a role. Its name being taken by another one is sqldb.ErrExists.
func (tx Roles) Update(ctx context.Context, r Role) error {
	permissions, err := jsontext.List(r.Permissions)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlUpdate, r.OrgUID, r.UID, r.Name, r.Canonical, r.Description, r.Scope, permissions)
}

// Delete deletes a role.
func (tx Roles) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlDelete, orgUID, uid)
}

// Get looks a role up within its organization.
func (tx Roles) Get(ctx context.Context, orgUID, uid string) (Role, error) {
	return rows.One(ctx, tx.db, scan, sqlGet, orgUID, uid)
}

// OfOrg lists the roles of an organization by name.
func (tx Roles) OfOrg(ctx context.Context, orgUID string) ([]Role, error) {
	return rows.All(ctx, tx.db, scan, sqlOfOrg, orgUID)
}

// Uses lists users, trust rules and teams, at most limit, that have a role: anywhere, or in projects alone.
func (tx Roles) Uses(ctx context.Context, orgUID, uid string, inProjects bool, limit int) ([]string, error) {
	query := sqlUses
	if inProjects {
		query = sqlUsesInProjects
	}
	return rows.All(ctx, tx.db, rows.ScanText, query, orgUID, "%"+uid+"%", limit)
}
