// Package roles manages the roles that organizations define, and decides which roles a caller may give: only such that grant nothing that
// the caller lacks.
package roles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/roles"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Limits.
const (
	maxRoles       = 100 // of an organization: the roles of a caller are read at its authentication
	maxDescription = 1024
	maxNamed       = 10 // uses that an error names
)

// Conflict codes.
const (
	CodeExists = "RoleAlreadyExists"
	CodeInUse  = "RoleInUse"
)

// Role is a role of an organization, or a built-in one.
type Role struct {
	UID, Name, Description string
	InProjects             bool // can be given in single projects
	Permissions            []access.Permission
	BuiltIn                bool
}

// Input is what is set of a role.
type Input struct {
	Name, Description string
	KeepDescription   bool // the description of the stored role stays
	InProjects        bool
	Permissions       []access.Permission
}

// Roles is safe for concurrent use.
type Roles struct {
	db  *store.DB
	now func() time.Time
}

// New returns the roles of an open store.
func New(db *store.DB, now func() time.Time) *Roles { return &Roles{db, now} }

// Problems lists the problems of a role that can be found without the store, under name, description and permissions.
func (i Input) Problems() (problems []fault.Field) {
	problems = fault.FieldProblem("name", names.NameProblem(i.Name))
	if isBuiltIn(names.Canonical(i.Name)) || strings.EqualFold(i.Name, string(access.None)) {
		problems = fault.FieldProblem("name", "must not be the name of a built-in role")
	}
	switch {
	case len(i.Description) > maxDescription:
		problems = append(problems, fault.Field{Field: "description", Problem: fmt.Sprintf("must be at most %d bytes", maxDescription)})
	case strings.ContainsFunc(i.Description, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }):
		problems = append(problems, fault.Field{Field: "description", Problem: "must not contain control characters"})
	}
	return append(problems, fault.FieldProblem("permissions", i.permissionsProblem())...)
}

func (i Input) permissionsProblem() string {
	known := access.Permissions()
	if i.InProjects {
		known = access.OfProjects()
	}
	if len(i.Permissions) == 0 {
		return "is required"
	}
	for n, permission := range i.Permissions {
		switch {
		case !slices.Contains(known, permission) && slices.Contains(access.Permissions(), permission):
			return fmt.Sprintf("must not contain %s, which a role with the scope project cannot grant", permission)
		case !slices.Contains(known, permission):
			return fmt.Sprintf("must not contain %q, which is not a permission", permission)
		case slices.Contains(i.Permissions[:n], permission):
			return fmt.Sprintf("must contain %s once", permission)
		}
	}
	return ""
}

func isBuiltIn(role string) bool {
	return slices.ContainsFunc(access.BuiltIn, func(d access.Definition) bool { return string(d.Role) == role })
}

