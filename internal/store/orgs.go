package store

import (
	"context"
	"errors"
	"time"
)

// Org is an organization. Canonical is the one spelling under which it is looked up.
type Org struct {
	UID, Name, Canonical string
	CreatedAt            time.Time
}

// Project belongs to one organization.
type Project struct {
	UID, OrgUID, Name, Canonical string
	CreatedAt                    time.Time
}

const (
	sqlInsertOrg      = `INSERT INTO orgs (uid, name, canonical, created_at) VALUES ($1, $2, $3, $4)`
	sqlOrgByName      = `SELECT uid, name, canonical, created_at FROM orgs WHERE canonical = $1`
	sqlOrgByUID       = `SELECT uid, name, canonical, created_at FROM orgs WHERE uid = $1`
	sqlOrgs           = `SELECT uid, name, canonical, created_at FROM orgs ORDER BY canonical`
	sqlLockKeyset     = `UPDATE data_keyset SET id = id WHERE id = 1`
	sqlLockOrg        = `UPDATE orgs SET name = name WHERE uid = $1`
	sqlAnyOrg         = `SELECT uid, name, canonical, created_at FROM orgs LIMIT 1`
	sqlInsertProject  = `INSERT INTO projects (uid, org_uid, name, canonical, created_at) VALUES ($1, $2, $3, $4, $5)`
	sqlProjects       = `SELECT uid, org_uid, name, canonical, created_at FROM projects WHERE org_uid = $1 ORDER BY canonical`
	sqlProject        = `SELECT uid, org_uid, name, canonical, created_at FROM projects WHERE org_uid = $1 AND uid = $2`
	sqlProjectsOfUser = `SELECT p.uid, p.org_uid, p.name, p.canonical, p.created_at FROM project_members m JOIN projects p ON p.uid = m.project_uid
		WHERE m.user_uid = $2 AND p.org_uid = $1 ORDER BY p.canonical`
	sqlProjectOfUser = `SELECT p.uid, p.org_uid, p.name, p.canonical, p.created_at FROM project_members m JOIN projects p ON p.uid = m.project_uid
		WHERE m.user_uid = $2 AND m.project_uid = $3 AND p.org_uid = $1`
	sqlInsertMember      = `INSERT INTO project_members (org_uid, project_uid, user_uid) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	sqlDeleteMemberships = `DELETE FROM project_members WHERE org_uid = $1 AND user_uid = $2`
)

func scanOrg(row scanner, o *Org) error {
	return row.Scan(&o.UID, &o.Name, &o.Canonical, moment{&o.CreatedAt})
}

func scanProject(row scanner, p *Project) error {
	return row.Scan(&p.UID, &p.OrgUID, &p.Name, &p.Canonical, moment{&p.CreatedAt})
}

// InsertOrg adds an organization. Its canonical name being taken is ErrExists.
func (tx *Tx) InsertOrg(ctx context.Context, o Org) error {
	return tx.changeOne(ctx, sqlInsertOrg, o.UID, o.Name, o.Canonical, millis(o.CreatedAt))
}

// OrgByName looks an organization up by its canonical name.
func (tx *Tx) OrgByName(ctx context.Context, canonical string) (Org, error) {
	return one(ctx, tx, scanOrg, sqlOrgByName, canonical)
}

// OrgByUID looks an organization up.
func (tx *Tx) OrgByUID(ctx context.Context, uid string) (Org, error) {
	return one(ctx, tx, scanOrg, sqlOrgByUID, uid)
}

// Orgs lists all organizations by name.
func (tx *Tx) Orgs(ctx context.Context) ([]Org, error) { return all(ctx, tx, scanOrg, sqlOrgs) }

// AnyOrg returns some organization, ErrNotFound when there is none yet.
func (tx *Tx) AnyOrg(ctx context.Context) (Org, error) { return one(ctx, tx, scanOrg, sqlAnyOrg) }

// FirstOrg is ErrExists when there is an organization, or else keeps others from asking until the transaction ends: of
// several that make a first organization at once, one does.
func (tx *Tx) FirstOrg(ctx context.Context) error {
	// Every opened store has the row. Its lock is what matters.
	if err := tx.changeOne(ctx, sqlLockKeyset); err != nil {
		return err
	}
	_, err := tx.AnyOrg(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return ErrExists
	}
	return err
}

// LockOrg is to an organization what LockUser is to a user.
func (tx *Tx) LockOrg(ctx context.Context, uid string) error {
	return tx.changeOne(ctx, sqlLockOrg, uid)
}

// InsertProject adds a project. Its canonical name being taken in the organization is ErrExists.
func (tx *Tx) InsertProject(ctx context.Context, p Project) error {
	return tx.changeOne(ctx, sqlInsertProject, p.UID, p.OrgUID, p.Name, p.Canonical, millis(p.CreatedAt))
}

// Projects lists an organization's projects by name.
func (tx *Tx) Projects(ctx context.Context, orgUID string) ([]Project, error) {
	return all(ctx, tx, scanProject, sqlProjects, orgUID)
}

// Project looks a project up within its organization.
func (tx *Tx) Project(ctx context.Context, orgUID, uid string) (Project, error) {
	return one(ctx, tx, scanProject, sqlProject, orgUID, uid)
}

// ProjectsOfUser lists the projects that a user is a member of, by name.
func (tx *Tx) ProjectsOfUser(ctx context.Context, orgUID, userUID string) ([]Project, error) {
	return all(ctx, tx, scanProject, sqlProjectsOfUser, orgUID, userUID)
}

// ProjectOfUser looks a project up if the user is a member of it, else ErrNotFound.
func (tx *Tx) ProjectOfUser(ctx context.Context, orgUID, userUID, projectUID string) (Project, error) {
	return one(ctx, tx, scanProject, sqlProjectOfUser, orgUID, userUID, projectUID)
}

// InsertMember makes a user a member of a project of the same organization. Doing so twice is no error.
func (tx *Tx) InsertMember(ctx context.Context, orgUID, projectUID, userUID string) error {
	_, err := tx.change(ctx, sqlInsertMember, orgUID, projectUID, userUID)
	return err
}

// DeleteMemberships takes a user out of all projects.
func (tx *Tx) DeleteMemberships(ctx context.Context, orgUID, userUID string) error {
	_, err := tx.change(ctx, sqlDeleteMemberships, orgUID, userUID)
	return err
}
