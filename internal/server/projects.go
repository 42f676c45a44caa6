package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

// createProject is POST /v1/projects.
func (s *Server) createProject(c *call) (answer, error) {
	var body api.NewProject
	const name = "metadata.name"
	if err := c.read(&body, func() []fault.Field { return problem(name, auth.NameProblem(body.Metadata.Name)) }); err != nil {
		return answer{}, err
	}
	made, err := s.Directory.CreateProject(c.Context(), c.origin, c.principal, directory.NewProject{Name: body.Metadata.Name})
	return answer{http.StatusCreated, api.Created{UID: made.UID}}, err
}

// listProjects is GET /v1/projects.
func (s *Server) listProjects(c *call) (answer, error) {
	projects, err := s.Directory.ListProjects(c.Context(), c.principal, "")
	items := make([]api.Project, len(projects))
	for i, p := range projects {
		items[i] = api.Project{Metadata: api.Metadata{UID: p.UID, Name: p.Name, CreationTimestamp: p.CreatedAt}}
	}
	return answer{http.StatusOK, api.Projects{Items: items}}, err
}

// listProjectNames is GET /v1/dashboard/projects/metadata, which public clients ask at every start.
func (s *Server) listProjectNames(c *call) (answer, error) {
	projects, err := s.Directory.ListProjects(c.Context(), c.principal, "")
	items := make([]api.Project, len(projects))
	for i, p := range projects {
		items[i] = api.Project{Metadata: api.Metadata{UID: p.UID, Name: p.Name}}
	}
	return answer{http.StatusOK, api.Projects{Items: items}}, err
}
