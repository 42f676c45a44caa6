package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/secret"
)

const pathUsers = "/console/users"

type usersPage struct {
	Filter filter
	Users  []directory.User
	Pager  pager
	Empty  empty
}

// listUsers is GET /console/users.
func (s *Console) listUsers(c *call) (err error) {
	page := usersPage{Filter: c.newFilter("Email or name contains", pathUsers), Empty: empty{Text: "No user matches the filter.", Path: pathUsers, Action: "Show all"}}
	page.Users, page.Pager, err = listPage(c, func(after directory.User) ([]directory.User, bool, error) {
		return s.Directory.ListUsers(c.Context(), c.principal, "", after)
	}, func(u directory.User) bool { return page.Filter.matches(u.Email, page.FullName(u), u.Name) })
	if err != nil {
		return err
	}
	return c.show("users.html", "Users", page)
}

// FullName returns the first and last name, or the name where there is neither.
func (usersPage) FullName(u directory.User) string {
	return cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Name)
}

func userFields(u directory.User) []field {
	return []field{
		{Name: "emailId", Label: "Email", Type: "email", Value: u.Email, Required: true},
		{Name: "name", Label: "Name", Value: u.Name, Hint: "Shown if the first and last name are empty."},
		{Name: "firstName", Label: "First name", Value: u.FirstName},
		{Name: "lastName", Label: "Last name", Value: u.LastName},
	}
}

func roleField(role auth.Role) field {
	return field{Name: "role", Label: "Role", Type: "select", Value: string(role), Hint: "Members check definitions and see the registries. Administrators also manage registries, alerts, projects and users.",
		Options: []option{{string(auth.RoleMember), "Member"}, {string(auth.RoleAdmin), "Administrator"}}}
}

func projectsField(projects []directory.Project) field {
	names := make([]string, len(projects))
	for i, p := range projects {
		names[i] = p.Name
	}
	return field{Name: "projects", Label: "Projects", Type: "textarea", Value: strings.Join(names, "\n"), Hint: "Names of existing projects, one on each line. A member sees only these and their alerts."}
}

// sentProjects returns the names of projects that were entered.
func (c *call) sentProjects() (names []string) {
	for line := range strings.Lines(c.PostFormValue("projects")) {
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	return names
}

// namedProjects returns a fault whose problems of single projects are one problem of the field that lists them.
func namedProjects(err error, names []string) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	var problems []fault.Field
	var unknown []string
	for _, p := range fault.Visible(err).Fields {
		var i int
		if n, _ := fmt.Sscanf(p.Field, "projects[%d]", &i); n == 1 && i < len(names) {
			unknown = append(unknown, names[i])
		} else {
			problems = append(problems, p)
		}
	}
	if len(unknown) > 0 {
		problems = append(problems, fault.Field{Field: "projects",
			Problem: "must exist in your organization, unlike " + strings.Join(unknown, ", ")})
	}
	return fault.InvalidFields(problems...)
}

const titleNewUser = "Create a user"

func newUserForm() *form {
	password := field{Name: "password", Label: "Password", Type: "password", Autocomplete: "new-password", Hint: auth.PasswordHint + " Without a password, the user cannot log in until an administrator sets one."}
	return newForm("Create", pathUsers+"/new", append(userFields(directory.User{}), roleField(auth.RoleMember), projectsField(nil), password)...)
}

// newUser is GET /console/users/new.
func (s *Console) newUser(c *call) error {
	if err := c.principal.May(auth.CreateUsers); err != nil {
		return err
	}
	return c.showForm(titleNewUser, newUserForm())
}

// createUser is POST /console/users/new.
func (s *Console) createUser(c *call) error {
	projects, password := c.sentProjects(), secret.String(c.PostFormValue("password"))
	created, err := s.Directory.CreateUser(c.Context(), c.principal, c.origin, directory.NewUser{Email: c.PostFormValue("emailId"), PersonName: c.sentName(),
		Password: password, WithoutPassword: password == "", Role: auth.Role(c.PostFormValue("role")), Projects: projects})
	if err != nil {
		return c.showFormAgain(namedProjects(err, projects), titleNewUser, newUserForm())
	}
	return c.redirect(pathOf(pathUsers, created.UID), "userCreated")
}

func (c *call) sentName() directory.PersonName {
	return directory.PersonName{Name: c.PostFormValue("name"), FirstName: c.PostFormValue("firstName"), LastName: c.PostFormValue("lastName")}
}

// userPage is a user with a form for each part that the API changes separately.
type userPage struct {
	directory.UserWithProjects
	Details, Role, Projects, Password *form
	Self                              bool // the user is the caller, who may not change all of it
}

