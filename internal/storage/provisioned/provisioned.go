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
type Provisioned struct{ db *rows.Conn }

// In returns what is provisioned, of one transaction.
func In(db *rows.Conn) Provisioned { return Provisioned{db} }

// User looks a user up within its organization.
func (tx Provisioned) User(ctx context.Context, orgUID, uid string) (User, error) {
	return rows.One(ctx, tx.db, scanUser, sqlUser, orgUID, uid)
}

// UserByEmail looks a user up by its canonical email.
func (tx Provisioned) UserByEmail(ctx context.Context, orgUID, canonical string) (User, error) {
	return rows.One(ctx, tx.db, scanUser, sqlUserByEmail, orgUID, canonical)
}

// UserByExternalID looks a user up by what the identity provider calls it.
func (tx Provisioned) UserByExternalID(ctx context.Context, orgUID, externalID string) (User, error) {
	return rows.One(ctx, tx.db, scanUser, sqlUserByExternal, orgUID, externalID)
}

// Users lists at most limit users by email, after the first offset ones.
func (tx Provisioned) Users(ctx context.Context, orgUID string, limit, offset int) ([]User, error) {
	return rows.All(ctx, tx.db, scanUser, sqlUsers, orgUID, limit, offset)
}

// CountUsers returns how many users an organization has.
func (tx Provisioned) CountUsers(ctx context.Context, orgUID string) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountUsers, orgUID)
}

// PutUser sets the external id of a user, whose Created counts only at first. The id being another user's is sqldb.ErrExists.
func (tx Provisioned) PutUser(ctx context.Context, orgUID, uid, externalID string, created bool) error {
	return tx.db.ChangeOne(ctx, sqlPutUser, orgUID, uid, rows.OrNull(externalID), rows.Flag(created))
}

// Team looks a team up within its organization.
func (tx Provisioned) Team(ctx context.Context, orgUID, uid string) (Team, error) {
	return rows.One(ctx, tx.db, scanTeam, sqlTeam, orgUID, uid)
}

// TeamByName looks a team up by its name.
func (tx Provisioned) TeamByName(ctx context.Context, orgUID, name string) (Team, error) {
	return rows.One(ctx, tx.db, scanTeam, sqlTeamByName, orgUID, name)
}

// TeamByExternalID looks a team up by what the identity provider calls it.
func (tx Provisioned) TeamByExternalID(ctx context.Context, orgUID, externalID string) (Team, error) {
	return rows.One(ctx, tx.db, scanTeam, sqlTeamByExternal, orgUID, externalID)
}

// Teams lists at most limit teams by name, after the first offset ones.
func (tx Provisioned) Teams(ctx context.Context, orgUID string, limit, offset int) ([]Team, error) {
	return rows.All(ctx, tx.db, scanTeam, sqlTeams, orgUID, limit, offset)
}

// PutTeam sets the external id of a team. The id being another team's is sqldb.ErrExists.
func (tx Provisioned) PutTeam(ctx context.Context, orgUID, uid, externalID string) error {
	return tx.db.ChangeOne(ctx, sqlPutTeam, orgUID, uid, rows.OrNull(externalID))
}
