package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// UserWithProjects is a user, the projects that it is a member of, and its roles in each by the project's uid.
type UserWithProjects struct {
	User
	Projects     []Project
	ProjectRoles map[string]auth.Role
}

// ProjectRole is a project, by uid or name, and the roles of a user in it: of a member if they are empty.
type ProjectRole struct {
	Project string
	Role    auth.Role
}

// User returns a user with its projects: any user of the organization with access.ReadUsers, for others themselves.
//
// Faults: Forbidden; NotFound.
func (d *Directory) User(ctx context.Context, p auth.Principal, named string) (UserWithProjects, error) {
	// Checked before the query, so that the response does not reveal whether the user exists.
	if !p.Can(access.ReadUsers) && named != p.UserUID {
		return UserWithProjects{}, p.May(access.ReadUsers)
	}
	var found UserWithProjects
	err := d.db.View(ctx, func(tx *store.Tx) error {
		_, user, err := p.FindUser(ctx, tx, named)
		if err != nil {
			return err
		}
		found = UserWithProjects{User: visibleUser(user)}
		if found.Teams, err = teamsOf(ctx, tx, user); err != nil {
			return err
		}
		if found.Projects, err = projectNames(ctx, tx, user); err != nil {
			return err
		}
		memberships, err := tx.Projects.Memberships(ctx, user.UID)
		found.ProjectRoles = map[string]auth.Role{}
		for _, m := range memberships {
			found.ProjectRoles[m.ProjectUID] = cmp.Or(auth.Role(m.Roles), auth.RoleMember)
		}
		return err
	})
	return found, fault.Wrap("look up a user", err)
}

// projectNames returns the projects of a user without their annotations and labels, which are long.
func projectNames(ctx context.Context, tx *store.Tx, user store.User) (names []Project, err error) {
	for project, err := range paging.All(func(after store.Project) ([]store.Project, bool, error) {
		return tx.Projects.OfUser(ctx, user.OrgUID, user.UID, after)
	}) {
		if err != nil {
			return nil, err
		}
		names = append(names, Project{UID: project.UID, OrgUID: project.OrgUID, Name: project.Name, CreatedAt: project.CreatedAt})
	}
	return names, nil
}

// UserChange is a change of a user: the names, and the email unless it is empty.
type UserChange struct {
	Email string
	PersonName
}

// Problems lists the problems of the change that can be found without the store.
func (c UserChange) Problems() []fault.Field {
	var problems []fault.Field
	if c.Email != "" {
		problems = fault.FieldProblem("emailId", names.EmailProblem(c.Email))
	}
	return append(problems, c.PersonName.problems()...)
}

// UpdateUser changes names and email of a user of the organization.
//
// Faults: Invalid with the fields of Problems; Forbidden; NotFound; Conflict with CodeUserExists.
func (d *Directory) UpdateUser(ctx context.Context, p auth.Principal, origin audit.Origin, named string, change UserChange) error {
	if problems := change.Problems(); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.changeUser(ctx, p, origin, named, access.ChangeUsers, audit.UserUpdate, func(tx *store.Tx, user store.User) error {
		return userExists(tx.Users.Update(ctx, store.User{UID: user.UID, OrgUID: user.OrgUID, Email: strings.TrimSpace(change.Email),
			Canonical: names.Canonical(change.Email), Name: change.Name, FirstName: change.FirstName, LastName: change.LastName}))
	})
}

// DeleteUser deletes a user of the organization. Its sessions end and its API keys are invalid at once; audit records
// retain its uid and email.
//
// Faults: Forbidden; NotFound; Conflict with CodeLastAdmin.
func (d *Directory) DeleteUser(ctx context.Context, p auth.Principal, origin audit.Origin, named string) error {
	return d.changeUser(ctx, p, origin, named, access.DeleteUsers, audit.UserDelete, func(tx *store.Tx, user store.User) error {
		if err := keepAdmin(ctx, tx, p, user); err != nil {
			return err
		}
		return tx.Users.Delete(ctx, user.OrgUID, user.UID)
	})
}

