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
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// NewUser is a user as a client wants it.
type NewUser struct {
	Org   string // an operator names the organization; others leave it empty
	Email string
	UserNames
	Password        secret.String
	WithoutPassword bool      // until an administrator sets one, every login is refused like one with a wrong password
	Role            auth.Role // empty: member
	Projects        []string  // uids or names, of which the user becomes a member
}

// CreateUser creates a user and its memberships.
//
// Faults: Invalid with the fields of UserProblems, and projects and org; Forbidden; NotFound for an operator's organization;
// Conflict with CodeUserExists; Unavailable when too many passwords are hashed at once.
func (d *Directory) CreateUser(ctx context.Context, p auth.Principal, origin audit.Origin, ask NewUser) (User, error) {
	if problems := d.UserProblems(p, ask); len(problems) > 0 {
		return User{}, fault.InvalidFields(problems...)
	}
	hash, err := d.hashIfAllowed(ctx, p, ask)
	if err != nil {
		return User{}, err
	}
	var user store.User
	err = d.change(ctx, attempt{origin: origin, principal: p, permission: auth.CreateUsers, action: audit.UserCreate, object: ask.Email},
		func(tx *store.Tx) (made, error) {
			org, err := p.Org(ctx, tx, ask.Org)
			if err != nil {
				return made{}, err
			}
			user = newUser(org.UID, ask, hash, d.now())
			return made{orgUID: org.UID, uid: user.UID}, insertUser(ctx, tx, user, ask.Projects)
		})
	return visibleUser(user), err
}

// hashIfAllowed hashes before the transaction, which must be short, but not for a caller who will be refused.
func (d *Directory) hashIfAllowed(ctx context.Context, p auth.Principal, ask NewUser) (string, error) {
	if !p.Can(auth.CreateUsers) || ask.WithoutPassword {
		return "", nil
	}
	return d.passwords.Hash(ctx, p.OrgUID, ask.Password)
}

// UserProblems lists what keeps a user from being created, as far as that shows without the store, under emailId, name,
// firstName, lastName, password and role.
func (d *Directory) UserProblems(p auth.Principal, ask NewUser) []fault.Field {
	problems := fault.FieldProblem("emailId", auth.EmailProblem(ask.Email))
	org := ask.Org
	if org == "" {
		org = p.OrgName
	}
	problems = append(problems, ask.UserNames.problems()...)
	if !ask.WithoutPassword {
		problems = append(problems, d.passwords.Problems("password", ask.Password, ask.Email, org)...)
	}
	if ask.Role == "" {
		return problems
	}
	return append(problems, fault.FieldProblem("role", roleProblem(ask.Role))...)
}

func (n UserNames) problems() (all []fault.Field) {
	for _, part := range []struct{ field, text string }{{"name", n.Name}, {"firstName", n.FirstName}, {"lastName", n.LastName}} {
		if part.text != "" {
			all = append(all, fault.FieldProblem(part.field, auth.NameProblem(part.text))...)
		}
	}
	return all
}

func roleProblem(role auth.Role) string {
	if role != auth.RoleAdmin && role != auth.RoleMember {
		return "must be admin or member"
	}
	return ""
}

func newUser(orgUID string, ask NewUser, hash string, now time.Time) store.User {
	return store.User{UID: uuid.NewString(), OrgUID: orgUID, Email: strings.TrimSpace(ask.Email), Canonical: auth.Canonical(ask.Email),
		Name: ask.Name, FirstName: ask.FirstName, LastName: ask.LastName,
		Role: string(cmp.Or(ask.Role, auth.RoleMember)), RoleNamed: ask.Role != "", PasswordHash: hash, PasswordChangedAt: now, CreatedAt: now}
}

// insertUser adds a user and makes it a member of projects.
func insertUser(ctx context.Context, tx *store.Tx, user store.User, projects []string) error {
	if err := tx.Users.Insert(ctx, user); err != nil {
		return userExists(err)
	}
	return insertMember(ctx, tx, user, projects)
}

