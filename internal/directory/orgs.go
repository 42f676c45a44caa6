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

// CreateOrg creates an organization with its default project.
//
// Faults: Invalid with field name; Forbidden; Conflict with CodeOrgExists.
func (d *Directory) CreateOrg(ctx context.Context, p auth.Principal, origin audit.Origin, name string) (Org, error) {
	if problems := fault.FieldProblem("name", auth.NameProblem(name)); len(problems) > 0 {
		return Org{}, fault.InvalidFields(problems...)
	}
	var org store.Org
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: auth.CreateOrgs, action: audit.OrgCreate, object: name},
		func(tx *store.Tx) (_ changeResult, err error) {
			org, _, err = insertOrg(ctx, tx, name, d.now())
			return changeResult{orgUID: org.UID, uid: org.UID}, err
		})
	return visibleOrg(org), err
}

// insertOrg adds an organization and its default project.
func insertOrg(ctx context.Context, tx *store.Tx, name string, now time.Time) (store.Org, store.Project, error) {
	org := store.Org{UID: uuid.NewString(), Name: strings.TrimSpace(name), Canonical: auth.Canonical(name), CreatedAt: now}
	if err := tx.Orgs.Insert(ctx, org); err != nil {
		return org, store.Project{}, existsAs(err, CodeOrgExists, "An organization with this name already exists.")
	}
	project := newProject(org.UID, NewProject{Name: DefaultProject}, now)
	return org, project, tx.Projects.Insert(ctx, project)
}

// ListOrgs lists all organizations for an operator, and only their own for everyone else.
func (d *Directory) ListOrgs(ctx context.Context, p auth.Principal) ([]Org, error) {
	var list []Org
	err := d.db.View(ctx, func(tx *store.Tx) error {
		if !p.Can(auth.ReadOrgs) {
			org, err := tx.Orgs.Get(ctx, p.OrgUID)
			list = []Org{visibleOrg(org)}
			return err
		}
		orgs, err := tx.Orgs.List(ctx)
		for _, org := range orgs {
			list = append(list, visibleOrg(org))
		}
		return err
	})
	return list, fault.Wrap("list organizations", err)
}

// Empty reports whether the store has no organization, as at the first start.
func (d *Directory) Empty(ctx context.Context) (bool, error) {
	err := d.db.View(ctx, func(tx *store.Tx) error {
		_, err := tx.Orgs.Any(ctx)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, fault.Wrap("look for organizations", err)
}

func visibleOrg(o store.Org) Org { return Org{UID: o.UID, Name: o.Name, CreatedAt: o.CreatedAt} }
