package access

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/secret"
)

// roleNames are the roles of the flag --role, and projectRoles those in a project.
const (
	roleNames    = "admin, member, viewer, registry-editor, auditor or none"
	projectRoles = "admin, member, viewer or registry-editor"
)

// users has the commands for users.
type users struct{ Commands }

// User returns the commands for users.
func (p Commands) User() *cobra.Command {
	u := users{p}
	return command.Group("user", "Manage users",
		u.createUser(), u.inviteUser(), u.listUsers(), u.showUser(), u.renameUser(), u.setPassword(), u.setRole(), u.setProjects(),
		u.changeUser("disable", "Disable a user's login, sessions and API keys", "Disabled the user %s.",
			func(c *manage.Call, user string) error {
				return c.Client.Users.SetActive(c.Ctx, user, false)
			}),
		u.changeUser("enable", "Enable a disabled user", "Enabled the user %s.", func(c *manage.Call, user string) error {
			return c.Client.Users.SetActive(c.Ctx, user, true)
		}),
		u.changeUser("reset-mfa", "Remove the second factor of a user who has lost it",
			"Removed the second factor of the user %s. The password and sessions stay.", func(c *manage.Call, user string) error {
				return c.Client.MFA.Reset(c.Ctx, user)
			}),
		u.userCommand("delete", "Delete a user with its sessions and API keys", deleteUser, manage.Deletes))
}

func deleteUser(c *manage.Call, user string) error {
	if err := c.Confirm("Delete the user %s with its sessions and API keys?", user); err != nil {
		return err
	}
	err := c.Client.Users.Delete(c.Ctx, user)
	return c.Changed(err, "Deleted the user %s.", user)
}

// emailArg requires a user, as an argument or by --email.
func emailArg(cmd *cobra.Command, args []string) error {
	err := command.AtMostOneArg(cmd, args)
	if err == nil {
		_, err = command.ArgOrEmail(cmd, args)
	}
	return err
}

// userCommand returns a command for the user that its argument or --email names.
func (u users) userCommand(name, short string, do func(*manage.Call, string) error, options ...manage.Option) *cobra.Command {
	email := ""
	cmd := u.Command(name+" EMAIL", short, emailArg, func(c *manage.Call, args []string) error {
		user, err := command.ArgOrEmail(c.Cmd, args)
		if err != nil {
			return err
		}
		return do(c, user)
	}, options...)
	cmd.Flags().StringVar(&email, "email", "", "the same as EMAIL, which may also be a uid")
	u.CompleteEmail(cmd, "email")
	cmd.ValidArgsFunction = u.CompleteNames(manage.UserEmails)
	return cmd
}

// changeUser returns a command that changes a user and prints what was done to it.
func (u users) changeUser(name, short, done string, do func(*manage.Call, string) error) *cobra.Command {
	return u.userCommand(name, short, func(c *manage.Call, user string) error {
		err := do(c, user)
		return c.Changed(err, done, user)
	}, manage.Changes)
}

func (u users) createUser() *cobra.Command {
	var user api.NewUser
	fromStdin := false
	cmd := u.Command("create EMAIL", "Create a user; print its uid", emailArg, func(c *manage.Call, args []string) (err error) {
		if user.Spec.EmailID, err = command.ArgOrEmail(c.Cmd, args); err != nil { // before a prompt
			return err
		}
		if err := command.NotEmpty(c.Cmd, "role"); err != nil {
			return err
		}
		if user.Spec.Password, err = newPassword(c.Cmd, u.PasswordRules, fromStdin); err != nil {
			return err
		}
		user.Spec.Roles = roleUIDs(c, user.Spec.Roles)
		uid, err := c.Client.Users.Create(c.Ctx, user)
		return c.Created(err, uid, "Created the user %s.", user.Spec.EmailID)
	}, manage.Changes)
	cmd.Flags().StringVar(&user.Spec.EmailID, "email", "", "the same as EMAIL")
	nameFlags(cmd, &user.Metadata.Name, &user.Spec.FirstName, &user.Spec.LastName)
	cmd.Flags().StringSliceVar(&user.Spec.Roles, "role", []string{"member"}, "role of the user: "+roleNames+"; may be repeated")
	passwordFlag(cmd, &fromStdin)
	projectFlag(cmd, &user.Spec.Projects)
	return cmd
}

