package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// NewUser is the input of CreateUser.
type NewUser struct {
	Email string
	PersonName
	Password        secret.String
	WithoutPassword bool      // every login fails until an administrator sets a password
	Role            auth.Role // several are separated by spaces; empty for member
	Projects        []ProjectRole
	Teams           []string // uids or names
}

// CreateUser creates a user and its memberships.
//
// Faults: Invalid with the fields of UserProblems, and projects, teams and org; Forbidden; Conflict with CodeUserExists; Unavailable
// when too many passwords are hashed at once.
func (d *Directory) CreateUser(ctx context.Context, p auth.Principal, origin audit.Origin, input NewUser) (User, error) {
	if problems := d.UserProblems(p, input); len(problems) > 0 {
		return User{}, fault.InvalidFields(problems...)
	}
	hash, err := d.hashIfAllowed(ctx, p, input)
	if err != nil {
		return User{}, err
	}
	var user store.User
	err = d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateUsers, action: audit.UserCreate,
		object: input.Email}, func(tx *store.Tx) (changeResult, error) {
		org, err := p.Org(ctx, tx)
		if err != nil {
			return changeResult{}, err
		}
		if err := mayGive(ctx, tx, p, org.UID, cmp.Or(input.Role, auth.RoleMember), input.Projects); err != nil {
			return changeResult{}, err
		}
		for _, named := range input.Teams {
			if team, err := findTeam(ctx, tx, org.UID, named); err == nil { // insertUser reports others
				if err := mayManage(ctx, tx, p, team); err != nil {
					return changeResult{}, err
				}
			}
		}
		user = newUser(org.UID, input, hash, d.now())
		// Deleted concurrently.
		return changeResult{orgUID: org.UID, uid: user.UID}, auth.OrgNotFound(insertUser(ctx, tx, user, input))
	})
	return visibleUser(user), err
}

// hashIfAllowed checks the password by the policy of the organization, and hashes it before the transaction, which must be short. It does
// nothing for a caller who will be refused.
func (d *Directory) hashIfAllowed(ctx context.Context, p auth.Principal, input NewUser) (string, error) {
	if !p.Can(access.CreateUsers) || input.WithoutPassword {
		return "", nil
	}
	org, err := store.Read(ctx, d.db, func(tx *store.Tx) (store.Org, error) { return p.Org(ctx, tx) })
	if err != nil {
		return "", fault.Wrap("look up an organization", err)
	}
	if err := passwordpolicy.Check(org.PasswordPolicy, "password", input.Password); err != nil {
		return "", err
	}
	return d.passwords.Hash(ctx, p.OrgUID, input.Password)
}

// UserProblems lists the problems of a new user that can be found without the store, under emailId, name, firstName,
// lastName, password and role.
func (d *Directory) UserProblems(p auth.Principal, input NewUser) []fault.Field {
	problems := fault.FieldProblem("emailId", names.EmailProblem(input.Email))
	problems = append(problems, input.PersonName.problems()...)
	if !input.WithoutPassword {
		problems = append(problems, d.passwords.Problems("password", input.Password, input.Email, p.OrgName)...)
	}
	problems = append(problems, projectRoleProblems(input.Projects)...)
	if input.Role == "" {
		return problems
	}
	return append(problems, fault.FieldProblem("role", access.Problem(input.Role, access.Assignable()))...)
}

func (n PersonName) problems() (all []fault.Field) {
	for _, part := range []struct{ field, text string }{{"name", n.Name}, {"firstName", n.FirstName}, {"lastName", n.LastName}} {
		if part.text != "" {
			all = append(all, fault.FieldProblem(part.field, names.NameProblem(part.text))...)
		}
	}
	return all
}

func newUser(orgUID string, input NewUser, hash string, now time.Time) store.User {
	return store.User{UID: uuid.NewString(), OrgUID: orgUID, Email: strings.TrimSpace(input.Email), Canonical: names.Canonical(input.Email),
		Name: input.Name, FirstName: input.FirstName, LastName: input.LastName,
		Role: string(cmp.Or(input.Role, auth.RoleMember)), RoleNamed: input.Role != "", PasswordHash: hash,
		PasswordChangedAt: now, CreatedAt: now}
}

