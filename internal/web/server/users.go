package server

import (
	"cmp"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
)

var userFields = fieldNames{"emailId": "spec.emailId", "name": "metadata.name", "firstName": "spec.firstName", "lastName": "spec.lastName",
	"password": "spec.password", "role": "spec.roles", "projects": "spec.projects", "teams": "spec.teams"}

// userHandlers handles the routes of users.
type userHandlers struct {
	directory *directory.Directory
	auth      *auth.Service
	roles     *roles.Roles
}

// userInfo is GET /v1/users/info, about the caller.
func (h userHandlers) userInfo(c *call) (response, error) {
	p := c.principal
	return response{http.StatusOK, api.UserInfo{OrgName: p.OrgName, TenantUID: p.OrgUID, UserUID: p.UserUID, Email: p.Email,
		Role: string(p.Role.Direct())}}, nil
}

// listUsers is GET /v1/users. All users are on one page.
func (h userHandlers) listUsers(c *call) (response, error) {
	count := 0
	return response{http.StatusOK, items[directory.User]{
		read: h.userPages(c),
		show: func(u directory.User) any {
			count++
			return user(u)
		},
		tail: func() any {
			return listTail{ListMeta: api.ListMeta{Count: int64(count), Limit: count, Offset: count}}
		},
	}}, nil
}

// listTail has the members after the items of a list.
type listTail struct {
	ListMeta api.ListMeta    `json:"listmeta"`
	Status   *api.SyncStatus `json:"status,omitempty"`
}

func (h userHandlers) userPages(c *call) func(directory.User) ([]directory.User, bool, error) {
	return func(after directory.User) ([]directory.User, bool, error) {
		return h.directory.ListUsers(c.Context(), c.principal, after)
	}
}

// getUser is GET /v1/users/{uid}.
func (h userHandlers) getUser(c *call) (response, error) {
	found, err := h.userOfPath(c)
	body := user(found.User)
	body.Spec.Projects = make([]api.Ref, len(found.Projects))
	for i, p := range found.Projects {
		body.Spec.Projects[i] = api.Ref{UID: p.UID, Name: p.Name}
	}
	body.Spec.Teams = teamRefs(found.User)
	return response{http.StatusOK, body}, err
}

// userOfPath returns the user that the path names; "me" is the caller.
func (h userHandlers) userOfPath(c *call) (directory.UserWithProjects, error) {
	named := c.PathValue("uid")
	if named == "me" {
		named = c.principal.UserUID
	}
	return h.directory.User(c.Context(), c.principal, named)
}

func user(u directory.User) api.User {
	return api.User{
		Metadata: userMetadata(u),
		Spec:     api.UserSpec{EmailID: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: namesOfRoles(u.Role)},
		Status:   userStatus(u),
	}
}

func teamRefs(u directory.User) []api.Ref {
	refs := make([]api.Ref, len(u.Teams))
	for i, team := range u.Teams {
		refs[i] = api.Ref{UID: team.UID, Name: team.Name}
	}
	return refs
}

func userMetadata(u directory.User) api.Metadata {
	return api.Metadata{UID: u.UID, Name: cmp.Or(u.Name, u.Email), CreationTimestamp: u.CreatedAt}
}

func userStatus(u directory.User) api.UserStatus {
	return api.UserStatus{IsActive: !u.Disabled, LastSignIn: u.LastLoginAt}
}

// createUser is POST /v1/users. Public clients send no password.
func (h userHandlers) createUser(c *call) (response, error) {
	var body api.NewUser
	var input directory.NewUser
	err := c.read(&body, func() []fault.Field {
		input = directory.NewUser{
			Email: body.Spec.EmailID, Password: body.Spec.Password, WithoutPassword: body.Spec.Password == "",
			Role:       access.Of(body.Spec.Roles...),
			Projects:   directory.Members(body.Spec.Projects),
			Teams:      body.Spec.Teams,
			PersonName: directory.PersonName{Name: body.Metadata.Name, FirstName: body.Spec.FirstName, LastName: body.Spec.LastName},
		}
		return userFields.In(h.directory.UserProblems(c.principal, input))
	})
	if err != nil {
		return response{}, err
	}
	created, err := h.directory.CreateUser(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.Created{UID: created.UID}}, userFields.Err(err)
}

// updateUser is PUT /v1/users/{uid}. Roles and projects have separate paths.
func (h userHandlers) updateUser(c *call) (response, error) {
	var body api.UserUpdate
	var change directory.UserChange
	err := c.read(&body, func() []fault.Field {
		change = directory.UserChange{Email: body.Spec.EmailID,
			PersonName: directory.PersonName{Name: body.Metadata.Name, FirstName: body.Spec.FirstName, LastName: body.Spec.LastName}}
		return userFields.In(change.Problems())
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.UpdateUser(c.Context(), c.principal, c.origin, c.PathValue("uid"), change)
}

// deleteUser is DELETE /v1/users/{uid}.
func (h userHandlers) deleteUser(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.directory.DeleteUser(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// setUserPassword is PUT /v1/users/{uid}/password.
func (h userHandlers) setUserPassword(c *call) (response, error) {
	var body api.NewPassword
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.SetPassword(c.Context(), c.principal, c.origin, c.PathValue("uid"),
		body.Password)
}

// setUserState is PUT /v1/users/{uid}/state.
func (h userHandlers) setUserState(c *call) (response, error) {
	var body api.UserState
	err := c.read(&body, func() []fault.Field {
		if body.IsActive == nil {
			return fault.FieldProblem("isActive", "is required")
		}
		return nil
	})
	if err != nil {
		return response{}, err
	}
	change := h.directory.DisableUser
	if *body.IsActive {
		change = h.directory.EnableUser
	}
	return response{status: http.StatusNoContent}, change(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// changePassword is PATCH /v1/users/me/password.
func (h userHandlers) changePassword(c *call) (response, error) {
	var body api.PasswordChange
	err := c.read(&body, func() []fault.Field {
		return h.auth.Logins.PasswordProblems(c.principal, body.CurrentPassword, body.NewPassword)
	})
	if err != nil {
		return response{}, err
	}
	err = h.auth.Logins.ChangePassword(c.Context(), c.principal, c.origin, body.CurrentPassword, body.NewPassword)
	return response{status: http.StatusNoContent}, err
}

// summarizeUsers is POST /v1/users/summary. Terraform uses it at each refresh to look up a user by email.
func (h userHandlers) summarizeUsers(c *call) (response, error) {
	var body api.UserSummaryRequest
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	names, err := h.roles.Names(c.Context(), c.principal.OrgUID)
	if err != nil {
		return response{}, err
	}
	return listOf(h.candidates(c, body.Filter), func(u directory.User) any {
		metadata := userMetadata(u)
		if !body.Filter.EmailID.Matches(u.Email) || !body.Filter.Name.Matches(metadata.Name) {
			return nil
		}
		return api.UserSummary{Metadata: metadata, Status: userStatus(u),
			Spec: api.UserSummarySpec{EmailID: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: tenantRoles(u, names),
				Teams: teamRefs(u)}}
	})
}

// candidates reads all users that may match the filter. For one email it reads one row.
func (h userHandlers) candidates(c *call, filter api.UserFilter) func(directory.User) ([]directory.User, bool, error) {
	email := filter.EmailID.Eq
	if email == nil {
		return h.userPages(c)
	}
	return func(directory.User) ([]directory.User, bool, error) {
		found, err := h.directory.FindUser(c.Context(), c.principal, *email)
		return found, false, err
	}
}