func (u users) inviteUser() *cobra.Command {
	var user api.NewUser
	cmd := u.userCommand("invite", "Make a link by which a user sets its password",
		func(c *manage.Call, email string) (err error) {
			if err := command.NotEmpty(c.Cmd, "role"); err != nil {
				return err
			}
			made, err := c.Client.Users.Invite(c.Ctx, email)
			if missing, is := errors.AsType[*api.Error](err); is && missing.Status == http.StatusNotFound && strings.Contains(email, "@") {
				user.Spec.EmailID = email
				user.Spec.Roles = roleUIDs(c, user.Spec.Roles)
				if _, err = c.Client.Users.Create(c.Ctx, user); err != nil {
					return err
				}
				made, err = c.Client.Users.Invite(c.Ctx, email)
			}
			if err != nil {
				return err
			}
			return showInvitation(c, email, made)
		}, manage.Changes)
	cmd.Flags().StringSliceVar(&user.Spec.Roles, "role", []string{"member"}, "role of a new user: "+roleNames+"; may be repeated")
	projectFlag(cmd, &user.Spec.Projects)
	return cmd
}

// showInvitation prints the link, also with --quiet: it is not shown again.
func showInvitation(c *manage.Call, email string, made *api.Invitation) error {
	link := made.Link
	switch {
	case made.Emailed:
		c.Note("Sent this link to %s. It sets the password once, within 3 days.", email)
	case link == "":
		link = "/console/invitation/" + made.Token
		c.Note("Give %s the address of your server with this path. It sets the password once, within 3 days.", email)
	default:
		c.Note("Give this link to %s. It sets the password once, within 3 days. It was not sent by email: %s.", email, made.EmailProblem)
	}
	_, err := fmt.Fprintln(c.Cmd.OutOrStdout(), output.Shown(link))
	return err
}

func nameFlags(cmd *cobra.Command, full, first, last *string) {
	cmd.Flags().StringVar(full, "name", "", "full name of the user")
	cmd.Flags().StringVar(first, "first-name", "", "first name of the user")
	cmd.Flags().StringVar(last, "last-name", "", "last name of the user")
}

func passwordFlag(cmd *cobra.Command, fromStdin *bool) {
	cmd.Flags().BoolVar(fromStdin, "password-stdin", false,
		"read the password from standard input, without one trailing newline (default: prompt on a terminal)")
}

func projectFlag(cmd *cobra.Command, projects *[]string) {
	cmd.Flags().StringSliceVar(projects, "project", nil, "name of a project that a member may see; may be repeated")
}

func (u users) listUsers() *cobra.Command {
	return u.Command("list", "List users", command.NoArgs, func(c *manage.Call, _ []string) error {
		users, err := client.Collect(c.Client.Users.List(c.Ctx))
		rows, named := make([][]any, len(users)), roleNamer(c)
		for i, u := range users {
			rows[i] = []any{u.Spec.EmailID, roleOf(named(u.Spec.Roles)), userState(u), u.Metadata.CreationTimestamp, u.Status.LastSignIn,
				u.Metadata.UID}
		}
		return c.List(err, output.Columns("email", "role", "state", "created", "lastLogin", "uid+"), rows)
	}, manage.Lists)
}

// roleOf returns the roles of a user in its organization.
func roleOf(roles []string) string { return cmp.Or(strings.Join(roles, ", "), "none") }

func userState(u api.User) string {
	if u.Status.IsActive {
		return "active"
	}
	return "disabled"
}

func (u users) showUser() *cobra.Command {
	return u.userCommand("show", "Show a user with its projects and teams", func(c *manage.Call, user string) error {
		u, err := c.Client.Users.Get(c.Ctx, user)
		if err != nil {
			return err
		}
		memberships, err := c.Client.Users.Projects(c.Ctx, u.Metadata.UID)
		if err != nil {
			return err
		}
		projects, named := make([]string, len(memberships)), roleNamer(c)
		for i, project := range memberships {
			projects[i] = project.Name
			for _, role := range named(uidsOf(project.Roles)) {
				if role != "member" {
					projects[i] += ":" + role
				}
			}
		}
		teams := make([]string, len(u.Spec.Teams))
		for i, team := range u.Spec.Teams {
			teams[i] = team.Name
		}
		return c.Output.Record(output.Columns("email", "fullName", "firstName", "lastName", "role", "state", "projects", "teams", "created",
			"lastLogin", "uid"), []any{u.Spec.EmailID, fullName(u), u.Spec.FirstName, u.Spec.LastName, roleOf(named(u.Spec.Roles)),
			userState(*u), projects, teams, u.Metadata.CreationTimestamp, u.Status.LastSignIn, u.Metadata.UID})
	}, manage.Lists)
}

