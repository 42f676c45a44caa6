package directory

import (
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

// NewUser asks for a user.
type NewUser struct {
	Org      string // an operator names the organization; others leave it empty
	Email    string
	Password secret.String
	Role     auth.Role // empty: member
	Projects []string  // uids or names, of which the user becomes a member
}

// CreateUser makes a user and its memberships.
//
// Faults: Invalid with fields emailId, password, role, projects, org; Forbidden; NotFound for an
// operator's organization; Conflict with CodeUserExists; Unavailable when too many passwords are hashed
// at once.
func (d *Directory) CreateUser(ctx context.Context, origin audit.Origin, p auth.Principal, ask NewUser) (User, error) {
	if ask.Role == "" {
		ask.Role = auth.RoleMember
	}
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
	if !p.Can(auth.CreateUsers) {
		return "", nil
	}
	return d.passwords.Hash(ctx, ask.Password)
}

// UserProblems lists what is wrong with a user that is to be made, as far as it shows without the store.
func (d *Directory) UserProblems(p auth.Principal, ask NewUser) []fault.Field {
	problems := problem("emailId", auth.EmailProblem(ask.Email))
	org := ask.Org
	if org == "" {
		org = p.OrgName
	}
	problems = append(problems, d.passwords.Problems("password", ask.Password, ask.Email, org)...)
	return append(problems, problem("role", roleProblem(ask.Role))...)
}

func roleProblem(role auth.Role) string {
	if role != auth.RoleAdmin && role != auth.RoleMember {
		return "is neither admin nor member"
	}
	return ""
}

func newUser(orgUID string, ask NewUser, hash string, now time.Time) store.User {
	return store.User{UID: uuid.NewString(), OrgUID: orgUID, Email: strings.TrimSpace(ask.Email), Canonical: auth.Canonical(ask.Email),
		Role: string(ask.Role), PasswordHash: hash, PasswordChangedAt: now, CreatedAt: now}
}

// insertUser adds a user and makes it a member of projects.
func insertUser(ctx context.Context, tx *store.Tx, user store.User, projects []string) error {
	if err := tx.InsertUser(ctx, user); err != nil {
		return existsAs(err, CodeUserExists, "There is a user of that e-mail in the organization.")
	}
	return insertMember(ctx, tx, user, projects)
}

// insertMember makes a user a member of projects. All projects that are not there are told at once.
func insertMember(ctx context.Context, tx *store.Tx, user store.User, projects []string) error {
	if len(projects) == 0 {
		return nil
	}
	existing, err := tx.Projects(ctx, user.OrgUID)
	if err != nil {
		return err
	}
	var problems []fault.Field
	uids := make([]string, len(projects))
	for i, wanted := range projects {
		if uids[i] = findProject(existing, wanted); uids[i] == "" {
			problems = append(problems, fault.Field{Field: fmt.Sprintf("projects[%d]", i), Problem: "does not exist in your organization"})
		}
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	slices.Sort(uids) // each is locked: of two such transactions neither may wait for the other
	for _, uid := range uids {
		err := tx.InsertMember(ctx, user.OrgUID, uid, user.UID)
		if errors.Is(err, store.ErrNotFound) {
			return fault.InvalidFields(fault.Field{Field: "projects", Problem: "must not contain a project that is being deleted"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findProject returns the uid of the project with that uid, or else that name, "" for none.
func findProject(projects []store.Project, wanted string) string {
	byName := ""
	for _, project := range projects {
		if project.UID == wanted {
			return project.UID
		}
		if project.Canonical == auth.Canonical(wanted) {
			byName = project.UID
		}
	}
	return byName
}

// ListUsers lists the organization's users to its administrators. Org is for operators; others leave it empty.
func (d *Directory) ListUsers(ctx context.Context, p auth.Principal, org string) ([]User, error) {
	if err := p.May(auth.ReadUsers); err != nil {
		return nil, err
	}
	var list []User
	err := d.db.View(ctx, func(tx *store.Tx) error {
		in, err := p.Org(ctx, tx, org)
		if err != nil {
			return err
		}
		users, err := tx.Users(ctx, in.UID)
		for _, user := range users {
			list = append(list, visibleUser(user))
		}
		return err
	})
	return list, asRead("list users", err)
}

func visibleUser(u store.User) User {
	return User{UID: u.UID, OrgUID: u.OrgUID, Email: u.Email, Role: auth.Role(u.Role), CreatedAt: u.CreatedAt,
		LastLoginAt: u.LastLoginAt, Disabled: !u.DisabledAt.IsZero()}
}
