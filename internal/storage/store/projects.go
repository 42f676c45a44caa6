package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Project belongs to one organization.
type Project struct {
	UID, OrgUID, Name, Canonical string
	Annotations, Labels          map[string]string
	CreatedAt                    time.Time
}

const (
	projectColumns = `p.uid, p.org_uid, p.name, p.canonical, p.annotations, p.labels, p.created_at`

	sqlInsertProject = `INSERT INTO projects (uid, org_uid, name, canonical, annotations, labels, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`
	sqlUpdateProject = `UPDATE projects SET name = $3, canonical = $4, annotations = $5, labels = $6 WHERE org_uid = $1 AND uid = $2`
	sqlLockProject   = `UPDATE projects SET name = name WHERE org_uid = $1 AND uid = $2`
	sqlDeleteProject = `DELETE FROM projects WHERE org_uid = $1 AND uid = $2
		AND NOT EXISTS (SELECT 1 FROM project_members m WHERE m.org_uid = $1 AND m.project_uid = $2)
		AND NOT EXISTS (SELECT 1 FROM registries r WHERE r.org_uid = $1 AND r.project_uid = $2)
		AND NOT EXISTS (SELECT 1 FROM alert_channels c WHERE c.org_uid = $1 AND c.project_uid = $2)`
	sqlProjects = `SELECT ` + projectColumns + ` FROM projects p WHERE p.org_uid = $1 AND p.canonical > $2
		ORDER BY p.canonical LIMIT $3`
	sqlProject        = `SELECT ` + projectColumns + ` FROM projects p WHERE p.org_uid = $1 AND p.uid = $2`
	sqlProjectsOfUser = `SELECT ` + projectColumns + ` FROM project_members m JOIN projects p ON p.uid = m.project_uid
		WHERE m.user_uid = $2 AND p.org_uid = $1 AND p.canonical > $3 ORDER BY p.canonical LIMIT $4`
	projectsForUser = `SELECT ` + projectColumns + ` FROM projects p WHERE p.org_uid = $1 AND p.uid IN (
		SELECT project_uid FROM project_members WHERE user_uid = $2
		UNION ALL SELECT t.project_uid FROM team_members m JOIN team_projects t ON t.team_uid = m.team_uid
		WHERE m.org_uid = $1 AND m.user_uid = $2)`
	sqlProjectsForUser = projectsForUser + ` AND p.canonical > $3 ORDER BY p.canonical LIMIT $4`
	sqlProjectForUser  = projectsForUser + ` AND p.uid = $3`
	sqlMembers         = `SELECT u.email FROM project_members m JOIN users u ON u.uid = m.user_uid
		WHERE m.org_uid = $1 AND m.project_uid = $2 LIMIT $3`
	sqlRegistriesOfProject   = `SELECT name FROM registries WHERE org_uid = $1 AND project_uid = $2 LIMIT $3`
	sqlRegistryUIDsOfProject = `SELECT uid FROM registries WHERE org_uid = $1 AND project_uid = $2 LIMIT $3`
	sqlDeleteChannelsOf      = `DELETE FROM alert_channels WHERE org_uid = $1 AND project_uid = $2 RETURNING ` + channelColumns
	sqlDeleteMembersOf       = `DELETE FROM project_members WHERE org_uid = $1 AND project_uid = $2`
	sqlProjectOfRegistry     = `SELECT COALESCE(project_uid, '') FROM registries WHERE org_uid = $1 AND uid = $2`
	sqlSetRegistryProject    = `UPDATE registries SET project_uid = $3 WHERE org_uid = $1 AND uid = $2`
	sqlInsertMember          = `INSERT INTO project_members (org_uid, project_uid, user_uid, roles) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`
	sqlMemberships       = `SELECT project_uid, roles FROM project_members WHERE user_uid = $1 ORDER BY project_uid`
	sqlDeleteMemberships = `DELETE FROM project_members WHERE org_uid = $1 AND user_uid = $2`
)

func scanProject(row rows.Scanner, p *Project) error {
	return row.Scan(&p.UID, &p.OrgUID, &p.Name, &p.Canonical, jsontext.To(&p.Annotations), jsontext.To(&p.Labels),
		rows.Moment(&p.CreatedAt))
}

// Projects reads and changes projects, their members and registries.
type Projects struct{ *conn }

// Insert adds a project. Its canonical name being taken in the organization is ErrExists.
func (tx Projects) Insert(ctx context.Context, p Project) error {
	annotations, labels, err := jsontext.Both(p.Annotations, p.Labels)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsertProject, p.UID, p.OrgUID, p.Name, p.Canonical, annotations, labels, rows.Millis(p.CreatedAt))
}

// Update stores the names, annotations and labels of a project. The canonical name being taken by another one is ErrExists.
func (tx Projects) Update(ctx context.Context, p Project) error {
	annotations, labels, err := jsontext.Both(p.Annotations, p.Labels)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlUpdateProject, p.OrgUID, p.UID, p.Name, p.Canonical, annotations, labels)
}