// List lists the built-in roles, then those of the caller's organization by name, for an operator of the only one. It requires
// access.ReadRoles.
func (r *Roles) List(ctx context.Context, p auth.Principal) (list []Role, err error) {
	if err := p.May(access.ReadRoles); err != nil {
		return nil, err
	}
	defined, err := store.Read(ctx, r.db, func(tx *store.Tx) ([]roles.Role, error) {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if p.Role == auth.RoleOperator && fault.KindOf(err) == fault.Invalid { // of several organizations none is named
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return tx.Roles.OfOrg(ctx, orgUID)
	})
	return all(defined), fault.Wrap("list roles", err)
}

// OfOrg is List without a permission, for names of roles that a page shows anyway.
func (r *Roles) OfOrg(ctx context.Context, orgUID string) ([]Role, error) {
	defined, err := store.Read(ctx, r.db, func(tx *store.Tx) ([]roles.Role, error) { return tx.Roles.OfOrg(ctx, orgUID) })
	return all(defined), fault.Wrap("list roles", err)
}

// Names has the names of an organization's roles by their uids. Built-in roles have no other uid.
type Names map[auth.Role]string

// NamesOf returns the names of roles.
func NamesOf(list []Role) Names {
	names := Names{}
	for _, role := range list {
		names[auth.Role(role.UID)] = role.Name
	}
	return names
}

// Of returns the name of a single role. One that was deleted has its uid.
func (n Names) Of(role auth.Role) string { return cmp.Or(n[role], string(role)) }

// Names reads the names of the roles of an organization, as OfOrg does.
func (r *Roles) Names(ctx context.Context, orgUID string) (Names, error) {
	list, err := r.OfOrg(ctx, orgUID)
	return NamesOf(list), err
}

// all lists the built-in roles and those.
func all(defined []roles.Role) (list []Role) {
	for _, d := range access.BuiltIn {
		list = append(list, Role{UID: string(d.Role), Name: string(d.Role), Description: d.Description, InProjects: d.InProjects,
			Permissions: d.Permissions, BuiltIn: true})
	}
	for _, role := range defined {
		list = append(list, visible(role))
	}
	return list
}

// Get returns a role by its uid. It requires access.ReadRoles.
//
// Faults: Forbidden; NotFound.
func (r *Roles) Get(ctx context.Context, p auth.Principal, uid string) (Role, error) {
	list, err := r.List(ctx, p)
	if err != nil {
		return Role{}, err
	}
	if i := slices.IndexFunc(list, func(role Role) bool { return role.UID == uid }); i >= 0 {
		return list[i], nil
	}
	return Role{}, notFound(store.ErrNotFound)
}

// Create defines a role and returns its uid.
//
// Faults: Invalid with the fields of Problems; Forbidden, also for a permission that the caller lacks; Conflict with CodeExists.
func (r *Roles) Create(ctx context.Context, p auth.Principal, origin audit.Origin, input Input) (string, error) {
	role := stored(uuid.NewString(), "", input)
	role.CreatedAt = r.now()
	create := func(tx *store.Tx, orgUID string) error {
		role.OrgUID = orgUID
		others, err := tx.Roles.OfOrg(ctx, orgUID)
		if err == nil && len(others) >= maxRoles {
			err = fault.InvalidField("name", fmt.Sprintf("exceeds the limit of %d roles per organization; delete one first", maxRoles))
		}
		if err == nil {
			err = exists(tx.Roles.Insert(ctx, role))
		}
		return err
	}
	return role.UID, r.change(ctx, p, origin, audit.RoleCreate, access.CreateRoles, role.UID, input, create)
}

// Clone defines a role with what another one has, which may be built in, and returns its uid. It can be given in projects only if the other
// one can, and grants nothing but there. Without a description it has that of the other one.
//
// Faults: as of Create; NotFound for the other role.
func (r *Roles) Clone(ctx context.Context, p auth.Principal, origin audit.Origin, uid, name, description string) (string, error) {
	role, err := r.Get(ctx, p, uid)
	if err != nil {
		return "", err
	}
	input := Input{Name: name, Description: cmp.Or(description, role.Description), Permissions: role.Permissions}
	input.InProjects = role.InProjects && !slices.ContainsFunc(role.Permissions, func(one access.Permission) bool {
		return !slices.Contains(access.OfProjects(), one)
	})
	if problems := input.Problems(); len(problems) > 0 {
		return "", fault.InvalidFields(problems...)
	}
	return r.Create(ctx, p, origin, input)
}

// Update replaces a role. It counts at once for all who have it.
//
// Faults: as of Create; NotFound; Conflict with CodeInUse for a role of projects that is to have the scope tenant.
func (r *Roles) Update(ctx context.Context, p auth.Principal, origin audit.Origin, uid string, input Input) error {
	return r.change(ctx, p, origin, audit.RoleUpdate, access.ChangeRoles, uid, input, func(tx *store.Tx, orgUID string) error {
		before, err := tx.Roles.Get(ctx, orgUID, uid)
		if err != nil {
			return notFound(err)
		}
		if err := mayGrant(p, visible(before).Permissions); err != nil { // else it could be taken from who may more
			return err
		}
		if before.Scope == roles.ScopeProject && !input.InProjects {
			if err := unused(ctx, tx, orgUID, uid, true); err != nil {
				return err
			}
		}
		if input.KeepDescription {
			input.Description = before.Description
		}
		return exists(tx.Roles.Update(ctx, stored(uid, orgUID, input)))
	})
}

// Delete deletes a role that no user, team and trust rule has.
//
// Faults: Forbidden; NotFound; Conflict with CodeInUse.
func (r *Roles) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	return r.change(ctx, p, origin, audit.RoleDelete, access.DeleteRoles, uid, Input{}, func(tx *store.Tx, orgUID string) error {
		if _, err := tx.Roles.Get(ctx, orgUID, uid); err != nil {
			return notFound(err)
		}
		if err := unused(ctx, tx, orgUID, uid, false); err != nil {
			return err
		}
		return tx.Roles.Delete(ctx, orgUID, uid)
	})
}

