package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

var userNames = names{"emailId": "spec.emailId", "password": "spec.password", "role": "spec.roles", "projects": "spec.projects"}

// userInfo is GET /v1/users/info: who calls.
func (s *Server) userInfo(c *call) (answer, error) {
	p := c.principal
	return answer{http.StatusOK, api.UserInfo{OrgName: p.OrgName, TenantUID: p.OrgUID, UserUID: p.UserUID}}, nil
}

// listUsers is GET /v1/users. All are on one page.
func (s *Server) listUsers(c *call) (answer, error) {
	users, err := s.Directory.ListUsers(c.Context(), c.principal, "")
	items := make([]api.User, len(users))
	for i, u := range users {
		items[i] = user(u)
	}
	all := len(items)
	return answer{http.StatusOK, api.Users{Items: items, ListMeta: api.ListMeta{Count: int64(all), Limit: all, Offset: all}}}, err
}

// getUser is GET /v1/users/{uid}; "me" is the caller.
func (s *Server) getUser(c *call) (answer, error) {
	ref := c.user()
	if ref.User == "me" {
		ref.User = c.principal.UserUID
	}
	found, err := s.Directory.User(c.Context(), c.principal, ref)
	body := user(found.User)
	body.Spec.Projects = make([]api.ProjectRef, len(found.Projects))
	for i, p := range found.Projects {
		body.Spec.Projects[i] = api.ProjectRef{UID: p.UID, Name: p.Name}
	}
	return answer{http.StatusOK, body}, err
}

func user(u directory.User) api.User {
	return api.User{
		Metadata: api.Metadata{UID: u.UID, Name: u.Email, CreationTimestamp: u.CreatedAt},
		Spec:     api.UserSpec{EmailID: u.Email, Roles: []string{string(u.Role)}},
		Status:   api.UserStatus{IsActive: !u.Disabled, LastSignIn: u.LastLoginAt},
	}
}

// createUser is POST /v1/users.
func (s *Server) createUser(c *call) (answer, error) {
	var body api.NewUser
	var ask directory.NewUser
	err := c.read(&body, func() []fault.Field {
		role, problems := oneRole("spec.roles", body.Spec.Roles, auth.RoleMember)
		ask = directory.NewUser{Email: body.Spec.EmailID, Password: body.Spec.Password, Role: role, Projects: body.Spec.Projects}
		return fault.Join(problems, userNames.in(s.Directory.UserProblems(c.principal, ask)))
	})
	if err != nil {
		return answer{}, err
	}
	made, err := s.Directory.CreateUser(c.Context(), c.origin, c.principal, ask)
	return answer{http.StatusCreated, api.Created{UID: made.UID}}, userNames.err(err)
}

// oneRole reads a list that may name one role. An empty list is the standard, if there is one.
func oneRole(field string, roles []string, standard auth.Role) (auth.Role, []fault.Field) {
	switch {
	case len(roles) == 1:
		return auth.Role(roles[0]), nil
	case len(roles) == 0 && standard != "":
		return standard, nil
	default:
		return "", problem(field, "must name one role: admin or member")
	}
}

// user names the user of the path.
func (c *call) user() directory.UserRef { return directory.UserRef{User: c.PathValue("uid")} }

// setUserState is PUT /v1/users/{uid}/state.
func (s *Server) setUserState(c *call) (answer, error) {
	var body api.UserState
	err := c.read(&body, func() []fault.Field {
		if body.IsActive == nil {
			return problem("isActive", "is required")
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	change := s.Auth.DisableUser
	if *body.IsActive {
		change = s.Auth.EnableUser
	}
	return answer{status: http.StatusNoContent}, change(c.Context(), c.origin, c.principal, "", c.user().User)
}

// setUserRoles is PUT /v1/users/{uid}/roles.
func (s *Server) setUserRoles(c *call) (answer, error) {
	var body api.UserRoles
	var role auth.Role
	err := c.read(&body, func() (problems []fault.Field) {
		role, problems = oneRole("roles", body.Roles, "")
		return problems
	})
	if err != nil {
		return answer{}, err
	}
	err = s.Directory.SetRole(c.Context(), c.origin, c.principal, c.user(), role)
	return answer{status: http.StatusNoContent}, names{"role": "roles"}.err(err)
}

// setUserProjects is PUT /v1/users/{uid}/projects.
func (s *Server) setUserProjects(c *call) (answer, error) {
	var body api.UserProjects
	err := c.read(&body, func() []fault.Field {
		if body.Projects == nil {
			return problem("projects", "is required; an empty list takes the user out of all")
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	projects := make([]string, len(body.Projects))
	for i, p := range body.Projects {
		projects[i] = p.ProjectUID
	}
	return answer{status: http.StatusNoContent}, s.Directory.SetProjects(c.Context(), c.origin, c.principal, c.user(), projects)
}

// changePassword is PATCH /v1/users/me/password.
func (s *Server) changePassword(c *call) (answer, error) {
	var body api.PasswordChange
	err := c.read(&body, func() []fault.Field {
		return s.Auth.PasswordProblems(c.principal, body.CurrentPassword, body.NewPassword)
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, s.Auth.ChangePassword(c.Context(), c.origin, c.principal, body.CurrentPassword, body.NewPassword)
}
