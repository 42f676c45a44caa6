package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/secret"
)

// userFlags are the flags of the commands for users.
type userFlags struct {
	org, email    string
	role, newRole string // of create, and of role: their defaults differ
	projects      []string
	clear         bool
	fromStdin     bool
}

func newUser() *cobra.Command {
	var f userFlags
	create, list := f.create(), f.list()
	password, role, projects := f.password(), f.setRole(), f.setProjects()
	disable := adminCommand("disable --org ORG --email E", "Disable a user's login, sessions and API keys", command.NoArgs, false, func(a *admin, _ []string) error {
		return a.directory.DisableUser(a.ctx, a.operator, a.origin, f.ref())
	})
	enable := adminCommand("enable --org ORG --email E", "Enable a disabled user", command.NoArgs, false, func(a *admin, _ []string) error {
		return a.directory.EnableUser(a.ctx, a.operator, a.origin, f.ref())
	})
	orgFlag(&f.org, create, list, password, disable, enable, role, projects)
	for _, cmd := range []*cobra.Command{create, password, disable, enable, role, projects} {
		cmd.Flags().StringVar(&f.email, "email", "", "email of the user")
	}
	for _, cmd := range []*cobra.Command{create, password} {
		cmd.Flags().BoolVar(&f.fromStdin, "password-stdin", false, "read the password from standard input, without one trailing newline (default: prompt on a terminal)")
	}
	for _, cmd := range []*cobra.Command{create, projects} {
		cmd.Flags().StringSliceVar(&f.projects, "project", nil, "name of a project that a member may see; may be repeated")
	}
	projects.Flags().BoolVar(&f.clear, "clear", false, "remove all memberships")
	create.Flags().StringVar(&f.role, "role", string(auth.RoleMember), "role of the user: admin or member")
	role.Flags().StringVar(&f.newRole, "role", "", "role of the user: admin or member")
	return command.Group("user", "Manage users", create, list, password, disable, enable, role, projects)
}

func (f *userFlags) ref() directory.UserRef { return directory.UserRef{Org: f.org, User: f.email} }

func (f *userFlags) create() *cobra.Command {
	return adminCommand("create --org ORG --email E", "Create a user; print its uid", command.NoArgs, false, func(a *admin, _ []string) error {
		password, err := newPassword(a.cmd, f.fromStdin)
		if err != nil {
			return err
		}
		user, err := a.directory.CreateUser(a.ctx, a.operator, a.origin, directory.NewUser{
			Org: f.org, Email: f.email, Password: password, Role: auth.Role(f.role), Projects: f.projects,
		})
		return a.print(user.UID, err)
	})
}

func (f *userFlags) list() *cobra.Command {
	return adminCommand("list --org ORG", "List the users of an organization", command.NoArgs, true, func(a *admin, _ []string) error {
		users, err := allPages(func(after directory.User) ([]directory.User, bool, error) {
			return a.directory.ListUsers(a.ctx, a.operator, f.org, after)
		})
		if err != nil {
			return err
		}
		rows := make([][]any, len(users))
		for i, u := range users {
			state := "active"
			if u.Disabled {
				state = "disabled"
			}
			rows[i] = []any{u.UID, u.Email, string(u.Role), state, u.CreatedAt}
		}
		return a.table([]string{"uid", "email", "role", "state", "created"}, rows)
	})
}

func (f *userFlags) password() *cobra.Command {
	return adminCommand("password --org ORG --email E", "Set the password of a user; end the user's sessions", command.NoArgs, false, func(a *admin, _ []string) error {
		password, err := newPassword(a.cmd, f.fromStdin)
		if err != nil {
			return err
		}
		return a.directory.SetPassword(a.ctx, a.operator, a.origin, f.ref(), password)
	})
}

func (f *userFlags) setRole() *cobra.Command {
	return adminCommand("role --org ORG --email E --role R", "Set the role of a user", command.NoArgs, false, func(a *admin, _ []string) error {
		return a.directory.SetRole(a.ctx, a.operator, a.origin, f.ref(), auth.Role(f.newRole), true)
	})
}

func (f *userFlags) setProjects() *cobra.Command {
	return adminCommand("projects --org ORG --email E --project P", "Set the projects of a user", command.NoArgs, false, func(a *admin, _ []string) error {
		if f.clear == (len(f.projects) > 0) {
			return command.AsUsage(errors.New("give the projects with --project, or remove all memberships with --clear"))
		}
		return a.directory.SetProjects(a.ctx, a.operator, a.origin, f.ref(), f.projects)
	})
}

// newPassword prompts for a password on a terminal, or reads it from standard input.
func newPassword(cmd *cobra.Command, fromStdin bool) (secret.String, error) {
	stdin := cmd.InOrStdin()
	switch {
	case command.IsTerminal(stdin):
		return command.PromptPassword(stdin.(*os.File))
	case fromStdin:
		return command.ReadSecretLine(stdin)
	}
	return "", command.AsUsage(errors.New("give the password on standard input, with --password-stdin"))
}