// SetRole sets the roles of a user of the organization. named is false if the client named none and so chose member: clients expect to read
// what they set. A user who has no role on purpose, or is in a team, is without one then. No user can change its own role, since an
// organization could lose its last administrator by mistake.
//
// Faults: Invalid with field role; Forbidden; NotFound; Conflict with CodeLastAdmin.
func (d *Directory) SetRole(ctx context.Context, p auth.Principal, origin audit.Origin, user string, role auth.Role, named bool) error {
	if problems := fault.FieldProblem("role", access.Problem(role, access.Assignable())); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.changeUser(ctx, p, origin, user, access.ChangeUsers, audit.UserRole, func(tx *store.Tx, user store.User) error {
		if user.UID == p.UserUID {
			return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(access.ChangeUsers),
				Message: "You cannot change your own role. Ask another administrator of your organization."}
		}
		if err := mayGive(ctx, tx, p, user.OrgUID, role, nil); err != nil {
			return err
		}
		inTeams, err := tx.Teams.OfUser(ctx, user.OrgUID, user.UID)
		if err != nil {
			return err
		}
		if !named && (auth.Role(user.Role).Direct() == access.None || len(inTeams) > 0) {
			role = access.None
		}
		if !role.Includes(auth.RoleAdmin) {
			if err := keepAdmin(ctx, tx, p, user); err != nil {
				return err
			}
		}
		if err := tx.Users.SetRole(ctx, user.OrgUID, user.UID, string(role), named); err != nil {
			return err
		}
		user.Role, user.RoleNamed = string(role), named
		return grantStored(ctx, tx, user)
	})
}

// grantStored is grant for a user whose role was set, with the roles that it has in projects.
func grantStored(ctx context.Context, tx *store.Tx, user store.User) error {
	memberships, err := tx.Projects.Memberships(ctx, user.UID)
	if err != nil || len(memberships) == 0 {
		return err
	}
	given := make([]ProjectRole, len(memberships))
	for i, m := range memberships {
		given[i] = ProjectRole{Project: m.ProjectUID, Role: auth.Role(m.Roles)}
	}
	return grant(ctx, tx, user, given)
}

// SetProjects gives a user roles in exactly these projects.
//
// Faults: Invalid with fields projects[i]; Forbidden; NotFound.
func (d *Directory) SetProjects(ctx context.Context, p auth.Principal, origin audit.Origin, named string, projects []ProjectRole) error {
	if problems := projectRoleProblems(projects); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return d.changeUser(ctx, p, origin, named, access.ChangeUsers, audit.UserProjects, func(tx *store.Tx, user store.User) error {
		if err := mayGive(ctx, tx, p, user.OrgUID, access.None, projects); err != nil {
			return err
		}
		if err := tx.Users.Lock(ctx, user.OrgUID, user.UID); err != nil { // else the projects of concurrent calls would be combined
			return err
		}
		if err := tx.Projects.DeleteMemberships(ctx, user.OrgUID, user.UID); err != nil {
			return err
		}
		if err := insertMember(ctx, tx, user, projects); err != nil {
			return err
		}
		return tx.Changes.Note(ctx, user.UID)
	})
}

// Members returns projects, by uid or name, for a member of them.
func Members(projects []string) []ProjectRole {
	members := make([]ProjectRole, len(projects))
	for i, project := range projects {
		members[i].Project = project
	}
	return members
}

func projectRoleProblems(projects []ProjectRole) (problems []fault.Field) {
	for i, p := range projects {
		if p.Role != "" {
			problem := access.Problem(p.Role, access.InProjects())
			problems = append(problems, fault.FieldProblem(fmt.Sprintf("projects[%d].roles", i), problem)...)
		}
	}
	return problems
}

// SetPassword sets the password of another user of the organization and ends its sessions. Users change their own
// password with auth.Logins.ChangePassword.
//
// Faults: Invalid with field password; Forbidden, also for the principal's own user; NotFound; Unavailable when too
// many passwords are hashed at once.
func (d *Directory) SetPassword(ctx context.Context, p auth.Principal, origin audit.Origin, named string, password secret.String) error {
	a := attempt{origin: origin, principal: p, permission: access.SetPasswords, action: audit.PasswordSet, object: named, notSelf: true}
	var hash string
	if a.refusal() == nil {
		var err error
		if hash, err = d.hashFor(ctx, p, named, password); err != nil {
			return err
		}
	}
	return d.changeUserBy(ctx, a, func(tx *store.Tx, user store.User) error {
		return setPassword(ctx, tx, user, hash, d.now())
	})
}

// setPassword stores the hash of a new password, forgets failed logins and ends the sessions of the user.
func setPassword(ctx context.Context, tx *store.Tx, user store.User, hash string, now time.Time) error {
	if err := tx.Users.SetPassword(ctx, user.OrgUID, user.UID, hash, now); err != nil {
		return err
	}
	if err := tx.Throttling.ForgiveAccount(ctx, []byte(user.UID)); err != nil {
		return err
	}
	return tx.Sessions.EndOfUser(ctx, user.OrgUID, user.UID, "", auth.EndedByPassword, now)
}

// hashFor checks and hashes a new password before the transaction, which must be short.
func (d *Directory) hashFor(ctx context.Context, p auth.Principal, named string, password secret.String) (string, error) {
	var org store.Org
	var user store.User
	err := d.db.View(ctx, func(tx *store.Tx) (err error) {
		org, user, err = p.FindUser(ctx, tx, named)
		return err
	})
	if err != nil {
		return "", fault.Wrap("look up a user", err)
	}
	if problems := d.passwords.Problems("password", password, user.Email, org.Name); len(problems) > 0 {
		return "", fault.InvalidFields(problems...)
	}
	if err := passwordpolicy.Check(org.PasswordPolicy, "password", password); err != nil {
		return "", err
	}
	return d.passwords.Hash(ctx, p.OrgUID, password)
}