// change makes a change if the caller may, while no role of the organization is given, and records it or the refusal.
func (r *Roles) change(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action, permission access.Permission,
	uid string, input Input, do func(tx *store.Tx, orgUID string) error) error {
	if isBuiltIn(uid) {
		return fault.InvalidField("uid", "must not be that of a built-in role")
	}
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object = origin.RecordUID(), r.now(), uid
	err := p.May(permission)
	if err == nil {
		err = mayGrant(p, input.Permissions)
	}
	if err == nil {
		err = r.db.InTx(ctx, func(tx *store.Tx) error {
			org, err := p.Org(ctx, tx)
			if err == nil {
				err = auth.OrgNotFound(tx.Orgs.Lock(ctx, org.UID))
			}
			if err == nil {
				err = do(tx, org.UID)
			}
			if err == nil {
				err = tx.Changes.Note(ctx, org.UID)
			}
			if err != nil {
				return err
			}
			done := record
			done.OrgUID, done.Outcome = org.UID, audit.Succeeded
			return tx.Audits.Append(ctx, done)
		})
	}
	return fault.Wrap(string(action), auth.RecordRefusal(ctx, r.db, record, err))
}

// mayGrant returns the fault of a permission that the caller lacks.
func mayGrant(p auth.Principal, permissions []access.Permission) error {
	if p.HasAll() {
		return nil
	}
	for _, permission := range permissions {
		if err := p.May(permission); err != nil {
			return err
		}
	}
	return nil
}

// MayGive returns nil if the caller may give roles in a project of an organization, or in the organization if the project is empty: they
// exist there, and grant nothing that the caller lacks. It locks the organization if one of them is not built in, so that none is deleted
// concurrently.
//
// Faults: Invalid with that field; Forbidden.
func MayGive(ctx context.Context, tx *store.Tx, p auth.Principal, orgUID, field string, given access.Role, project string) error {
	if p.HasAll() && !given.HasCustom() {
		return nil
	}
	defined := map[access.Role]roles.Role{}
	if given.HasCustom() {
		if err := tx.Orgs.Lock(ctx, orgUID); err != nil {
			return auth.OrgNotFound(err)
		}
		list, err := tx.Roles.OfOrg(ctx, orgUID)
		if err != nil {
			return err
		}
		for _, role := range list {
			defined[access.Role(role.UID)] = role
		}
	}
	for _, one := range given.All() {
		role, is := defined[one]
		switch {
		case access.IsCustom(one) && !is:
			return fault.InvalidField(field, "must have roles that exist in your organization")
		case is && project != "" && role.Scope != roles.ScopeProject:
			return fault.InvalidField(field, "must have roles with the scope project")
		}
		if err := mayGiveOne(p, one, role, project); err != nil {
			return err
		}
	}
	return nil
}

// mayGiveOne returns the fault of a permission that a role grants there and that the caller lacks. role is what the organization defined.
func mayGiveOne(p auth.Principal, one access.Role, role roles.Role, project string) error {
	if p.HasAll() {
		return nil
	}
	possible := access.Permissions()
	if project != "" {
		possible = access.OfProjects()
	}
	for _, permission := range possible {
		if one.Grants(permission) || slices.Contains(role.Permissions, string(permission)) {
			if err := p.MayIn(permission, project); err != nil {
				return err
			}
		}
	}
	return nil
}

// unused returns a conflict that names who has a role.
func unused(ctx context.Context, tx *store.Tx, orgUID, uid string, inProjects bool) error {
	uses, err := tx.Roles.Uses(ctx, orgUID, uid, inProjects, maxNamed)
	if err != nil || len(uses) == 0 {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeInUse,
		Message: "The role is in use. Take it first from: " + strings.Join(uses, ", ") + "."}
}

func exists(err error) error {
	return auth.ExistsAs(err, CodeExists, "The organization already has a role with this name.")
}

func notFound(err error) error { return auth.NotFoundAs(err, "Role not found.") }

func stored(uid, orgUID string, input Input) roles.Role {
	role := roles.Role{UID: uid, OrgUID: orgUID, Name: strings.TrimSpace(input.Name), Canonical: names.Canonical(input.Name),
		Description: input.Description, Scope: roles.ScopeTenant}
	if input.InProjects {
		role.Scope = roles.ScopeProject
	}
	for _, permission := range input.Permissions {
		role.Permissions = append(role.Permissions, string(permission))
	}
	return role
}

func visible(r roles.Role) Role {
	role := Role{UID: r.UID, Name: r.Name, Description: r.Description, InProjects: r.Scope == roles.ScopeProject}
	for _, permission := range r.Permissions {
		role.Permissions = append(role.Permissions, access.Permission(permission))
	}
	return role
}
