package console

import (
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
)

const pathProjects = "/console/projects"

type projectsPage struct {
	Filter                          filter
	Projects                        []directory.Project
	Pager                           pager
	Empty                           empty
	MayCreate, MayChange, MayDelete bool
}

// listProjects is GET /console/projects.
func (s *Console) listProjects(c *call) (err error) {
	p := c.principal
	page := projectsPage{Filter: c.newFilter("Name contains", pathProjects), MayCreate: p.Can(auth.CreateProjects),
		MayChange: p.Can(auth.ChangeProjects), MayDelete: p.Can(auth.DeleteProjects)}
	page.Projects, page.Pager, err = listPage(c, func(after directory.Project) ([]directory.Project, bool, error) {
		return s.Directory.ListProjects(c.Context(), p, "", after)
	}, func(one directory.Project) bool { return page.Filter.matches(one.Name) })
	if err != nil {
		return err
	}
	page.Empty = noProjects(page.MayCreate)
	if page.Filter.Value != "" {
		page.Empty = empty{Text: "No project matches the filter.", Path: pathProjects, Action: "Show all"}
	}
	return c.show("projects.html", "Projects", page)
}

func noProjects(mayCreate bool) empty {
	if mayCreate {
		return empty{Text: "There are no projects yet. Projects group registries, their alerts and the users who see them.", Path: pathProjects + "/new", Action: "Create a project"}
	}
	return empty{Text: "You are not a member of any project. Ask an administrator of your organization to add you."}
}

const titleNewProject = "Create a project"

func projectForm(button, action, name string) *form {
	return newForm(button, action, field{Name: "name", Label: "Name", Value: name, Required: true})
}

// newProject is GET /console/projects/new.
func (s *Console) newProject(c *call) error {
	if err := c.principal.May(auth.CreateProjects); err != nil {
		return err
	}
	return c.showForm(titleNewProject, projectForm("Create", pathProjects+"/new", ""))
}

// createProject is POST /console/projects/new.
func (s *Console) createProject(c *call) error {
	_, err := s.Directory.CreateProject(c.Context(), c.principal, c.origin, directory.NewProject{Name: c.PostFormValue("name")})
	if err != nil {
		return c.showFormAgain(err, titleNewProject, projectForm("Create", pathProjects+"/new", ""))
	}
	return c.redirect(pathProjects, "projectCreated")
}

// projectOf returns the project of the address, if the caller may change it in this way.
func (s *Console) projectOf(c *call, permission auth.Permission) (directory.Project, error) {
	if err := c.principal.May(permission); err != nil {
		return directory.Project{}, err
	}
	return s.Directory.Project(c.Context(), c.principal, c.PathValue("uid"))
}

// editProject is GET /console/projects/{uid}.
func (s *Console) editProject(c *call) error {
	project, err := s.projectOf(c, auth.ChangeProjects)
	if err != nil {
		return err
	}
	return c.showForm("Rename "+project.Name, projectForm("Rename", pathOf(pathProjects, project.UID), project.Name))
}

// renameProject is POST /console/projects/{uid}. Annotations and labels stay as they are.
func (s *Console) renameProject(c *call) error {
	uid := c.PathValue("uid")
	project, err := s.Directory.Project(c.Context(), c.principal, uid)
	if err != nil && c.principal.Can(auth.ChangeProjects) { // others are refused below, which is recorded
		return err
	}
	err = s.Directory.ReplaceProject(c.Context(), c.principal, c.origin, uid,
		directory.NewProject{Name: c.PostFormValue("name"), Annotations: project.Annotations, Labels: project.Labels})
	if err != nil {
		return c.showFormAgain(err, "Rename "+project.Name, projectForm("Rename", pathOf(pathProjects, uid), ""))
	}
	return c.redirect(pathProjects, "projectRenamed")
}

// confirmDeleteProject is GET /console/projects/{uid}/delete.
func (s *Console) confirmDeleteProject(c *call) error {
	project, err := s.projectOf(c, auth.DeleteProjects)
	if err != nil {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the project " + project.Name + "?",
		Text:   "A project that has members, registries or alert channels is not deleted.",
		Action: pathOf(pathProjects, project.UID, "delete"), Button: "Delete the project", Cancel: pathProjects})
}

// deleteProject is POST /console/projects/{uid}/delete.
func (s *Console) deleteProject(c *call) error {
	if err := s.Directory.DeleteProject(c.Context(), c.principal, c.origin, c.PathValue("uid"), false); err != nil {
		return err
	}
	return c.redirect(pathProjects, "projectDeleted")
}
