// Package provisioned stores what the identity provider of an organization calls the users and teams that it provisions, and reads these
// in the order of pages.
package provisioned

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// User is a user of an organization with its external id, which is empty if the identity provider did not set one.
type User struct {
	UID, Email, Canonical     string
	Name, FirstName, LastName string
	ExternalID                string
	Created                   bool // by the identity provider
	CreatedAt, DisabledAt     time.Time
}

// Team is a team of an organization with its external id.
type Team struct {
	UID, Name, ExternalID string
	CreatedAt             time.Time
}

const (
	users = ` FROM users u LEFT JOIN provisioned_users p ON p.org_uid = u.org_uid AND p.user_uid = u.uid
		WHERE u.org_uid = $1 AND u.workload = 0`
	userColumns = `SELECT u.uid, u.email, u.canonical, u.name, u.first_name, u.last_name, COALESCE(p.external_id, ''),
		COALESCE(p.created, 0), u.created_at, u.disabled_at` + users
	sqlUser           = userColumns + ` AND u.uid = $2`
	sqlUserByEmail    = userColumns + ` AND u.canonical = $2`
	sqlUserByExternal = userColumns + ` AND p.external_id = $2`
	sqlUsers          = userColumns + ` ORDER BY u.canonical LIMIT $2 OFFSET $3`
	sqlCountUsers     = `SELECT COUNT(*) FROM users u WHERE u.org_uid = $1 AND u.workload = 0`
	sqlPutUser        = `INSERT INTO provisioned_users (org_uid, user_uid, external_id, created) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_uid) DO UPDATE SET external_id = excluded.external_id`

	teams = ` FROM teams t LEFT JOIN provisioned_teams p ON p.org_uid = t.org_uid AND p.team_uid = t.uid WHERE t.org_uid = $1`

	teamColumns       = `SELECT t.uid, t.name, COALESCE(p.external_id, ''), t.created_at` + teams
	sqlTeam           = teamColumns + ` AND t.uid = $2`
	sqlTeamByName     = teamColumns + ` AND t.name = $2`
	sqlTeamByExternal = teamColumns + ` AND p.external_id = $2`
	sqlTeams          = teamColumns + ` ORDER BY t.name LIMIT $2 OFFSET $3`
	sqlCountTeams     = `SELECT COUNT(*) FROM teams WHERE org_uid = $1`
	sqlPutTeam        = `INSERT INTO provisioned_teams (org_uid, team_uid, external_id) VALUES ($1, $2, $3)
		ON CONFLICT (team_uid) DO UPDATE SET external_id = excluded.external_id`
)

func scanUser(row rows.Scanner, u *User) error {
	return row.Scan(&u.UID, &u.Email, &u.Canonical, &u.Name, &u.FirstName, &u.LastName, &u.ExternalID, rows.Truth(&u.Created),
		rows.Moment(&u.CreatedAt), rows.Moment(&u.DisabledAt))
}

func scanTeam(row rows.Scanner, t *Team) error {
	return row.Scan(&t.UID, &t.Name, &t.ExternalID, rows.Moment(&t.CreatedAt))
}

// Provisioned reads users and teams, and changes their external ids.
type Provisioned struct {
	db    *rows.Conn
	Users Records[User]
	Teams Records[Team]
}

// In returns what is provisioned, of one transaction.
func In(db *rows.Conn) Provisioned {
	return Provisioned{db,
		Records[User]{db, scanUser, sqlUser, sqlUserByEmail, sqlUserByExternal, sqlUsers, sqlCountUsers},
		Records[Team]{db, scanTeam, sqlTeam, sqlTeamByName, sqlTeamByExternal, sqlTeams, sqlCountTeams}}
}

// PutUser sets the external id of a user, whose Created counts only at first. The id being another user's is sqldb.ErrExists.
func (tx Provisioned) PutUser(ctx context.Context, orgUID, uid, externalID string, created bool) error {
	return tx.db.ChangeOne(ctx, sqlPutUser, orgUID, uid, rows.OrNull(externalID), rows.Flag(created))
}

// PutTeam sets the external id of a team. The id being another team's is sqldb.ErrExists.
func (tx Provisioned) PutTeam(ctx context.Context, orgUID, uid, externalID string) error {
	return tx.db.ChangeOne(ctx, sqlPutTeam, orgUID, uid, rows.OrNull(externalID))
}

// Records reads the users, or the teams, of organizations.
type Records[T any] struct {
	db   *rows.Conn
	scan func(rows.Scanner, *T) error

	byUID, byName, byExternalID, page, count string // queries
}

// Get looks one up within its organization.
func (r Records[T]) Get(ctx context.Context, orgUID, uid string) (T, error) {
	return rows.One(ctx, r.db, r.scan, r.byUID, orgUID, uid)
}

// ByName looks a user up by its canonical email, a team by its name.
func (r Records[T]) ByName(ctx context.Context, orgUID, name string) (T, error) {
	return rows.One(ctx, r.db, r.scan, r.byName, orgUID, name)
}

// ByExternalID looks one up by what the identity provider calls it.
func (r Records[T]) ByExternalID(ctx context.Context, orgUID, externalID string) (T, error) {
	return rows.One(ctx, r.db, r.scan, r.byExternalID, orgUID, externalID)
}

// Page lists at most limit of them by email or name, after the first offset ones.
func (r Records[T]) Page(ctx context.Context, orgUID string, limit, offset int) ([]T, error) {
	return rows.All(ctx, r.db, r.scan, r.page, orgUID, limit, offset)
}

// Count returns how many an organization has.
func (r Records[T]) Count(ctx context.Context, orgUID string) (int64, error) {
	return rows.One(ctx, r.db, rows.ScanCount, r.count, orgUID)
}