// insertUser adds a user and makes it a member of projects and teams.
func insertUser(ctx context.Context, tx *store.Tx, user store.User, input NewUser) error {
	if err := tx.Users.Insert(ctx, user); err != nil {
		return userExists(err)
	}
	if err := insertMember(ctx, tx, user, input.Projects); err != nil {
		return err
	}
	var problems []fault.Field
	for i, named := range input.Teams {
		problem, err := joinTeam(ctx, tx, user, named)
		if err != nil {
			return err
		}
		problems = append(problems, fault.FieldProblem(fmt.Sprintf("teams[%d]", i), problem)...)
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return nil
}

// joinTeam makes a user a member of a team, or returns why it cannot be one.
func joinTeam(ctx context.Context, tx *store.Tx, user store.User, named string) (problem string, err error) {
	team, err := findTeam(ctx, tx, user.OrgUID, named)
	if fault.KindOf(err) == fault.NotFound {
		return "does not exist in your organization", nil
	}
	full := false
	if err == nil {
		full, err = membership.Full(ctx, tx, user.OrgUID, team.UID)
	}
	if full {
		return fmt.Sprintf("exceeds the limit of %d users per team", membership.MaxMembers), nil
	}
	if err == nil {
		err = membership.Join(ctx, tx, user, team.UID, false)
	}
	return "", err
}

// teamsOf returns the teams of a user.
func teamsOf(ctx context.Context, tx *store.Tx, user store.User) (list []Team, err error) {
	if !auth.Role(user.Role).Includes(access.More) {
		return nil, nil
	}
	stored, err := tx.Teams.OfUser(ctx, user.OrgUID, user.UID)
	for _, team := range stored {
		list = append(list, visibleTeam(team))
	}
	return list, err
}

func userExists(err error) error {
	return auth.ExistsAs(err, CodeUserExists, "The organization already has a user with this email.")
}

// insertMember makes a user a member of projects, and reports all unknown projects at once.
func insertMember(ctx context.Context, tx *store.Tx, user store.User, given []ProjectRole) error {
	if len(given) == 0 {
		return nil
	}
	uids, err := findProjects(ctx, tx, user.OrgUID, given)
	if err != nil {
		return err
	}
	var problems []fault.Field
	roles := map[string]auth.Role{}
	for i, uid := range uids {
		problem := ""
		if role, twice := roles[uid]; twice && roleInProject(role) != roleInProject(given[i].Role) {
			problem = "is given twice, with different roles"
		}
		if uid == "" {
			problem = "does not exist in your organization"
		}
		problems = append(problems, fault.FieldProblem(fmt.Sprintf("projects[%d]", i), problem)...)
		roles[uid] = given[i].Role
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	slices.Sort(uids) // a fixed order of locks, so that such transactions cannot deadlock
	for _, uid := range uids {
		err := tx.Projects.InsertMember(ctx, user.OrgUID, uid, user.UID, roleInProject(roles[uid]))
		if errors.Is(err, store.ErrNotFound) {
			return fault.InvalidField("projects", "must not contain a project that is being deleted")
		}
		if err != nil {
			return err
		}
	}
	return grant(ctx, tx, user, given)
}

// roleInProject returns a role as it is stored: nothing for that of members.
func roleInProject(role auth.Role) string {
	if role == auth.RoleMember {
		return ""
	}
	return string(role)
}

// grant has the roles of a user in its projects read with each of its credentials. A member in a project has more rights there only if it
// is not a member of the organization. A user who is a member since no role was named is none from then on.
func grant(ctx context.Context, tx *store.Tx, user store.User, given []ProjectRole) error {
	role := auth.Role(user.Role).Direct()
	ordinary := role == auth.RoleMember || role.Includes(auth.RoleAdmin)
	named := slices.ContainsFunc(given, func(p ProjectRole) bool { return roleInProject(p.Role) != "" })
	if ordinary && !named {
		return nil
	}
	if role == auth.RoleMember && !user.RoleNamed {
		if err := tx.Users.SetRole(ctx, user.OrgUID, user.UID, string(access.None), false); err != nil {
			return err
		}
	}
	return tx.Users.Grant(ctx, user.OrgUID, user.UID)
}

// findProjects returns the uids of projects given by uid or name, "" for each unknown one.
func findProjects(ctx context.Context, tx *store.Tx, orgUID string, wanted []ProjectRole) ([]string, error) {
	byUID, byName := map[string]string{}, map[string]string{}
	for project, err := range paging.All(func(after store.Project) ([]store.Project, bool, error) {
		return tx.Projects.List(ctx, orgUID, after)
	}) {
		if err != nil {
			return nil, err
		}
		byUID[project.UID], byName[project.Canonical] = project.UID, project.UID
	}
	uids := make([]string, len(wanted))
	for i, one := range wanted {
		uids[i] = cmp.Or(byUID[one.Project], byName[names.Canonical(one.Project)])
	}
	return uids, nil
}

// ListUsers returns the page of the organization's users, by email, that follows the given user, and whether there may
// be more. It requires access.ReadUsers. The zero value starts at the first page.
func (d *Directory) ListUsers(ctx context.Context, p auth.Principal, after User) (list []User, more bool, err error) {
	list, err = d.listUsers(ctx, p, func(tx *store.Tx, orgUID string) (users []store.User, err error) {
		users, more, err = tx.Users.List(ctx, orgUID, store.User{Canonical: after.Canonical})
		return users, err
	})
	return list, more, err
}

// FindUser lists the user with that email, if it exists. It requires access.ReadUsers.
func (d *Directory) FindUser(ctx context.Context, p auth.Principal, email string) ([]User, error) {
	return d.listUsers(ctx, p, func(tx *store.Tx, orgUID string) ([]store.User, error) {
		user, err := tx.Users.ByEmail(ctx, orgUID, names.Canonical(email))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		return []store.User{user}, err
	})
}

func (d *Directory) listUsers(ctx context.Context, p auth.Principal,
	read func(*store.Tx, string) ([]store.User, error)) ([]User, error) {
	if err := p.May(access.ReadUsers); err != nil {
		return nil, err
	}
	var list []User
	err := d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		users, err := read(tx, orgUID)
		list = nil
		for i := 0; i < len(users) && err == nil; i++ {
			shown := visibleUser(users[i])
			shown.Teams, err = teamsOf(ctx, tx, users[i])
			list = append(list, shown)
		}
		return err
	})
	return list, fault.Wrap("list users", err)
}