// Lock is Users.Lock for a project. Every transaction that adds something to a project or deletes one locks it first: with a
// foreign key alone, a deletion would also delete what was just added.
func (tx Projects) Lock(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlLockProject, orgUID, uid)
}

// Clear deletes at most limit registries of a project, and removes its members. It returns the uids of the registries. Lock must not come
// first: who stores a registry locks its project last.
func (tx Projects) Clear(ctx context.Context, orgUID, uid string, limit int) (registries []string, err error) {
	listed, err := rows.All(ctx, tx.db, rows.ScanText, sqlRegistryUIDsOfProject, orgUID, uid, limit)
	if err != nil {
		return nil, err
	}
	slices.Sort(listed)
	for _, registry := range listed { // all before org_usage, which Delete locks
		_, err := rows.One(ctx, tx.db, rows.ScanCount, sqlLockSize, orgUID, registry)
		switch {
		case err == nil:
			registries = append(registries, registry)
		case !errors.Is(err, ErrNotFound): // it was deleted since it was listed
			return nil, err
		}
	}
	for _, registry := range registries {
		if err := Registries(tx).Delete(ctx, orgUID, registry); err != nil {
			return nil, err
		}
	}
	return registries, tx.db.ChangeAny(ctx, sqlDeleteMembersOf, orgUID, uid)
}

// Delete deletes a project. It returns ErrNotFound when the project does not exist, or when it has members, registries or alert channels.
// Lock must come first.
func (tx Projects) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlDeleteProject, orgUID, uid)
}

// projectPage is pageSize for projects, whose annotations and labels may have 32 KiB.
const projectPage = 10

// List returns the page of an organization's projects, by name, that follows one of them. The zero value precedes all.
// It reports whether there may be more.
func (tx Projects) List(ctx context.Context, orgUID string, after Project) ([]Project, bool, error) {
	return rows.Page(ctx, tx.db, projectPage, scanProject, sqlProjects, orgUID, after.Canonical)
}

// Get looks a project up within its organization.
func (tx Projects) Get(ctx context.Context, orgUID, uid string) (Project, error) {
	return rows.One(ctx, tx.db, scanProject, sqlProject, orgUID, uid)
}

// OfUser is List for the projects that a user is a member of.
func (tx Projects) OfUser(ctx context.Context, orgUID, userUID string, after Project) ([]Project, bool, error) {
	return rows.Page(ctx, tx.db, projectPage, scanProject, sqlProjectsOfUser, orgUID, userUID, after.Canonical)
}

// ForUser is List for the projects that a user is a member of, itself or by one of its teams.
func (tx Projects) ForUser(ctx context.Context, orgUID, userUID string, after Project) ([]Project, bool, error) {
	return rows.Page(ctx, tx.db, projectPage, scanProject, sqlProjectsForUser, orgUID, userUID, after.Canonical)
}

// OneForUser looks a project up if ForUser lists it, else ErrNotFound.
func (tx Projects) OneForUser(ctx context.Context, orgUID, userUID, projectUID string) (Project, error) {
	return rows.One(ctx, tx.db, scanProject, sqlProjectForUser, orgUID, userUID, projectUID)
}

// Members lists emails of at most limit members of a project, in no order.
func (tx Projects) Members(ctx context.Context, orgUID, projectUID string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlMembers, orgUID, projectUID, limit)
}

// Registries lists names of at most limit registries that were stored in a project, in no order.
func (tx Projects) Registries(ctx context.Context, orgUID, projectUID string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlRegistriesOfProject, orgUID, projectUID, limit)
}

// SetOfRegistry moves a registry to a project of its organization, and locks the project. ErrNotFound: one of them does not exist.
func (tx Projects) SetOfRegistry(ctx context.Context, orgUID, registryUID, projectUID string) error {
	if err := tx.Lock(ctx, orgUID, projectUID); err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlSetRegistryProject, orgUID, registryUID, projectUID)
}

// OfRegistry returns the project that a registry was stored in, "" for none.
func (tx Projects) OfRegistry(ctx context.Context, orgUID, registryUID string) (string, error) {
	return rows.One(ctx, tx.db, rows.ScanText, sqlProjectOfRegistry, orgUID, registryUID)
}

// Membership is a user's in a project. Roles are separated by spaces; none means a member without more rights.
type Membership struct{ ProjectUID, Roles string }

// Memberships lists the projects of a user by uid.
func (tx Projects) Memberships(ctx context.Context, userUID string) ([]Membership, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, m *Membership) error { return row.Scan(&m.ProjectUID, &m.Roles) }, sqlMemberships,
		userUID)
}

// InsertMember makes a user a member of a project of the same organization, and locks the project. A second call is
// not an error. It returns ErrNotFound when the project does not exist.
func (tx Projects) InsertMember(ctx context.Context, orgUID, projectUID, userUID, roles string) error {
	if err := tx.Lock(ctx, orgUID, projectUID); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlInsertMember, orgUID, projectUID, userUID, roles)
}

// DeleteMemberships removes a user from all projects.
func (tx Projects) DeleteMemberships(ctx context.Context, orgUID, userUID string) error {
	return tx.db.ChangeAny(ctx, sqlDeleteMemberships, orgUID, userUID)
}
