package server

import (
	"errors"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/directory"
)

var projectFields = fieldNames{"name": "metadata.name", "annotations": "metadata.annotations", "labels": "metadata.labels"}

// projectHandlers handles the routes of projects.
type projectHandlers struct {
	directory *directory.Directory
	channels  *alerts.Channels
}

// createProject is POST /v1/projects.
func (h projectHandlers) createProject(c *call) (response, error) {
	input, err := c.readProject()
	if err != nil {
		return response{}, err
	}
	created, err := h.directory.CreateProject(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.Created{UID: created.UID}}, err
}

func (c *call) readProject() (input directory.NewProject, err error) {
	var body api.ProjectRequest
	err = c.read(&body, func() []fault.Field {
		input = directory.NewProject{Name: body.Metadata.Name, Annotations: body.Metadata.Annotations, Labels: body.Metadata.Labels}
		return projectFields.In(input.Problems())
	})
	return input, err
}

// getProject is GET /v1/projects/{uid}. Public clients read the alert channels in it.
func (h projectHandlers) getProject(c *call) (response, error) {
	p, err := projectOfPath(c, h.directory)
	if err != nil {
		return response{}, err
	}
	shown := api.Project{Metadata: projectMetadata(p), Spec: api.ProjectSpec{Alerts: []api.Alert{}}}
	for _, component := range alerts.Components() {
		alert, err := shownAlert(c, h.channels, alerts.Scope{OrgUID: p.OrgUID, ProjectUID: p.UID, Component: component.Name})
		if err != nil {
			return response{}, err
		}
		if len(alert.Channels) > 0 {
			shown.Spec.Alerts = append(shown.Spec.Alerts, alert)
		}
	}
	return response{http.StatusOK, shown}, nil
}

// projectOfPath returns the project that the path names. Public clients take ResourceNotFound for "deleted".
func projectOfPath(c *call, in *directory.Directory) (directory.Project, error) {
	p, err := in.Project(c.Context(), c.principal, c.PathValue("uid"))
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeProjectNotFound {
		err = fault.ProjectNotFound(fault.CodeResourceNotFound)
	}
	return p, err
}

// replaceProject is PUT /v1/projects/{uid}.
func (h projectHandlers) replaceProject(c *call) (response, error) {
	input, err := c.readProject()
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.ReplaceProject(c.Context(), c.principal, c.origin, c.PathValue("uid"), input)
}

// deleteProject is DELETE /v1/projects/{uid}. A request to also delete the contents of the project gets a 400, which
// clients do not retry: ignoring the parameter would look like success.
func (h projectHandlers) deleteProject(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	cascade := query.boolean("cascade")
	for _, name := range []string{"cleanup", "cleanupProjectResources"} {
		if query.boolean(name) {
			query.problems = append(query.problems,
				fault.Field{Field: name, Problem: "is not supported; delete the contents of the project first, or set cascade"})
		}
	}
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	err := h.directory.DeleteProject(c.Context(), c.principal, c.origin, c.PathValue("uid"), cascade)
	return response{status: http.StatusNoContent}, err
}

// projectContents is GET /v1/projects/{uid}/contents.
func (h projectHandlers) projectContents(c *call) (response, error) {
	all, err := h.directory.ProjectContents(c.Context(), c.principal, c.PathValue("uid"))
	return shownContents(all), err
}

func shownContents(all []directory.Contents) response {
	shown := api.Contents{Items: make([]api.ContentsOfKind, len(all))}
	for i, of := range all {
		shown.Items[i] = api.ContentsOfKind{Kind: of.Kind, Names: of.Names, More: of.More}
	}
	return response{http.StatusOK, shown}
}

// listProjects is GET /v1/projects.
func (h projectHandlers) listProjects(c *call) (response, error) {
	return listOf(h.projectPages(c), func(p directory.Project) any {
		return api.ListedProject{Metadata: projectMetadata(p)}
	})
}

func (h projectHandlers) projectPages(c *call) func(directory.Project) ([]directory.Project, bool, error) {
	return func(after directory.Project) ([]directory.Project, bool, error) {
		return h.directory.ListProjects(c.Context(), c.principal, after)
	}
}

func projectMetadata(p directory.Project) api.Metadata {
	return api.Metadata{UID: p.UID, Name: p.Name, CreationTimestamp: p.CreatedAt, Annotations: p.Annotations, Labels: p.Labels}
}

// listProjectNames is GET /v1/dashboard/projects/metadata, which public clients request at every start.
func (h projectHandlers) listProjectNames(c *call) (response, error) {
	return listOf(h.projectPages(c), func(p directory.Project) any {
		return api.ListedProject{Metadata: api.Metadata{UID: p.UID, Name: p.Name}}
	})
}

var orgFields = fieldNames{"name": "metadata.name"}

// orgHandlers handles the routes of organizations.
type orgHandlers struct{ directory *directory.Directory }

// listOrgs is GET /v1/orgs.
func (h orgHandlers) listOrgs(c *call) (response, error) {
	list, err := h.directory.ListOrgs(c.Context(), c.principal)
	shown := make([]api.Org, len(list))
	for i, o := range list {
		shown[i] = api.Org{Metadata: api.Metadata{UID: o.UID, Name: o.Name, CreationTimestamp: o.CreatedAt}}
	}
	return response{http.StatusOK, api.Orgs{Items: shown}}, err
}

// createOrg is POST /v1/orgs.
func (h orgHandlers) createOrg(c *call) (response, error) {
	var body api.OrgRequest
	if err := c.read(&body, func() []fault.Field {
		return orgFields.In(fault.FieldProblem("name", names.NameProblem(body.Metadata.Name)))
	}); err != nil {
		return response{}, err
	}
	created, err := h.directory.CreateOrg(c.Context(), c.principal, c.origin, body.Metadata.Name)
	return response{http.StatusCreated, api.Created{UID: created.UID}}, err
}

// renameOrg is PUT /v1/orgs/{uid}.
func (h orgHandlers) renameOrg(c *call) (response, error) {
	var body api.OrgRequest
	if err := c.read(&body, func() []fault.Field {
		return orgFields.In(fault.FieldProblem("name", names.NameProblem(body.Metadata.Name)))
	}); err != nil {
		return response{}, err
	}
	err := h.directory.RenameOrg(c.Context(), c.principal, c.origin, c.PathValue("uid"), body.Metadata.Name)
	return response{status: http.StatusNoContent}, err
}

// orgContents is GET /v1/orgs/{uid}/contents.
func (h orgHandlers) orgContents(c *call) (response, error) {
	all, err := h.directory.OrgContents(c.Context(), c.principal, c.PathValue("uid"))
	return shownContents(all), err
}

// deleteOrg is DELETE /v1/orgs/{uid}.
func (h orgHandlers) deleteOrg(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	cascade := query.boolean("cascade")
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.DeleteOrg(c.Context(), c.principal, c.origin, c.PathValue("uid"), cascade)
}
