package directory

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
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

// NewProject is the input of CreateProject.
type NewProject struct {
	Name                string
	Annotations, Labels map[string]string
}

// Problems lists the problems of the project that can be found without the store.
func (n NewProject) Problems() []fault.Field {
	problems := fault.FieldProblem("name", names.NameProblem(n.Name))
	problems = append(problems, fault.FieldProblem("annotations", names.PairsProblem(n.Annotations))...)
	return append(problems, fault.FieldProblem("labels", names.PairsProblem(n.Labels))...)
}

// CreateProject creates a project.
//
// Faults: Invalid with the fields of Problems, and org; Forbidden; Conflict with CodeProjectExists.
func (d *Directory) CreateProject(ctx context.Context, p auth.Principal, origin audit.Origin, input NewProject) (Project, error) {
	if problems := input.Problems(); len(problems) > 0 {
		return Project{}, fault.InvalidFields(problems...)
	}
	var project store.Project
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateProjects,
		action: audit.ProjectCreate, object: input.Name},
		func(tx *store.Tx) (changeResult, error) {
			org, err := p.Org(ctx, tx)
			if err != nil {
				return changeResult{}, err
			}
			project = newProject(org.UID, input, d.now())
			// Deleted concurrently.
			return changeResult{orgUID: org.UID, uid: project.UID}, auth.OrgNotFound(projectExists(tx.Projects.Insert(ctx, project)))
		})
	return visibleProject(project), err
}

func newProject(orgUID string, input NewProject, now time.Time) store.Project {
	return store.Project{UID: uuid.NewString(), OrgUID: orgUID, Name: strings.TrimSpace(input.Name), Canonical: names.Canonical(input.Name),
		Annotations: input.Annotations, Labels: input.Labels, CreatedAt: now}
}

func projectExists(err error) error {
	return auth.ExistsAs(err, CodeProjectExists, "A project with this name already exists.")
}

// ReplaceProject replaces name, annotations and labels of a project.
//
// Faults: Invalid with the fields of Problems; Forbidden; NotFound; Conflict with CodeProjectExists.
func (d *Directory) ReplaceProject(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, input NewProject) error {
	if problems := input.Problems(); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.changeProject(ctx, p, origin, access.ChangeProjects, audit.ProjectUpdate, uid, func(tx *store.Tx) error {
		changed := newProject(p.OrgUID, input, d.now())
		changed.UID = uid
		return projectExists(tx.Projects.Update(ctx, changed))
	})
}

// DeleteProject deletes a project that has neither members, registries nor alert channels, or with cascade any project. With cascade its
// registries and alert channels are deleted, too, which requires the permissions to delete them, and its members stay users.
//
// Faults: Forbidden; NotFound; Conflict with CodeProjectNotEmpty.
func (d *Directory) DeleteProject(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, cascade bool) error {
	required := access.DeleteProjects
	if cascade && p.Can(required) { // what is not allowed is recorded below
		missing, err := clearing{d, p, origin, uid}.run(ctx)
		if err != nil {
			return fault.Wrap("delete what a project contains", err)
		}
		required = cmp.Or(missing, required)
	}
	return d.changeProject(ctx, p, origin, required, audit.ProjectDelete, uid, func(tx *store.Tx) error {
		if err := tx.Projects.Lock(ctx, p.OrgUID, uid); err != nil {
			return err
		}
		err := tx.Projects.Delete(ctx, p.OrgUID, uid)
		if errors.Is(err, store.ErrNotFound) { // the lock already returned NotFound
			return notEmpty(ctx, tx, p.OrgUID, uid)
		}
		return err
	})
}

// clearedRegistries is how many registries one transaction deletes, whose time is limited.
const clearedRegistries = 200

// clearing deletes what a project contains, and records the deletion of each registry and alert channel.
type clearing struct {
	directory *Directory
	principal auth.Principal
	origin    audit.Origin
	project   string // uid
}

// run deletes the contents in steps. It deletes nothing if the caller lacks a permission for something in the project, and returns that
// permission.
func (c clearing) run(ctx context.Context) (missing access.Permission, err error) {
	for more := true; more && missing == "" && err == nil; {
		err = c.directory.db.InTx(ctx, func(tx *store.Tx) (err error) {
			more = false
			if missing, err = c.missing(ctx, tx); err == nil && missing == "" {
				more, err = c.step(ctx, tx)
			}
			return err
		})
	}
	return missing, err
}

func (c clearing) may(permission access.Permission) bool {
	return c.principal.CanIn(permission, c.project)
}

// missing returns the permission that the caller lacks to delete what the project contains, "" if there is none.
func (c clearing) missing(ctx context.Context, tx *store.Tx) (access.Permission, error) {
	if c.may(access.DeleteRegistries) && c.may(access.ConfigureAlerts) {
		return "", nil
	}
	registries, err := tx.Projects.Registries(ctx, c.principal.OrgUID, c.project, 1)
	if err != nil {
		return "", err
	}
	channels, err := tx.Channels.OfOrg(ctx, c.principal.OrgUID)
	inProject := func(channel store.Channel) bool { return channel.ProjectUID == c.project }
	switch {
	case err != nil:
		return "", err
	case len(registries) > 0 && !c.may(access.DeleteRegistries):
		return access.DeleteRegistries, nil
	case slices.ContainsFunc(channels, inProject) && !c.may(access.ConfigureAlerts):
		return access.ConfigureAlerts, nil
	}
	return "", nil
}

