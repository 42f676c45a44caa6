package directory

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// NewProject asks for a project. Org is for operators; others leave it empty.
type NewProject struct{ Org, Name string }

// CreateProject makes a project.
//
// Faults: Invalid with fields name, org; Forbidden; NotFound for an operator's organization; Conflict with
// CodeProjectExists.
func (d *Directory) CreateProject(ctx context.Context, origin audit.Origin, p auth.Principal, ask NewProject) (Project, error) {
	if problems := problem("name", auth.NameProblem(ask.Name)); len(problems) > 0 {
		return Project{}, fault.InvalidFields(problems...)
	}
	var project store.Project
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: auth.CreateProjects, action: audit.ProjectCreate, object: ask.Name},
		func(tx *store.Tx) (made, error) {
			org, err := p.Org(ctx, tx, ask.Org)
			if err != nil {
				return made{}, err
			}
			project = newProject(org.UID, ask.Name, d.now())
			err = tx.InsertProject(ctx, project)
			return made{orgUID: org.UID, uid: project.UID}, existsAs(err, CodeProjectExists, "There is a project of that name.")
		})
	return visibleProject(project), err
}

func newProject(orgUID, name string, now time.Time) store.Project {
	return store.Project{UID: uuid.NewString(), OrgUID: orgUID, Name: strings.TrimSpace(name), Canonical: auth.Canonical(name), CreatedAt: now}
}

// ListProjects lists the organization's projects; to a member only those it belongs to. Org is for
// operators; others leave it empty.
func (d *Directory) ListProjects(ctx context.Context, p auth.Principal, org string) ([]Project, error) {
	var list []Project
	err := d.db.View(ctx, func(tx *store.Tx) error {
		in, err := p.Org(ctx, tx, org)
		if err != nil {
			return err
		}
		projects, err := projectsFor(ctx, tx, p, in.UID)
		for _, project := range projects {
			list = append(list, visibleProject(project))
		}
		return err
	})
	return list, asRead("list projects", err)
}

func projectsFor(ctx context.Context, tx *store.Tx, p auth.Principal, orgUID string) ([]store.Project, error) {
	if p.Can(auth.ReadAllProjects) {
		return tx.Projects(ctx, orgUID)
	}
	return tx.ProjectsOfUser(ctx, orgUID, p.UserUID)
}

// Project returns a project of the caller's organization that the caller may see. An unknown, foreign or
// hidden one is the same fault: NotFound with code ProjectNotFoundInTenant.
func (d *Directory) Project(ctx context.Context, p auth.Principal, uid string) (Project, error) {
	var project store.Project
	err := d.db.View(ctx, func(tx *store.Tx) (err error) {
		if p.Can(auth.ReadAllProjects) {
			project, err = tx.Project(ctx, p.OrgUID, uid)
		} else {
			project, err = tx.ProjectOfUser(ctx, p.OrgUID, p.UserUID, uid)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Project{}, &fault.Error{Kind: fault.NotFound, Code: fault.CodeProjectNotFound,
			Message: "There is no such project in your organization, or you are not a member of it."}
	}
	return visibleProject(project), asRead("look up a project", err)
}

func visibleProject(p store.Project) Project {
	return Project{UID: p.UID, OrgUID: p.OrgUID, Name: p.Name, CreatedAt: p.CreatedAt}
}
