// Package teams stores the teams of organizations: their members, and the roles that members have by them.
package teams

import (
	"context"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Team belongs to one organization.
type Team struct {
	UID, OrgUID string
	Name        string // unique in the organization; its case counts
	Roles       string // in the organization, separated by spaces; may be empty
	Source      string // SourceSSO, or empty
	CreatedAt   time.Time
}

// SourceSSO is the source of a team that was made for a group of the identity provider.
const SourceSSO = "sso"

// Member is a user of a team.
type Member struct{ UserUID, Email string }

// Roles are those that a project, or the organization if ProjectUID is empty, has for a user or a team, separated by spaces.
type Roles struct{ ProjectUID, Roles string }

const (
	columns = `SELECT t.uid, t.org_uid, t.name, t.roles, t.source, t.created_at FROM teams t`

	sqlInsert = `INSERT INTO teams (uid, org_uid, name, roles, source, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (org_uid, name) DO NOTHING`
	sqlUpdate = `UPDATE teams SET name = $3, roles = $4 WHERE org_uid = $1 AND uid = $2`
	sqlDelete = `DELETE FROM teams WHERE org_uid = $1 AND uid = $2`
	sqlGet    = columns + ` WHERE t.org_uid = $1 AND t.uid = $2`
	sqlByName = columns + ` WHERE t.org_uid = $1 AND t.name = $2`
	sqlList   = columns + ` WHERE t.org_uid = $1 AND t.name > $2 ORDER BY t.name LIMIT $3`
	sqlCount  = `SELECT COUNT(*) FROM teams WHERE org_uid = $1`
	sqlOfUser = columns + ` JOIN team_members m ON m.team_uid = t.uid WHERE m.org_uid = $1 AND m.user_uid = $2
		ORDER BY m.position, t.name`

	sqlMembers = `SELECT m.user_uid, u.email FROM team_members m JOIN users u ON u.uid = m.user_uid
		WHERE m.org_uid = $1 AND m.team_uid = $2 ORDER BY m.user_uid`
	sqlAdd = `INSERT INTO team_members (team_uid, user_uid, org_uid, by_group, position) VALUES ($1, $2, $3, $4,
		(SELECT COALESCE(MAX(position), 0) + 1 FROM team_members WHERE org_uid = $3 AND user_uid = $2))
		ON CONFLICT (team_uid, user_uid) DO UPDATE SET by_group = team_members.by_group * excluded.by_group`
	sqlCountMembers = `SELECT COUNT(*) FROM team_members WHERE org_uid = $1 AND team_uid = $2`
	sqlByGroup      = `SELECT team_uid FROM team_members WHERE org_uid = $1 AND user_uid = $2 AND by_group = 1`
	sqlRemove       = `DELETE FROM team_members WHERE org_uid = $1 AND team_uid = $2 AND user_uid = $3`

	sqlProjects      = `SELECT project_uid, roles FROM team_projects WHERE org_uid = $1 AND team_uid = $2 ORDER BY project_uid`
	sqlClearProjects = `DELETE FROM team_projects WHERE org_uid = $1 AND team_uid = $2`
	sqlAddProject    = `INSERT INTO team_projects (team_uid, project_uid, org_uid, roles) VALUES ($1, $2, $3, $4)`

	sqlGranted = `SELECT project_uid, COALESCE(NULLIF(roles, ''), 'member') FROM project_members WHERE user_uid = $2
		UNION ALL SELECT '', t.roles FROM team_members m JOIN teams t ON t.uid = m.team_uid WHERE m.org_uid = $1 AND m.user_uid = $2
		UNION ALL SELECT p.project_uid, p.roles FROM team_members m JOIN team_projects p ON p.team_uid = m.team_uid
		WHERE m.org_uid = $1 AND m.user_uid = $2`
)

func scan(row rows.Scanner, t *Team) error {
	return row.Scan(&t.UID, &t.OrgUID, &t.Name, &t.Roles, &t.Source, rows.Moment(&t.CreatedAt))
}

func scanRoles(row rows.Scanner, r *Roles) error { return row.Scan(&r.ProjectUID, &r.Roles) }

// Teams reads and changes teams. Callers note the changes for other processes.
type Teams struct{ db *rows.Conn }

// In returns the teams of one transaction.
func In(db *rows.Conn) Teams { return Teams{db} }

// Insert adds a team. Its name being taken in the organization is sqldb.ErrExists.
func (tx Teams) Insert(ctx context.Context, t Team) error {
	added, err := tx.db.Changed(ctx, sqlInsert, t.UID, t.OrgUID, t.Name, t.Roles, t.Source, rows.Millis(t.CreatedAt))
	if err == nil && !added {
		err = sqldb.ErrExists
	}
	return err
}

// Update stores name and roles of a team. The name being taken by another one is sqldb.ErrExists.
func (tx Teams) Update(ctx context.Context, t Team) error {
	return tx.db.ChangeOne(ctx, sqlUpdate, t.OrgUID, t.UID, t.Name, t.Roles)
}

// Delete deletes a team.
func (tx Teams) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlDelete, orgUID, uid)
}