func visibleUser(u store.User) User {
	return User{UID: u.UID, OrgUID: u.OrgUID, Email: u.Email, Canonical: u.Canonical,
		PersonName: PersonName{u.Name, u.FirstName, u.LastName},
		Role:       auth.Role(u.Role).Direct(), RoleNamed: u.RoleNamed, CreatedAt: u.CreatedAt,
		LastLoginAt: u.LastLoginAt, Disabled: !u.DisabledAt.IsZero(), SecondFactor: u.SecondFactor}
}

// mayGive is roles.MayGive for roles in an organization, and in projects of it.
func mayGive(ctx context.Context, tx *store.Tx, p auth.Principal, orgUID string, role auth.Role, projects []ProjectRole) error {
	if err := roles.MayGive(ctx, tx, p, orgUID, "role", role, ""); err != nil || len(projects) == 0 {
		return err
	}
	if p.HasAll() && !slices.ContainsFunc(projects, func(in ProjectRole) bool { return in.Role.HasCustom() }) {
		return nil
	}
	uids, err := findProjects(ctx, tx, orgUID, projects)
	for i, uid := range uids {
		if err == nil && uid != "" { // others are reported when they are stored
			err = roles.MayGive(ctx, tx, p, orgUID, fmt.Sprintf("projects[%d].roles", i), cmp.Or(projects[i].Role, auth.RoleMember), uid)
		}
	}
	return err
}