// Path returns the address of the page, or of an action on its user.
func (p userPage) Path(action ...string) string { return pathOf(pathUsers, p.UID, action...) }

// userPage reads the user of the address.
func (s *Console) userPage(c *call) (*userPage, error) {
	if err := c.principal.May(auth.ChangeUsers); err != nil {
		return nil, err
	}
	user, err := s.Directory.User(c.Context(), c.principal, c.user())
	page := &userPage{UserWithProjects: user, Self: user.UID == c.principal.UserUID}
	page.Details = newForm("Save", page.Path(), userFields(user.User)...)
	page.Role = newForm("Set the role", page.Path("role"), roleField(user.Role))
	page.Projects = newForm("Set the projects", page.Path("projects"), projectsField(user.Projects))
	page.Password = newForm("Set the password", page.Path("password"),
		field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password", Hint: auth.PasswordHint + " All sessions of the user end.", Required: true})
	return page, err
}

// user returns the user of the address.
func (c *call) user() directory.UserRef { return directory.UserRef{User: c.PathValue("uid")} }

// showUser is GET /console/users/{uid}.
func (s *Console) showUser(c *call) error {
	page, err := s.userPage(c)
	if err != nil {
		return err
	}
	return c.show("user.html", page.Email, page)
}

// changeUser returns the handler of a form of the page of a user.
func (s *Console) changeUser(notice string, formOf func(*userPage) *form, change func(*call) error) func(*call) error {
	return func(c *call) error {
		err := change(c)
		if err == nil {
			return c.redirect(pathOf(pathUsers, c.PathValue("uid")), notice)
		}
		page, readErr := s.userPage(c)
		if readErr != nil { // a member, or a user that does not exist: err says so too
			return err
		}
		formOf(page).refused(c, err)
		return c.showAgain(err, "user.html", page.Email, page)
	}
}

// updateUser changes email and names.
func (s *Console) updateUser(c *call) error {
	change := directory.UserChange{Email: c.PostFormValue("emailId"), PersonName: c.sentName()}
	if change.Email == "" { // the API leaves it unchanged
		return fault.InvalidFields(append(fault.FieldProblem("emailId", "is required"), change.Problems()...)...)
	}
	return s.Directory.UpdateUser(c.Context(), c.principal, c.origin, c.user(), change)
}

func (s *Console) setRole(c *call) error {
	return s.Directory.SetRole(c.Context(), c.principal, c.origin, c.user(), auth.Role(c.PostFormValue("role")), true)
}

func (s *Console) setProjects(c *call) error {
	projects := c.sentProjects()
	return namedProjects(s.Directory.SetProjects(c.Context(), c.principal, c.origin, c.user(), projects), projects)
}

func (s *Console) setPassword(c *call) error {
	return s.Directory.SetPassword(c.Context(), c.principal, c.origin, c.user(), secret.String(c.PostFormValue("password")))
}

// disableUser is POST /console/users/{uid}/disable.
func (s *Console) disableUser(c *call) error {
	if err := s.Directory.DisableUser(c.Context(), c.principal, c.origin, c.user()); err != nil {
		return err
	}
	return c.redirect(pathOf(pathUsers, c.PathValue("uid")), "userDisabled")
}

// enableUser is POST /console/users/{uid}/enable.
func (s *Console) enableUser(c *call) error {
	if err := s.Directory.EnableUser(c.Context(), c.principal, c.origin, c.user()); err != nil {
		return err
	}
	return c.redirect(pathOf(pathUsers, c.PathValue("uid")), "userEnabled")
}

// confirmDeleteUser is GET /console/users/{uid}/delete.
func (s *Console) confirmDeleteUser(c *call) error {
	page, err := s.userPage(c)
	if err != nil {
		return err
	}
	text := "Sessions and API keys of the user end at once. Audit records remain. This cannot be undone."
	if page.Self {
		text = "This is your own user: you cannot log in again. " + text
	}
	return c.confirm(confirmation{Question: "Delete the user " + page.Email + "?", Text: text,
		Action: page.Path("delete"), Button: "Delete the user", Cancel: page.Path()})
}

// deleteUser is POST /console/users/{uid}/delete.
func (s *Console) deleteUser(c *call) error {
	if err := s.Directory.DeleteUser(c.Context(), c.principal, c.origin, c.user()); err != nil {
		return err
	}
	if c.PathValue("uid") == c.principal.UserUID {
		c.setCookie(sessionCookie, "", time.Time{})
		return c.redirect(pathLogin, "userDeleted")
	}
	return c.redirect(pathUsers, "userDeleted")
}
