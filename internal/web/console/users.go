package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/secret"
)

const pathUsers = "/console/users"

type usersPage struct {
	Filter               filter
	Users                []directory.User
	Pager                views.Pager
	Empty                views.Empty
	MayCreate, MayChange bool
}

// userHandlers has the pages of users.
type userHandlers struct{ directory *directory.Directory }

// listUsers is GET /console/users.
func (h userHandlers) listUsers(c *call) (err error) {
	page := usersPage{Filter: c.newFilter("Email or name contains", pathUsers),
		MayCreate: c.principal.Can(access.CreateUsers), MayChange: c.principal.Can(access.ChangeUsers),
		Empty: views.Empty{Text: "No user matches the filter.", Path: pathUsers, Action: "Show all"}}
	page.Users, page.Pager, err = listPage(c, func(after directory.User) ([]directory.User, bool, error) {
		return h.directory.ListUsers(c.Context(), c.principal, "", after)
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

func userFields(u directory.User) []forms.Field {
	return []forms.Field{
		{Name: "emailId", Label: "Email", Type: "email", Value: u.Email, Required: true},
		{Name: "name", Label: "Name", Value: u.Name, Hint: "Shown if the first and last name are empty."},
		{Name: "firstName", Label: "First name", Value: u.FirstName},
		{Name: "lastName", Label: "Last name", Value: u.LastName},
	}
}

func roleField(role auth.Role) forms.Field {
	var options []forms.Option
	var explained []string
	none := access.Definition{Role: access.None, Description: "Only what roles in projects grant."}
	for _, d := range append(slices.Clone(access.BuiltIn), none) {
		options = append(options, forms.Options(string(d.Role), string(d.Role))...)
		explained = append(explained, string(d.Role)+": "+d.Description)
	}
	if !slices.Contains(access.Assignable(), role) { // several, which only the API and the command line give
		options = append(options, forms.Options(string(role), strings.ReplaceAll(string(role), " ", ", "))...)
	}
	return forms.Field{Name: "role", Label: "Role", Type: "select", Value: string(role),
		Hint: strings.Join(explained, " "), Options: options}
}

func projectsField(projects []directory.Project, roles map[string]auth.Role) forms.Field {
	names := make([]string, len(projects))
	for i, p := range projects {
		names[i] = p.Name
		if role := roles[p.UID]; role != auth.RoleMember {
			names[i] += ": " + string(role)
		}
	}
	return forms.Field{Name: "projects", Label: "Projects", Type: "textarea", Value: strings.Join(names, "\n"),
		Hint: "Names of existing projects, one on each line, with the role in it after a colon, as in Staging: viewer. " +
			"Roles in projects: " + access.Choices(access.InProjects()) + ". A member sees only these projects and their alerts."}
}

// sentProjects returns the projects that were entered, with the roles in them.
func sentProjects(c *call) (projects []directory.ProjectRole) {
	for line := range strings.Lines(c.PostFormValue("projects")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sent := directory.ProjectRole{Project: line}
		if at := strings.LastIndex(line, ":"); at > 0 {
			role := access.Of(strings.Fields(line[at+1:])...)
			if access.Problem(role, access.InProjects()) == "" { // else the colon is part of the name
				sent = directory.ProjectRole{Project: strings.TrimSpace(line[:at]), Role: role}
			}
		}
		projects = append(projects, sent)
	}
	return projects
}

// namedProjects returns a fault whose problems of single projects are one problem of the field that lists them.
func namedProjects(err error, projects []directory.ProjectRole) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	var problems []fault.Field
	var unknown []string
	for _, p := range fault.Visible(err).Fields {
		var i int
		if n, _ := fmt.Sscanf(p.Field, "projects[%d]", &i); n == 1 && i < len(projects) {
			unknown = append(unknown, projects[i].Project)
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

func newUserForm() *forms.Form {
	password := forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "new-password",
		Hint: auth.PasswordHint + " Without a password, the user cannot log in until an administrator sets one."}
	return forms.New("Create", pathUsers+"/new", append(userFields(directory.User{}), roleField(auth.RoleMember), projectsField(nil, nil),
		password)...)
}

// newUser is GET /console/users/new.
func (h userHandlers) newUser(c *call) error {
	return c.showForm(titleNewUser, newUserForm())
}

// createUser is POST /console/users/new.
func (h userHandlers) createUser(c *call) error {
	projects, password := sentProjects(c), secret.String(c.PostFormValue("password"))
	created, err := h.directory.CreateUser(c.Context(), c.principal, c.origin,
		directory.NewUser{Email: c.PostFormValue("emailId"), PersonName: sentName(c),
			Password: password, WithoutPassword: password == "", Role: auth.Role(c.PostFormValue("role")), Projects: projects})
	if err != nil {
		return c.showFormAgain(namedProjects(err, projects), titleNewUser, newUserForm())
	}
	return c.redirect(pathOf(pathUsers, created.UID), "userCreated")
}

func sentName(c *call) directory.PersonName {
	return directory.PersonName{Name: c.PostFormValue("name"), FirstName: c.PostFormValue("firstName"),
		LastName: c.PostFormValue("lastName")}
}

// userPage is a user with a form for each part that the API changes separately.
type userPage struct {
	directory.UserWithProjects
	Details, Role, Projects, Password *forms.Form
	Self                              bool // the user is the caller, who may not change all of it
}

// Path returns the address of the page, or of an action on its user.
func (p userPage) Path(action ...string) string { return pathOf(pathUsers, p.UID, action...) }

// userPage reads the user of the address.
func (h userHandlers) userPage(c *call) (*userPage, error) {
	if err := c.principal.May(access.ChangeUsers); err != nil {
		return nil, err
	}
	user, err := h.directory.User(c.Context(), c.principal, userOf(c))
	page := &userPage{UserWithProjects: user, Self: user.UID == c.principal.UserUID}
	page.Details = forms.New("Save", page.Path(), userFields(user.User)...)
	page.Role = forms.New("Set the role", page.Path("role"), roleField(user.Role))
	page.Projects = forms.New("Set the projects", page.Path("projects"), projectsField(user.Projects, user.ProjectRoles))
	page.Password = forms.New("Set the password", page.Path("password"),
		forms.Field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
			Hint: auth.PasswordHint + " All sessions of the user end.", Required: true})
	return page, err
}

// userOf returns the user of the address.
func userOf(c *call) directory.UserRef { return directory.UserRef{User: c.PathValue("uid")} }

// showUser is GET /console/users/{uid}.
func (h userHandlers) showUser(c *call) error {
	page, err := h.userPage(c)
	if err != nil {
		return err
	}
	return c.show("user.html", page.Email, page)
}

// changeUser returns the handler of a form of the page of a user.
func (h userHandlers) changeUser(notice string, formOf func(*userPage) *forms.Form, change func(*call) error) func(*call) error {
	return func(c *call) error {
		err := change(c)
		if err == nil {
			return c.redirect(pathOf(pathUsers, c.PathValue("uid")), notice)
		}
		page, readErr := h.userPage(c)
		if readErr != nil { // a member, or a user that does not exist: err says so too
			return err
		}
		formOf(page).Refuse(c, err)
		return c.showAgain(err, "user.html", page.Email, page)
	}
}

// updateUser changes email and names.
func (h userHandlers) updateUser(c *call) error {
	change := directory.UserChange{Email: c.PostFormValue("emailId"), PersonName: sentName(c)}
	if change.Email == "" { // the API leaves it unchanged
		return fault.InvalidFields(append(fault.FieldProblem("emailId", "is required"), change.Problems()...)...)
	}
	return h.directory.UpdateUser(c.Context(), c.principal, c.origin, userOf(c), change)
}

func (h userHandlers) setRole(c *call) error {
	return h.directory.SetRole(c.Context(), c.principal, c.origin, userOf(c), auth.Role(c.PostFormValue("role")), true)
}

func (h userHandlers) setProjects(c *call) error {
	projects := sentProjects(c)
	return namedProjects(h.directory.SetProjects(c.Context(), c.principal, c.origin, userOf(c), projects), projects)
}

func (h userHandlers) setPassword(c *call) error {
	return h.directory.SetPassword(c.Context(), c.principal, c.origin, userOf(c), secret.String(c.PostFormValue("password")))
}

// disableUser is POST /console/users/{uid}/disable.
func (h userHandlers) disableUser(c *call) error {
	if err := h.directory.DisableUser(c.Context(), c.principal, c.origin, userOf(c)); err != nil {
		return err
	}
	return c.redirect(pathOf(pathUsers, c.PathValue("uid")), "userDisabled")
}

// enableUser is POST /console/users/{uid}/enable.
func (h userHandlers) enableUser(c *call) error {
	if err := h.directory.EnableUser(c.Context(), c.principal, c.origin, userOf(c)); err != nil {
		return err
	}
	return c.redirect(pathOf(pathUsers, c.PathValue("uid")), "userEnabled")
}

// confirmDeleteUser is GET /console/users/{uid}/delete.
func (h userHandlers) confirmDeleteUser(c *call) error {
	page, err := h.userPage(c)
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
func (h userHandlers) deleteUser(c *call) error {
	if err := h.directory.DeleteUser(c.Context(), c.principal, c.origin, userOf(c)); err != nil {
		return err
	}
	if c.PathValue("uid") == c.principal.UserUID {
		c.setCookie(sessionCookie, "", time.Time{})
		return c.redirect(pathLogin, "userDeleted")
	}
	return c.redirect(pathUsers, "userDeleted")
}