// step deletes alert channels and some registries, as far as the caller may, and reports whether there may be more.
func (c clearing) step(ctx context.Context, tx *store.Tx) (bool, error) {
	limit := clearedRegistries
	if !c.may(access.DeleteRegistries) { // those stored concurrently stay
		limit = 0
	}
	registries, err := tx.Projects.Clear(ctx, c.principal.OrgUID, c.project, limit)
	if err != nil {
		return false, err
	}
	deleted := func(action audit.Action, object string) error {
		return tx.Audits.Append(ctx, c.principal.Succeeded(c.origin, action, object, c.directory.now()))
	}
	for _, registry := range registries {
		err = errors.Join(err, deleted(audit.RegistryDelete, registry))
	}
	if err != nil || !c.may(access.ConfigureAlerts) {
		return len(registries) > 0, err
	}
	channels, err := tx.Channels.DeleteOf(ctx, c.principal.OrgUID, c.project)
	for _, channel := range channels {
		err = errors.Join(err, deleted(audit.AlertDelete, channel.UID))
	}
	return len(registries) > 0, err
}

// changeProject changes a project of the caller's organization and records the change.
func (d *Directory) changeProject(ctx context.Context, p auth.Principal, origin audit.Origin, permission access.Permission,
	action audit.Action, uid string, change func(*store.Tx) error) error {
	return d.change(ctx, attempt{origin: origin, principal: p, permission: permission, action: action, object: uid},
		func(tx *store.Tx) (changeResult, error) {
			err := change(tx)
			if errors.Is(err, store.ErrNotFound) {
				err = fault.ProjectNotFound(fault.CodeResourceNotFound)
			}
			return changeResult{orgUID: p.OrgUID, uid: uid}, err
		})
}

const namedContents = 3 // of each kind, in the message of a conflict

// notEmpty returns the fault of a project that still has contents, and names some of them.
func notEmpty(ctx context.Context, tx *store.Tx, orgUID, uid string) error {
	kinds, err := kindsOfProject(ctx, tx, orgUID, uid, namedContents+1)
	if err != nil {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeProjectNotEmpty, Message: "The project still contains " +
		contents(kinds...) +
		". Remove them first, or delete them with the project: --cascade, or cascade=true over HTTP."}
}

// channelTarget returns where a channel sends to: the host of the webhook, or the first address.
func channelTarget(c store.Channel) string {
	if u, err := url.Parse(c.HTTP.URL); err == nil && u.Host != "" {
		return u.Host
	}
	if len(c.Identifiers) > 0 {
		return c.Identifiers[0]
	}
	return c.Type
}

// kind is what a project or an organization contains of one kind.
type kind struct {
	word  string
	names []string
}

// contents names what is contained in a message.
func contents(kinds ...kind) string {
	var parts []string
	for _, kind := range kinds {
		if len(kind.names) > 0 {
			parts = append(parts, kind.word+" ("+listed(kind.names)+")")
		}
	}
	return strings.Join(parts, " and ")
}

func listed(names []string) string {
	if len(names) > namedContents {
		names = append(names[:namedContents:namedContents], "…")
	}
	return strings.Join(names, ", ")
}

// ListProjects returns the page of the organization's projects, by name, that follows the given project, and whether
// there may be more. Members get only their own projects and those of their teams. The zero value starts at the first
// page.
func (d *Directory) ListProjects(ctx context.Context, p auth.Principal, after Project) (list []Project, more bool, err error) {
	err = d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		var projects []store.Project
		projects, more, err = projectsFor(ctx, tx, p, orgUID, store.Project{Canonical: after.Canonical})
		for _, project := range projects {
			list = append(list, visibleProject(project))
		}
		return err
	})
	return list, more, fault.Wrap("list projects", err)
}

func projectsFor(ctx context.Context, tx *store.Tx, p auth.Principal, orgUID string, after store.Project) ([]store.Project, bool, error) {
	switch {
	case !p.Limit.SeesProjects():
		return nil, false, nil
	case p.Limit.Project != "":
		only, err := projectFor(ctx, tx, p, p.Limit.Project)
		if errors.Is(err, store.ErrNotFound) || err == nil && only.Canonical <= after.Canonical {
			return nil, false, nil
		}
		return []store.Project{only}, false, err
	case p.Can(access.ReadAllProjects):
		return tx.Projects.List(ctx, orgUID, after)
	}
	return tx.Projects.ForUser(ctx, orgUID, p.UserUID, after)
}

// projectFor returns a project that the caller may see, else store.ErrNotFound.
func projectFor(ctx context.Context, tx *store.Tx, p auth.Principal, uid string) (store.Project, error) {
	switch {
	case !p.Limit.Sees(uid):
		return store.Project{}, store.ErrNotFound
	case p.Grants.Of(p.Role, access.ReadAllProjects):
		return tx.Projects.Get(ctx, p.OrgUID, uid)
	}
	return tx.Projects.OneForUser(ctx, p.OrgUID, p.UserUID, uid)
}

// Project returns a project of the caller's organization that the caller may see. An unknown, foreign or hidden project
// is the same fault: NotFound with code ProjectNotFoundInTenant.
func (d *Directory) Project(ctx context.Context, p auth.Principal, uid string) (Project, error) {
	project, err := store.Read(ctx, d.db, func(tx *store.Tx) (store.Project, error) { return projectFor(ctx, tx, p, uid) })
	if errors.Is(err, store.ErrNotFound) {
		return Project{}, fault.ProjectNotFound(fault.CodeProjectNotFound)
	}
	return visibleProject(project), fault.Wrap("look up a project", err)
}

func visibleProject(p store.Project) Project {
	return Project{UID: p.UID, OrgUID: p.OrgUID, Name: p.Name, Canonical: p.Canonical, Annotations: p.Annotations,
		Labels: p.Labels, CreatedAt: p.CreatedAt}
}