// Get looks a team up within its organization.
func (tx Teams) Get(ctx context.Context, orgUID, uid string) (Team, error) {
	return rows.One(ctx, tx.db, scan, sqlGet, orgUID, uid)
}

// ByName looks a team up by its name within its organization.
func (tx Teams) ByName(ctx context.Context, orgUID, name string) (Team, error) {
	return rows.One(ctx, tx.db, scan, sqlByName, orgUID, name)
}

// page is small, since lists are read with the members of each team.
const page = 20

// List returns the page of an organization's teams, by name, that follows a name. It reports whether there may be more.
func (tx Teams) List(ctx context.Context, orgUID, after string) ([]Team, bool, error) {
	return rows.Page(ctx, tx.db, page, scan, sqlList, orgUID, after)
}

// Count returns how many teams an organization has.
func (tx Teams) Count(ctx context.Context, orgUID string) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCount, orgUID)
}

// OfUser lists the teams of a user in the order in which it was added to them.
func (tx Teams) OfUser(ctx context.Context, orgUID, userUID string) ([]Team, error) {
	return rows.All(ctx, tx.db, scan, sqlOfUser, orgUID, userUID)
}

// Members lists the members of a team by uid.
func (tx Teams) Members(ctx context.Context, orgUID, uid string) ([]Member, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, m *Member) error { return row.Scan(&m.UserUID, &m.Email) }, sqlMembers, orgUID, uid)
}

// CountMembers returns how many members a team has.
func (tx Teams) CountMembers(ctx context.Context, orgUID, uid string) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountMembers, orgUID, uid)
}

// Add makes a user a member of a team of its organization, byGroup only while it is in the group of the same name. Who is a member
// otherwise stays one. sqldb.ErrNotFound: one of them does not exist.
func (tx Teams) Add(ctx context.Context, orgUID, uid, userUID string, byGroup bool) error {
	return tx.db.ChangeAny(ctx, sqlAdd, uid, userUID, orgUID, rows.Flag(byGroup))
}

// ByGroup lists the uids of the teams in which a user is only while it is in their groups.
func (tx Teams) ByGroup(ctx context.Context, orgUID, userUID string) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlByGroup, orgUID, userUID)
}

// Remove removes a user from a team.
func (tx Teams) Remove(ctx context.Context, orgUID, uid, userUID string) error {
	return tx.db.ChangeAny(ctx, sqlRemove, orgUID, uid, userUID)
}

// Projects lists the roles of a team in projects.
func (tx Teams) Projects(ctx context.Context, orgUID, uid string) ([]Roles, error) {
	return rows.All(ctx, tx.db, scanRoles, sqlProjects, orgUID, uid)
}

// SetProjects replaces the roles of a team in projects. sqldb.ErrNotFound: one of them does not exist.
func (tx Teams) SetProjects(ctx context.Context, orgUID, uid string, projects []Roles) error {
	if err := tx.db.ChangeAny(ctx, sqlClearProjects, orgUID, uid); err != nil {
		return err
	}
	for _, p := range projects {
		if err := tx.db.ChangeOne(ctx, sqlAddProject, uid, p.ProjectUID, orgUID, p.Roles); err != nil {
			return err
		}
	}
	return nil
}

// Granted lists the roles that a user has otherwise than by itself in the organization: in projects, and by its teams. A project may
// occur several times.
func (tx Teams) Granted(ctx context.Context, orgUID, userUID string) ([]Roles, error) {
	return rows.All(ctx, tx.db, scanRoles, sqlGranted, orgUID, userUID)
}

// Name returns the form of a name in which it is stored and compared: trimmed and in the normal form NFC. Its case counts.
func Name(text string) string { return norm.NFC.String(strings.TrimSpace(text)) }

// OfGroup returns the name of the team of a group of an identity provider, "" if it can have none. Both usual forms of Unicode are one
// name. A group with a space at an end, or with another form of a letter such as the Kelvin sign, is another group than the one without.
func OfGroup(group string) string {
	if name := Name(group); group == name || group == norm.NFD.String(name) {
		return name
	}
	return ""
}