func userExists(err error) error {
	return existsAs(err, CodeUserExists, "There is a user of that email in the organization.")
}

// insertMember makes a user a member of projects. All projects that are not there are told at once.
func insertMember(ctx context.Context, tx *store.Tx, user store.User, projects []string) error {
	if len(projects) == 0 {
		return nil
	}
	uids, err := findProjects(ctx, tx, user.OrgUID, projects)
	if err != nil {
		return err
	}
	var problems []fault.Field
	for i, uid := range uids {
		if uid == "" {
			problems = append(problems, fault.Field{Field: fmt.Sprintf("projects[%d]", i), Problem: "does not exist in your organization"})
		}
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	slices.Sort(uids) // each is locked: of two such transactions neither may wait for the other
	for _, uid := range uids {
		err := tx.Projects.InsertMember(ctx, user.OrgUID, uid, user.UID)
		if errors.Is(err, store.ErrNotFound) {
			return fault.InvalidFields(fault.Field{Field: "projects", Problem: "must not contain a project that is being deleted"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findProjects returns the uids of the projects with these uids, or else these names, "" for each that does not exist.
func findProjects(ctx context.Context, tx *store.Tx, orgUID string, wanted []string) ([]string, error) {
	byUID, byName := map[string]string{}, map[string]string{}
	var last store.Project
	for more := true; more; {
		var page []store.Project
		var err error
		if page, more, err = tx.Projects.List(ctx, orgUID, last); err != nil {
			return nil, err
		}
		for _, project := range page {
			last = project
			byUID[project.UID], byName[project.Canonical] = project.UID, project.UID
		}
	}
	uids := make([]string, len(wanted))
	for i, one := range wanted {
		uids[i] = cmp.Or(byUID[one], byName[auth.Canonical(one)])
	}
	return uids, nil
}

// ListUsers returns the page of the organization's users, by email, that follows one of them, to administrators, and
// whether there may be more. The zero value precedes all. Org is for operators; others leave it empty.
func (d *Directory) ListUsers(ctx context.Context, p auth.Principal, org string, after User) (list []User, more bool, err error) {
	list, err = d.listUsers(ctx, p, org, func(tx *store.Tx, orgUID string) (users []store.User, err error) {
		users, more, err = tx.Users.List(ctx, orgUID, store.User{Canonical: after.Canonical})
		return users, err
	})
	return list, more, err
}

// FindUser lists the user with that email, if there is one, to administrators of the organization.
func (d *Directory) FindUser(ctx context.Context, p auth.Principal, email string) ([]User, error) {
	return d.listUsers(ctx, p, "", func(tx *store.Tx, orgUID string) ([]store.User, error) {
		user, err := tx.Users.ByEmail(ctx, orgUID, auth.Canonical(email))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		return []store.User{user}, err
	})
}

func (d *Directory) listUsers(ctx context.Context, p auth.Principal, org string, read func(*store.Tx, string) ([]store.User, error)) ([]User, error) {
	if err := p.May(auth.ReadUsers); err != nil {
		return nil, err
	}
	var list []User
	err := d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx, org)
		if err != nil {
			return err
		}
		users, err := read(tx, orgUID)
		for _, user := range users {
			list = append(list, visibleUser(user))
		}
		return err
	})
	return list, fault.Wrap("list users", err)
}

func visibleUser(u store.User) User {
	return User{UID: u.UID, OrgUID: u.OrgUID, Email: u.Email, Canonical: u.Canonical, UserNames: UserNames{u.Name, u.FirstName, u.LastName},
		Role: auth.Role(u.Role), RoleNamed: u.RoleNamed, CreatedAt: u.CreatedAt,
		LastLoginAt: u.LastLoginAt, Disabled: !u.DisabledAt.IsZero()}
}