// Factors are the second factors of users.
type Factors struct{ *Directory }

// Reset removes the second factor of another user of the organization with its recovery codes, and ends logins that wait for a
// code. Sessions and the password stay. Where the organization requires a second factor, the next login adds another one.
//
// Faults: Forbidden, also for the principal's own user; NotFound, also for a user without one.
func (d Factors) Reset(ctx context.Context, p auth.Principal, origin audit.Origin, named string) error {
	a := attempt{origin: origin, principal: p, permission: access.SetPasswords, action: audit.FactorReset, object: named, notSelf: true}
	return d.changeUserBy(ctx, a, func(tx *store.Tx, user store.User) error {
		if err := tx.Users.Lock(ctx, user.OrgUID, user.UID); err != nil {
			return err
		}
		err := tx.Factors.Delete(ctx, user.UID)
		if errors.Is(err, store.ErrNotFound) {
			err = fault.ResourceNotFound("The user has no second factor.")
		}
		return err
	})
}

// DisableUser prevents logins of another user of the organization, ends its sessions and blocks its API keys at once. A
// disabled user stays disabled.
//
// Faults: Forbidden, also for the principal's own user; NotFound; Conflict with CodeLastAdmin.
func (d *Directory) DisableUser(ctx context.Context, p auth.Principal, origin audit.Origin, named string) error {
	a := attempt{origin: origin, principal: p, permission: access.DisableUsers, action: audit.UserDisable, object: named, notSelf: true}
	return d.changeUserBy(ctx, a, func(tx *store.Tx, user store.User) error {
		if err := keepAdmin(ctx, tx, p, user); err != nil {
			return err
		}
		return unlessDone(tx.Users.Disable(ctx, user.OrgUID, user.UID, d.now()))
	})
}

// EnableUser allows a disabled user to log in again. Its old sessions stay ended.
//
// Faults: Forbidden, also for the principal's own user; NotFound.
func (d *Directory) EnableUser(ctx context.Context, p auth.Principal, origin audit.Origin, named string) error {
	a := attempt{origin: origin, principal: p, permission: access.DisableUsers, action: audit.UserEnable, object: named, notSelf: true}
	return d.changeUserBy(ctx, a, func(tx *store.Tx, user store.User) error {
		return unlessDone(tx.Users.Enable(ctx, user.OrgUID, user.UID))
	})
}

// unlessDone returns nil if the row was already changed.
func unlessDone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// keepAdmin refuses a change that takes the last enabled administrator with a password from an organization, or the last one of all. It
// locks the organization, so that two administrators cannot remove each other at the same time. An operator can always create another
// administrator.
func keepAdmin(ctx context.Context, tx *store.Tx, p auth.Principal, user store.User) error {
	if p.Role == auth.RoleOperator {
		return nil
	}
	if err := tx.Orgs.Lock(ctx, user.OrgUID); err != nil {
		return err
	}
	now, err := tx.Users.Get(ctx, user.OrgUID, user.UID)
	if err != nil || !auth.Role(now.Role).Includes(auth.RoleAdmin) || !now.DisabledAt.IsZero() {
		return err
	}
	hasPassword, with := now.PasswordHash != "", ""
	if hasOther, err := tx.Users.HasOtherAdmin(ctx, user.OrgUID, user.UID, hasPassword); hasOther || err != nil {
		return err
	}
	if hasPassword {
		with = " with a password"
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeLastAdmin,
		Message: "This is the last enabled administrator of the organization" + with + ". Give another user the role admin first."}
}

// changeUser finds the user, changes it and records the change.
func (d *Directory) changeUser(ctx context.Context, p auth.Principal, origin audit.Origin, named string, permission access.Permission,
	action audit.Action, change func(*store.Tx, store.User) error) error {
	return d.changeUserBy(ctx, attempt{origin: origin, principal: p, permission: permission, action: action, object: named}, change)
}

func (d *Directory) changeUserBy(ctx context.Context, a attempt, change func(*store.Tx, store.User) error) error {
	return d.change(ctx, a, func(tx *store.Tx) (changeResult, error) {
		_, user, err := a.principal.FindUser(ctx, tx, a.object)
		if err == nil {
			err = a.principal.Covers(ctx, tx, user)
		}
		if err != nil {
			return changeResult{}, err
		}
		// A concurrent request may have deleted the user.
		return changeResult{orgUID: user.OrgUID, uid: user.UID}, auth.UserNotFound(change(tx, user))
	})
}
