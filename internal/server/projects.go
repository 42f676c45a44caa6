package server

import (
	"errors"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

var projectNames = names{"name": "metadata.name", "annotations": "metadata.annotations", "labels": "metadata.labels"}

// createProject is POST /v1/projects.
func (s *Server) createProject(c *call) (response, error) {
	ask, err := c.readProject()
	if err != nil {
		return response{}, err
	}
	created, err := s.Directory.CreateProject(c.Context(), c.principal, c.origin, ask)
	return response{http.StatusCreated, api.Created{UID: created.UID}}, err
}

func (c *call) readProject() (ask directory.NewProject, err error) {
	var body api.ProjectRequest
	err = c.read(&body, func() []fault.Field {
		ask = directory.NewProject{Name: body.Metadata.Name, Annotations: body.Metadata.Annotations, Labels: body.Metadata.Labels}
		return projectNames.in(ask.Problems())
	})
	return ask, err
}

// getProject is GET /v1/projects/{uid}.
func (s *Server) getProject(c *call) (response, error) {
	p, err := s.projectOfPath(c)
	return response{http.StatusOK, api.Project{Metadata: projectMetadata(p)}}, err
}

// projectOfPath returns the project that the path names. Public clients take ResourceNotFound for "deleted".
func (s *Server) projectOfPath(c *call) (directory.Project, error) {
	p, err := s.Directory.Project(c.Context(), c.principal, c.PathValue("uid"))
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeProjectNotFound {
		err = fault.NoSuchProject(fault.CodeResourceNotFound)
	}
	return p, err
}

// replaceProject is PUT /v1/projects/{uid}.
func (s *Server) replaceProject(c *call) (response, error) {
	ask, err := c.readProject()
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, s.Directory.ReplaceProject(c.Context(), c.principal, c.origin, c.PathValue("uid"), ask)
}

// deleteProject is DELETE /v1/projects/{uid}. Clients that ask for what the project contains to be deleted too get a
// 400, which they do not retry: ignoring it would look like success.
func (s *Server) deleteProject(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	for _, name := range []string{"cleanup", "cleanupProjectResources"} {
		if query.boolean(name) {
			query.problems = append(query.problems, fault.Field{Field: name, Problem: "is not supported: delete what the project contains first"})
		}
	}
	if err := invalid(query.problems); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, s.Directory.DeleteProject(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// listProjects is GET /v1/projects.
func (s *Server) listProjects(c *call) (response, error) {
	return listOf(http.StatusOK, s.projectPages(c), func(p directory.Project) any {
		return api.ListedProject{Metadata: projectMetadata(p)}
	})
}

func (s *Server) projectPages(c *call) func(directory.Project) ([]directory.Project, bool, error) {
	return func(after directory.Project) ([]directory.Project, bool, error) {
		return s.Directory.ListProjects(c.Context(), c.principal, "", after)
	}
}

func projectMetadata(p directory.Project) api.Metadata {
	return api.Metadata{UID: p.UID, Name: p.Name, CreationTimestamp: p.CreatedAt, Annotations: p.Annotations, Labels: p.Labels}
}

// listProjectNames is GET /v1/dashboard/projects/metadata, which public clients request at every start.
func (s *Server) listProjectNames(c *call) (response, error) {
	return listOf(http.StatusOK, s.projectPages(c), func(p directory.Project) any {
		return api.ListedProject{Metadata: api.Metadata{UID: p.UID, Name: p.Name}}
	})
}
