package people

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

const pathTeams = "/console/teams"

const maxTeam = 1 << 20 // bytes of a form with the addresses of 2,000 users

// teamHandlers has the pages of teams.
type teamHandlers struct {
	teams directory.Teams
	roles *roles.Roles
}

func (h teamHandlers) pages() []Page {
	return []Page{
		{Method: "GET", Path: pathTeams, Handle: h.list, Label: "Teams", Icon: "teams", Permission: access.ReadTeams},
		{Method: "GET", Path: pathTeams + "/new", Handle: h.showNew, Permission: access.CreateTeams},
		{Method: "POST", Path: pathTeams + "/new", Handle: h.create, MaxBody: maxTeam},
		{Method: "GET", Path: pathTeams + "/{uid}", Handle: h.show, Permission: access.ReadTeams},
		{Method: "POST", Path: pathTeams + "/{uid}", Handle: h.update, MaxBody: maxTeam},
		{Method: "GET", Path: pathTeams + "/{uid}/delete", Handle: h.confirmDelete, Permission: access.DeleteTeams},
		{Method: "POST", Path: pathTeams + "/{uid}/delete", Handle: h.delete},
	}
}

type teamsPage struct {
	Known
	Teams     []directory.Team
	MayCreate bool
}

// list is GET /console/teams. An organization has at most 500.
func (h teamHandlers) list(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	page := teamsPage{Known: known, MayCreate: c.Principal.Can(access.CreateTeams)}
	if err != nil {
		return err
	}
	for team, err := range paging.All(func(after directory.Team) ([]directory.Team, bool, error) {
		return h.teams.List(c.Context(), c.Principal, after.Name)
	}) {
		if err != nil {
			return err
		}
		page.Teams = append(page.Teams, team)
	}
	return c.Show("teams.html", "Teams", page)
}

// teamPage is a team, and a form for who may change it.
type teamPage struct {
	Known
	directory.Team
	Form      *forms.Form // nil for a caller who may not change it
	MayDelete bool
}

// Path returns the address of the page, or of an action on its team.
func (p teamPage) Path(action ...string) string { return pathOf(pathTeams, p.UID, action...) }

func (h teamHandlers) page(c Call) (teamPage, error) {
	team, err := h.teams.Get(c.Context(), c.Principal, c.PathValue("uid"))
	if err != nil {
		return teamPage{}, err
	}
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	page := teamPage{Known: known, Team: team, MayDelete: c.Principal.Can(access.DeleteTeams)}
	if c.Principal.Can(access.ChangeTeams) {
		page.Form = teamForm("Save", page.Path(), known, team)
	}
	return page, err
}

const titleNewTeam = "Create a team"

func teamForm(button, action string, known Known, team directory.Team) *forms.Form {
	emails := strings.Join(emailsOf(team), "\n")
	projects := known.ProjectsField(team.Projects, team.ProjectRoles)
	return forms.New(button, action,
		forms.Field{Name: "name", Label: "Name", Value: team.Name, Required: true,
			Hint: "A group of the identity provider with exactly this name is the team."},
		forms.Field{Name: "users", Label: "Users", Type: "textarea", Value: emails,
			Hint: "Email addresses of users, one on each line. Empty: the team has no effect yet."},
		forms.Field{Name: fieldShown, Type: "hidden", Value: emails},
		known.Field(team.Role, "What the users of the team may do in the organization, in addition to their own roles. None is possible."),
		projects)
}

// fieldShown has the users that the form was made with.
const fieldShown = "shownUsers"

func emailsOf(team directory.Team) (emails []string) {
	for _, user := range team.Users {
		emails = append(emails, user.Email)
	}
	return emails
}

// changedUsers returns the users of a team after those that were removed from the shown ones, and with those that were added to them: a
// user who joined since, by a login, stays.
func changedUsers(team directory.Team, shown, sent []string) []string {
	users := slices.DeleteFunc(emailsOf(team), func(email string) bool {
		return slices.Contains(shown, email) && !slices.Contains(sent, email)
	})
	for _, email := range sent {
		if !slices.Contains(shown, email) && !slices.Contains(users, email) {
			users = append(users, email)
		}
	}
	return users
}

// sentTeam returns the team that was entered in the form of one with the given roles in projects.
func sentTeam(c Call, known Known, given map[string]auth.Role) (directory.TeamChange, []directory.ProjectRole) {
	name, users := c.PostFormValue("name"), lines(c.PostFormValue("users"))
	role, projects := auth.Role(""), known.SentProjects(c, given)
	if sent := known.Sent(c); sent != access.None {
		role = sent
	}
	return directory.TeamChange{Name: &name, Users: &users, Role: &role, Projects: &projects}, projects
}

// lines returns the lines of a text without empty ones.
func lines(text string) []string {
	list := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// showNew is GET /console/teams/new.
func (h teamHandlers) showNew(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	return c.showForm(titleNewTeam, teamForm("Create", pathTeams+"/new", known, directory.Team{}))
}

// create is POST /console/teams/new.
func (h teamHandlers) create(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	input, projects := sentTeam(c, known, nil)
	created, err := h.teams.Create(c.Context(), c.Principal, c.Origin, input)
	if err != nil {
		return c.showFormAgain(ProjectProblems(err, projects), titleNewTeam, teamForm("Create", pathTeams+"/new", known, directory.Team{}))
	}
	return c.Redirect(pathOf(pathTeams, created.UID), "teamCreated")
}

// show is GET /console/teams/{uid}.
func (h teamHandlers) show(c Call) error {
	page, err := h.page(c)
	return c.ShowRead(err, "team.html", page.Name, page)
}

// update is POST /console/teams/{uid}.
func (h teamHandlers) update(c Call) error {
	known, err := ReadKnown(c.Context(), h.roles, c.Principal)
	if err != nil {
		return err
	}
	var projects []directory.ProjectRole
	err = h.teams.Change(c.Context(), c.Principal, c.Origin, c.PathValue("uid"),
		func(team directory.Team) (change directory.TeamChange, _ error) {
			change, projects = sentTeam(c, known, team.ProjectRoles)
			users := changedUsers(team, lines(c.PostFormValue(fieldShown)), *change.Users)
			change.Users = &users
			return change, nil
		})
	if err == nil {
		return c.Redirect(pathOf(pathTeams, c.PathValue("uid")), "teamSaved")
	}
	page, errRead := h.page(c)
	if errRead != nil || page.Form == nil {
		return err
	}
	err = ProjectProblems(err, projects)
	page.Form.Refuse(c, err)
	return c.ShowAgain(err, "team.html", page.Name, page)
}

// confirmDelete is GET /console/teams/{uid}/delete.
func (h teamHandlers) confirmDelete(c Call) error {
	uid := c.PathValue("uid")
	name := ""
	if team, err := h.teams.Get(c.Context(), c.Principal, c.PathValue("uid")); err == nil {
		name = " " + team.Name
	} else if c.Principal.Can(access.ReadTeams) {
		return err
	}
	return c.confirm(confirmation{Question: "Delete the team" + name + "?", Text: "Its members stay users, without its roles.",
		Action: pathOf(pathTeams, uid, "delete"), Button: "Delete the team", Cancel: pathTeams})
}

// delete is POST /console/teams/{uid}/delete.
func (h teamHandlers) delete(c Call) error {
	err := h.teams.Delete(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
	return c.done(err, pathTeams, "teamDeleted")
}