// fullName returns the stored name of a user. The API shows the email in place of an empty one.
func fullName(u *api.User) string {
	if u.Metadata.Name == u.Spec.EmailID {
		return ""
	}
	return u.Metadata.Name
}

func (u users) renameUser() *cobra.Command {
	var to api.UserUpdate
	cmd := u.changeUser("rename", "Change the email or the names of a user", "Renamed the user %s.",
		func(c *manage.Call, user string) error {
			given := c.Cmd.Flags().Changed
			if !slices.ContainsFunc([]string{"new-email", "name", "first-name", "last-name"}, given) {
				return command.Usage(c.Cmd, errors.New("give what changes, with --new-email, --name, --first-name or --last-name"))
			}
			u, err := c.Client.Users.Get(c.Ctx, user)
			if err != nil {
				return err
			}
			unlessGiven := func(flag string, value *string, stored string) {
				if !given(flag) {
					*value = stored
				}
			}
			unlessGiven("name", &to.Metadata.Name, fullName(u))
			unlessGiven("first-name", &to.Spec.FirstName, u.Spec.FirstName)
			unlessGiven("last-name", &to.Spec.LastName, u.Spec.LastName)
			return c.Client.Users.Update(c.Ctx, u.Metadata.UID, to)
		})
	cmd.Flags().StringVar(&to.Spec.EmailID, "new-email", "", "new email of the user")
	nameFlags(cmd, &to.Metadata.Name, &to.Spec.FirstName, &to.Spec.LastName)
	return cmd
}

func (u users) setPassword() *cobra.Command {
	fromStdin := false
	cmd := u.changeUser("password", "Set the password of a user; end the user's sessions",
		"Set the password of the user %s, and ended the user's sessions.", func(c *manage.Call, user string) error {
			password, err := newPassword(c.Cmd, u.PasswordRules, fromStdin)
			if err != nil {
				return err
			}
			return c.Client.Users.SetPassword(c.Ctx, user, password)
		})
	passwordFlag(cmd, &fromStdin)
	return cmd
}

// newPassword prompts for a password on a terminal, or reads it from standard input.
func newPassword(cmd *cobra.Command, rules string, fromStdin bool) (secret.String, error) {
	stdin := cmd.InOrStdin()
	switch {
	case command.IsTerminal(stdin):
		return command.PromptPassword(stdin, "Password: ", rules)
	case fromStdin:
		return command.ReadSecretLine(stdin)
	}
	return "", command.AsUsage(errors.New("give the password on standard input, with --password-stdin"))
}

func (u users) setRole() *cobra.Command {
	var roles []string
	cmd := u.userCommand("role", "Set the role of a user", func(c *manage.Call, user string) error {
		if len(roles) == 0 { // the API takes it for member
			return command.Usage(c.Cmd, errors.New("--role must be "+roleNames))
		}
		err := c.Client.Users.SetRole(c.Ctx, user, roleUIDs(c, roles)...)
		return c.Changed(err, "Set the role of the user %s to %s.", user, strings.Join(roles, ", "))
	}, manage.Changes)
	cmd.Use += " --role R"
	cmd.Flags().StringSliceVar(&roles, "role", nil, "role of the user: "+roleNames+"; may be repeated")
	return cmd
}

func (u users) setProjects() *cobra.Command {
	var projects []string
	clearAll := false
	cmd := u.userCommand("projects", "Set the projects of a user", func(c *manage.Call, user string) error {
		if clearAll == (len(projects) > 0) {
			return command.AsUsage(errors.New("give the projects with --project, or remove all memberships with --clear"))
		}
		err := c.Client.Users.SetProjectRoles(c.Ctx, user, withRoles(c, projects)...)
		return c.Changed(err, "Set the projects of the user %s to: %s.", user, cmp.Or(strings.Join(projects, ", "), "none"))
	}, manage.Changes)
	cmd.Use += " --project P"
	cmd.Flags().StringSliceVar(&projects, "project", nil,
		"name of a project of the user, or NAME:ROLE with "+projectRoles+", or a role of the organization; may be repeated")
	cmd.Flags().BoolVar(&clearAll, "clear", false, "remove all memberships")
	return cmd
}
