package console

import (
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const pathProjects = "/console/projects"

type projectsPage struct {
	Filter                          filter
	Projects                        []directory.Project
	Pager                           views.Pager
	Empty                           views.Empty
	MayCreate, MayChange, MayDelete bool
}

// projectHandlers has the pages of projects.
type projectHandlers struct{ directory *directory.Directory }

// listProjects is GET /console/projects.
func (h projectHandlers) listProjects(c *call) (err error) {
	p := c.principal
	page := projectsPage{Filter: c.newFilter("Name contains", pathProjects), MayCreate: p.Can(access.CreateProjects),
		MayChange: p.Can(access.ChangeProjects), MayDelete: p.Can(access.DeleteProjects)}
	page.Projects, page.Pager, err = listPage(c.URL, func(after directory.Project) ([]directory.Project, bool, error) {
		return h.directory.ListProjects(c.Context(), p, after)
	}, func(one directory.Project) bool { return page.Filter.matches(one.Name) })
	if err != nil {
		return err
	}
	page.Empty = noProjects(p)
	if page.Filter.Value != "" {
		page.Empty = views.Empty{Text: "No project matches the filter.", Path: pathProjects, Action: "Show all"}
	}
	return c.show("projects.html", "Projects", page)
}

// noProjects is shown to a caller who sees no project. Only one who may see all of the organization knows that there is none.
func noProjects(p auth.Principal) (none views.Empty) {
	none.Text = "You are not a member of any project. Ask an administrator of your organization to add you."
	if p.Can(access.ReadAllProjects) {
		none.Text = "There are no projects yet. Projects group registries, their alerts and the users who see them."
	}
	if p.Can(access.CreateProjects) {
		none.Path, none.Action = pathProjects+"/new", "Create a project"
	}
	return none
}

const titleNewProject = "Create a project"

func projectForm(button, action, name string) *forms.Form {
	return forms.New(button, action, forms.Field{Name: "name", Label: "Name", Value: name, Required: true})
}

// newProject is GET /console/projects/new.
func (h projectHandlers) newProject(c *call) error {
	return c.showForm(titleNewProject, projectForm("Create", pathProjects+"/new", ""))
}

// createProject is POST /console/projects/new.
func (h projectHandlers) createProject(c *call) error {
	_, err := h.directory.CreateProject(c.Context(), c.principal, c.origin, directory.NewProject{Name: c.PostFormValue("name")})
	if err != nil {
		return c.showFormAgain(err, titleNewProject, projectForm("Create", pathProjects+"/new", ""))
	}
	return c.redirect(pathProjects, "projectCreated")
}

// editProject is GET /console/projects/{uid}.
func (h projectHandlers) editProject(c *call) error {
	project, err := h.directory.Project(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.showForm("Rename "+project.Name, projectForm("Rename", pathOf(pathProjects, project.UID), project.Name))
}

// renameProject is POST /console/projects/{uid}. Annotations and labels stay as they are.
func (h projectHandlers) renameProject(c *call) error {
	uid := c.PathValue("uid")
	project, err := h.directory.Project(c.Context(), c.principal, uid)
	if err != nil && c.principal.Can(access.ChangeProjects) { // others are refused below, which is recorded
		return err
	}
	err = h.directory.ReplaceProject(c.Context(), c.principal, c.origin, uid,
		directory.NewProject{Name: c.PostFormValue("name"), Annotations: project.Annotations, Labels: project.Labels})
	if err != nil {
		return c.showFormAgain(err, "Rename "+project.Name, projectForm("Rename", pathOf(pathProjects, uid), ""))
	}
	return c.redirect(pathProjects, "projectRenamed")
}

// confirmDeleteProject is GET /console/projects/{uid}/delete.
func (h projectHandlers) confirmDeleteProject(c *call) error {
	project, err := h.directory.Project(c.Context(), c.principal, c.PathValue("uid"))
	if err != nil {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the project " + project.Name + "?",
		Text:   "A project that has members, registries or alert channels is not deleted.",
		Action: pathOf(pathProjects, project.UID, "delete"), Button: "Delete the project", Cancel: pathProjects})
}

// deleteProject is POST /console/projects/{uid}/delete.
func (h projectHandlers) deleteProject(c *call) error {
	err := h.directory.DeleteProject(c.Context(), c.principal, c.origin, c.PathValue("uid"), false)
	return c.done(err, pathProjects, "projectDeleted")
}
