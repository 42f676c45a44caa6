package console

import (
	"cmp"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/secret"
)

const pathUsers = "/console/users"

type usersPage struct {
	people.Known
	Filter               filter
	Users                []directory.User
	Pager                views.Pager
	Empty                views.Empty
	MayCreate, MayInvite bool
	MayRequire, Required bool // a second factor
}

// userHandlers has the pages of users.
type userHandlers struct {
	directory *directory.Directory
	roles     *roles.Roles
	factors   *secondfactor.Service
}

// listUsers is GET /console/users.
func (h userHandlers) listUsers(c *call) (err error) {
	known, err := h.known(c)
	if err != nil {
		return err
	}
	page := usersPage{Known: known, Filter: c.newFilter("Email or name contains", pathUsers),
		MayCreate: c.principal.Can(access.CreateUsers), MayRequire: c.principal.Can(access.ChangeTenant),
		Empty: views.Empty{Text: "No user matches the filter.", Path: pathUsers, Action: "Show all"}}
	page.MayInvite = page.MayCreate && c.principal.Can(access.SetPasswords)
	page.Users, page.Pager, err = listPage(c.URL, func(after directory.User) ([]directory.User, bool, error) {
		return h.directory.ListUsers(c.Context(), c.principal, after)
	}, func(u directory.User) bool { return page.Filter.matches(u.Email, page.FullName(u), u.Name) })
	if err == nil {
		page.Required, err = h.factors.Required(c.Context(), c.principal)
	}
	return c.showRead(err, "users.html", "Users", page)
}

func (h userHandlers) known(c *call) (people.Known, error) {
	return people.ReadKnown(c.Context(), h.roles, c.principal)
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

const roleHint = "What the user may do in the organization. Without a role, it has only what its roles in projects and teams grant."

const titleNewUser = "Create a user"

func newUserForm(known people.Known) *forms.Form {
	password := forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "new-password",
		Hint: auth.PasswordHint + " Without a password, the user cannot log in until an administrator sets one."}
	return forms.New("Create", pathUsers+"/new", append(userFields(directory.User{}), known.Field(auth.RoleMember, roleHint),
		known.ProjectsField(nil, nil), password)...)
}

// newUser is GET /console/users/new.
func (h userHandlers) newUser(c *call) error {
	known, err := h.known(c)
	if err != nil {
		return err
	}
	return c.showForm(titleNewUser, newUserForm(known))
}

// createUser is POST /console/users/new.
func (h userHandlers) createUser(c *call) error {
	known, err := h.known(c)
	if err != nil {
		return err
	}
	projects, password := known.SentProjects(c, nil), secret.String(c.PostFormValue("password"))
	created, err := h.directory.CreateUser(c.Context(), c.principal, c.origin,
		directory.NewUser{Email: c.PostFormValue("emailId"), PersonName: sentName(c),
			Password: password, WithoutPassword: password == "", Role: known.Sent(c), Projects: projects})
	if err != nil {
		return c.showFormAgain(people.ProjectProblems(err, projects), titleNewUser, newUserForm(known))
	}
	return c.redirect(pathOf(pathUsers, created.UID), "userCreated")
}

func sentName(c *call) directory.PersonName {
	return directory.PersonName{Name: c.PostFormValue("name"), FirstName: c.PostFormValue("firstName"),
		LastName: c.PostFormValue("lastName")}
}

// userPage is a user with a form for each part that the API changes separately. A form is nil for a caller who may not use it.
type userPage struct {
	people.Known
	directory.UserWithProjects
	Details, Roles, Projects, Password *forms.Form
	Self                               bool // the user is the caller, who may not change all of it
	MayDisable, MayDelete              bool
}

// Path returns the address of the page, or of an action on its user.
func (p userPage) Path(action ...string) string { return pathOf(pathUsers, p.UID, action...) }

// userPage reads the user of the address.
func (h userHandlers) userPage(c *call) (*userPage, error) {
	user, err := h.directory.User(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return nil, err
	}
	known, err := h.known(c)
	p := c.principal
	page := &userPage{Known: known, UserWithProjects: user, Self: user.UID == p.UserUID, MayDelete: p.Can(access.DeleteUsers)}
	page.MayDisable = !page.Self && p.Can(access.DisableUsers)
	if p.Can(access.ChangeUsers) {
		page.Details = forms.New("Save", page.Path(), userFields(user.User)...)
		page.Projects = forms.New("Set the projects", page.Path("projects"), known.ProjectsField(user.Projects, user.ProjectRoles))
	}
	if p.Can(access.ChangeUsers) && !page.Self {
		page.Roles = forms.New("Set the roles", page.Path("role"), known.Field(user.Role, roleHint))
	}
	if p.Can(access.SetPasswords) && !page.Self {
		page.Password = forms.New("Set the password", page.Path("password"),
			forms.Field{Name: "password", Label: "New password", Type: "password", Autocomplete: "new-password",
				Hint: auth.PasswordHint + " All sessions of the user end.", Required: true})
	}
	return page, err
}

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
		if readErr != nil || formOf(page) == nil { // a member, or a user that does not exist: err says so too
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
	return h.directory.UpdateUser(c.Context(), c.principal, c.origin, c.PathValue("uid"), change)
}

func (h userHandlers) setRole(c *call) error {
	known, err := h.known(c)
	if err != nil {
		return err
	}
	return h.directory.SetRole(c.Context(), c.principal, c.origin, c.PathValue("uid"), known.Sent(c), true)
}

func (h userHandlers) setProjects(c *call) error {
	known, err := h.known(c)
	if err != nil {
		return err
	}
	shown, _ := h.directory.User(c.Context(), c.principal, c.PathValue("uid")) // a caller who may not read it has no form
	projects := known.SentProjects(c, shown.ProjectRoles)
	return people.ProjectProblems(h.directory.SetProjects(c.Context(), c.principal, c.origin, c.PathValue("uid"), projects), projects)
}

func (h userHandlers) setPassword(c *call) error {
	return h.directory.SetPassword(c.Context(), c.principal, c.origin, c.PathValue("uid"), secret.String(c.PostFormValue("password")))
}

// disableUser is POST /console/users/{uid}/disable.
func (h userHandlers) disableUser(c *call) error {
	err := h.directory.DisableUser(c.Context(), c.principal, c.origin, c.PathValue("uid"))
	return c.done(err, pathOf(pathUsers, c.PathValue("uid")), "userDisabled")
}

// enableUser is POST /console/users/{uid}/enable.
func (h userHandlers) enableUser(c *call) error {
	err := h.directory.EnableUser(c.Context(), c.principal, c.origin, c.PathValue("uid"))
	return c.done(err, pathOf(pathUsers, c.PathValue("uid")), "userEnabled")
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
	if err := h.directory.DeleteUser(c.Context(), c.principal, c.origin, c.PathValue("uid")); err != nil {
		return err
	}
	if c.PathValue("uid") == c.principal.UserUID {
		c.setCookie(sessionCookie, "", time.Time{})
		return c.redirect(pathLogin, "userDeleted")
	}
	return c.redirect(pathUsers, "userDeleted")
}
