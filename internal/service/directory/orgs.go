package directory

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// CreateOrg creates an organization with its default project.
//
// Faults: Invalid with field name; Forbidden; Conflict with CodeOrgExists.
func (d *Directory) CreateOrg(ctx context.Context, p auth.Principal, origin audit.Origin, name string) (Org, error) {
	if problems := fault.FieldProblem("name", names.NameProblem(name)); len(problems) > 0 {
		return Org{}, fault.InvalidFields(problems...)
	}
	var org store.Org
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateOrgs, action: audit.OrgCreate, object: name},
		func(tx *store.Tx) (_ changeResult, err error) {
			org, _, err = insertOrg(ctx, tx, name, d.now())
			return changeResult{orgUID: org.UID, uid: org.UID}, err
		})
	return visibleOrg(org), err
}

// RenameOrg changes the name with which users of an organization log in. Tokens have the former one until they are refreshed.
//
// Faults: Invalid with field name; Forbidden; NotFound; Conflict with CodeOrgExists.
func (d *Directory) RenameOrg(ctx context.Context, p auth.Principal, origin audit.Origin, uid, name string) error {
	if problems := fault.FieldProblem("name", names.NameProblem(name)); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.change(ctx, attempt{origin: origin, principal: p, permission: access.RenameOrgs, action: audit.OrgUpdate, object: uid},
		func(tx *store.Tx) (changeResult, error) {
			renamed := store.Org{UID: uid, Name: strings.TrimSpace(name), Canonical: names.Canonical(name)}
			err := auth.OrgNotFound(tx.Orgs.Rename(ctx, renamed))
			return changeResult{orgUID: uid, uid: uid}, auth.ExistsAs(err, CodeOrgExists, "An organization with this name already exists.")
		})
}

// insertOrg adds an organization and its default project.
func insertOrg(ctx context.Context, tx *store.Tx, name string, now time.Time) (store.Org, store.Project, error) {
	org := store.Org{UID: uuid.NewString(), Name: strings.TrimSpace(name), Canonical: names.Canonical(name), CreatedAt: now}
	if err := tx.Orgs.Insert(ctx, org); err != nil {
		return org, store.Project{}, auth.ExistsAs(err, CodeOrgExists, "An organization with this name already exists.")
	}
	project := newProject(org.UID, NewProject{Name: DefaultProject}, now)
	return org, project, tx.Projects.Insert(ctx, project)
}

// MayReadSettings returns nil if the principal may read the settings of the service. They are those of all organizations, so
// where there are several, their administrators may not.
//
// Faults: Forbidden.
func (d *Directory) MayReadSettings(ctx context.Context, p auth.Principal) error {
	if err := p.May(access.ReadSettings); err != nil || p.Role == auth.RoleOperator {
		return err
	}
	orgs, err := store.Read(ctx, d.db, func(tx *store.Tx) ([]store.Org, error) { return tx.Orgs.List(ctx) })
	if err == nil && len(orgs) > 1 {
		return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(access.ReadSettings),
			Message: "The service has several organizations, so only the operator may see its settings, on the server, with 'regwarden " +
				"config'."}
	}
	return fault.Wrap("count the organizations", err)
}

// DeleteOrg deletes an organization that has no registries and no users but administrators, or with cascade any organization.
// Its audit records stay; tokens and API keys of its users are invalid at once.
//
// Faults: Forbidden; NotFound; Conflict with CodeOrgNotEmpty.
func (d *Directory) DeleteOrg(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, cascade bool) error {
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: access.DeleteOrgs, action: audit.OrgDelete, object: uid},
		func(tx *store.Tx) (changeResult, error) {
			err := auth.OrgNotFound(tx.Orgs.BeginDelete(ctx, uid))
			if err == nil && !cascade {
				err = orgEmpty(ctx, tx, uid)
			}
			if err == nil {
				err = tx.Orgs.Delete(ctx, uid)
			}
			return changeResult{orgUID: uid, uid: uid}, err
		})
	if err == nil {
		d.sweepContents(ctx, uid)
	}
	return err
}

// orgEmpty returns the fault of an organization that has more than administrators.
func orgEmpty(ctx context.Context, tx *store.Tx, uid string) error {
	registries, err := tx.Orgs.Registries(ctx, uid, namedContents+1)
	if err != nil {
		return err
	}
	members, err := tx.Orgs.Members(ctx, uid, namedContents+1)
	if err != nil || len(registries)+len(members) == 0 {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeOrgNotEmpty, Message: "The organization still contains " +
		contents(kind{"registries", registries}, kind{"users who are not administrators", members}) +
		". Delete them first, or delete everything in it with the option cascade."}
}

// sweptRows is how many rows of content one transaction deletes.
const sweptRows = 1000

// sweepContents deletes the content of a deleted organization in steps. After an error, every server does the rest in the background.
func (d *Directory) sweepContents(ctx context.Context, orgUID string) {
	for more, err := true, error(nil); more && err == nil; {
		err = d.db.InTx(ctx, func(tx *store.Tx) (err error) {
			more, err = tx.Contents.Sweep(ctx, orgUID, sweptRows)
			return err
		})
	}
}

// ListOrgs lists all organizations for an operator, and only their own for everyone else.
func (d *Directory) ListOrgs(ctx context.Context, p auth.Principal) ([]Org, error) {
	var list []Org
	err := d.db.View(ctx, func(tx *store.Tx) error {
		if !p.Can(access.ReadOrgs) {
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
