package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/console/registrylist"
	"github.com/regwarden/regwarden/regcheck"
)

// The pages, links and buttons are those of the role, and other pages are refused.
func TestPagesAreThoseOfTheRole(t *testing.T) {
	w := mustWorld(t, false)
	p := w.admin(t)
	project, err := w.Directory.CreateProject(t.Context(), p, audit.Origin{}, directory.NewProject{Name: "Staging"})
	if err != nil {
		t.Fatal(err)
	}
	stored := func(name, project string) string {
		uid, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{Name: name, ProjectUID: project,
			Definition: regcheck.Definition{Endpoint: "https://r.example.com", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}})
		if err != nil {
			t.Fatal(err)
		}
		return pathRegistries + "/" + uid
	}
	in, beyond := stored("In the project", project.UID), stored("Beyond", "")
	type expected struct {
		role, inProject auth.Role
		pages           string // that are shown, of /console/ and its links
		add, edit, sees bool   // a registry; sees: one of no project
	}
	for _, want := range []expected{
		{"viewer", "", "registries alerts api-keys projects audit sessions", false, false, true},
		{"registry-editor", "", "check registries scan alerts api-keys projects audit sessions", true, true, true},
		{"auditor", "", "registries alerts api-keys projects users audit sessions", false, false, true},
		{"none", "", "alerts api-keys projects audit sessions", false, false, false},
		{"none", "viewer", "registries alerts api-keys projects audit sessions", false, false, false},
		{"none", "registry-editor", "check registries scan alerts api-keys projects audit sessions", true, true, false},
	} {
		name := string(want.role) + "." + string(want.inProject)
		user := directory.NewUser{Email: name + "@acme.example", Password: password, Role: want.role}
		if want.inProject != "" {
			user.Projects = []directory.ProjectRole{{Project: project.UID, Role: want.inProject}}
		}
		if _, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, user); err != nil {
			t.Fatal(err)
		}
		got := w.send("POST", pathLogin, "org=Acme&emailId="+name+"%40acme.example&password="+
			strings.ReplaceAll(string(password), " ", "+"))
		cookie := got.Result().Cookies()[0].Name + "=" + got.Result().Cookies()[0].Value
		shows := func(path string, wanted bool) string {
			t.Helper()
			got := w.send("GET", path, "", "Cookie", cookie)
			if shown := got.Code == http.StatusOK; shown != wanted {
				t.Errorf("%s %s: %d", name, path, got.Code)
			}
			return got.Body.String()
		}
		overview := shows(pathOverview, true)
		for _, page := range []string{"check", "registries", "scan", "alerts", "api-keys", "projects", "users", "audit", "settings",
			"sessions"} {
			wanted := strings.Contains(" "+want.pages+" ", " "+page+" ")
			if linked := strings.Contains(overview, `<li><a href="/console/`+page+`"`); linked != wanted {
				t.Errorf("%s: a link to %s: %t", name, page, linked)
			}
			shows("/console/"+page, wanted)
		}
		shows(pathNewRegistry, want.add)
		shows(pathUsers+"/new", false)
		shows(pathProjects+"/new", false)
		page := shows(in, want.sees || want.inProject != "")
		if strings.Contains(page, in+"/edit") != want.edit || strings.Contains(page, in+"/delete") != want.edit {
			t.Errorf("%s may edit: %t", name, !want.edit)
		}
		shows(in+"/edit", want.edit)
		shows(in+"/delete", want.edit)
		shows(beyond, want.sees)
		shows(beyond+"/edit", want.edit && want.sees)
		if strings.Contains(overview, "Beyond") && !want.sees {
			t.Errorf("%s sees another registry in the overview", name)
		}
		if want.inProject == access.RegistryEditor { // a form that does not ask: there is one project only
			form := "name=New&endpoint=https://n.example.com&authType=noAuth"
			if got := w.send("POST", pathNewRegistry, form, "Cookie", cookie); got.Code != http.StatusSeeOther {
				t.Errorf("%s stores a registry: %d %s", name, got.Code, got.Body)
			}
		}
	}
}

// The list of registries can be that of a project. A caller chooses among the projects whose registries the caller may read, and another
// project in the address shows nothing.
func TestRegistriesOfAProject(t *testing.T) {
	w := mustWorld(t, false)
	p := w.admin(t)
	uids := map[string]string{}
	for _, name := range []string{"Blue", "Green"} {
		project, err := w.Directory.CreateProject(t.Context(), p, audit.Origin{}, directory.NewProject{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		uids[name] = project.UID
		stored := registries.RegistryInput{Name: "of " + name, ProjectUID: project.UID,
			Definition: regcheck.Definition{Endpoint: "https://r.example.com", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}
		if _, err := w.Registries.Create(t.Context(), p, audit.Origin{}, stored); err != nil {
			t.Fatal(err)
		}
	}
	list := func(p auth.Principal, project string) (names, options []string) {
		t.Helper()
		projects, err := registrylist.Projects(t.Context(), w.Directory, p)
		if err != nil {
			t.Fatal(err)
		}
		page, err := registrylist.Read(t.Context(), w.Registries, p, registrylist.Request{Query: registries.Query{Project: uids[project]},
			Projects: projects, Path: func(_, _ string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.List.Items {
			names = append(names, r.Name)
		}
		for _, field := range page.Filter {
			if field.Name == "project" {
				for _, o := range field.Options {
					options = append(options, o.Label)
				}
			}
		}
		return names, options
	}
	limited := p
	limited.Limit.Project = uids["Blue"]
	for _, want := range []struct {
		by             auth.Principal
		project        string
		names, options string
	}{
		{p, "", "of Blue, of Green", "All, Blue, Default, Green"}, {p, "Green", "of Green", "All, Blue, Default, Green"},
		{limited, "", "of Blue", ""}, {limited, "Blue", "of Blue", "All, Blue"}, {limited, "Green", "", "All, Blue, Another one"},
	} {
		names, options := list(want.by, want.project)
		if strings.Join(names, ", ") != want.names || strings.Join(options, ", ") != want.options {
			t.Errorf("%+v: %q among %q", want, names, options)
		}
	}
}

// The administrator of a project ends mutes of its registries, and is offered no button for others.
func TestMutesOfAProject(t *testing.T) {
	w := mustWorld(t, false)
	p := w.admin(t)
	project, err := w.Directory.CreateProject(t.Context(), p, audit.Origin{}, directory.NewProject{Name: "Staging"})
	if err != nil {
		t.Fatal(err)
	}
	mute := func(registry string) string {
		uid, err := w.Mutes.Create(t.Context(), p, audit.Origin{}, mutes.Input{RegistryUID: registry, Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return pathAlerts + "/unmute/" + uid
	}
	ofOrg, mutesIn := mute(""), map[string]string{}
	for _, in := range []string{project.UID, ""} {
		uid, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{Name: "of " + in, ProjectUID: in,
			Definition: regcheck.Definition{Endpoint: "https://r.example.com", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}})
		if err != nil {
			t.Fatal(err)
		}
		mutesIn[in] = mute(uid)
	}
	user := directory.NewUser{Email: "lead@acme.example", Password: password, Role: auth.RoleMember,
		Projects: []directory.ProjectRole{{Project: project.UID, Role: auth.RoleAdmin}}}
	if _, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, user); err != nil {
		t.Fatal(err)
	}
	login := w.send("POST", pathLogin, strings.Replace(loginForm(password), "admin%40", "lead%40", 1)).Result().Cookies()[0]
	cookie := login.Name + "=" + login.Value
	page := w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String()
	for path, status := range map[string]int{ofOrg: http.StatusForbidden, mutesIn[""]: http.StatusForbidden,
		mutesIn[project.UID]: http.StatusSeeOther} {
		if offered := strings.Contains(page, path); offered != (status == http.StatusSeeOther) {
			t.Errorf("the button of %s: %t", path, offered)
		}
		if got := w.send("POST", path, "", "Cookie", cookie); got.Code != status {
			t.Errorf("%s: %d, want %d", path, got.Code, status)
		}
	}
}

// Pages say that nothing is there only to callers who would see it, and to others what they see of it.
func TestEmptyPagesAreThoseOfTheRole(t *testing.T) {
	w := mustWorld(t, false)
	p := w.admin(t)
	for project, err := range paging.All(func(after directory.Project) ([]directory.Project, bool, error) {
		return w.Directory.ListProjects(t.Context(), p, after)
	}) {
		if err == nil {
			err = w.Directory.DeleteProject(t.Context(), p, audit.Origin{}, project.UID, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{Name: "stored",
		Definition: regcheck.Definition{Endpoint: "https://r.example.com", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		role              auth.Role
		changes, projects string
		mayCreate         bool
	}{
		{auth.RoleAdmin, ">Stored<", "There are no projects yet.", true},
		{"auditor", ">Stored<", "There are no projects yet.", false},
		{"viewer", "You have changed no registry yet.", "There are no projects yet.", false},
		{auth.RoleMember, "You have changed no registry yet.", "You are a member of no project yet.", false},
	} {
		address := string(want.role) + "-2@acme.example"
		if _, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, directory.NewUser{Email: address, Password: password,
			Role: want.role}); err != nil {
			t.Fatal(err)
		}
		login := w.send("POST", pathLogin, strings.Replace(loginForm(password), url.QueryEscape(email), url.QueryEscape(address), 1))
		cookie := login.Result().Cookies()[0].Name + "=" + login.Result().Cookies()[0].Value
		if page := w.send("GET", pathOverview, "", "Cookie", cookie).Body.String(); !strings.Contains(page, want.changes) {
			t.Errorf("%s: the overview lacks %q: %s", want.role, want.changes, page)
		}
		page := w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String()
		if !strings.Contains(page, want.projects) || strings.Contains(page, "Create a project") != want.mayCreate {
			t.Errorf("%s: the alerts lack %q: %s", want.role, want.projects, page)
		}
	}
}

// A caller who may not see all roles sends the projects of a user and of a team as its forms show them, with a role of the organization.
func TestProjectsAreSentAsShown(t *testing.T) {
	w := mustWorld(t, false)
	p := w.admin(t)
	project, err := w.Directory.CreateProject(t.Context(), p, audit.Origin{}, directory.NewProject{Name: "Staging"})
	if err != nil {
		t.Fatal(err)
	}
	role := func(name string, inProjects bool, permissions ...access.Permission) auth.Role {
		uid, err := w.Roles.Create(t.Context(), p, audit.Origin{},
			roles.Input{Name: name, InProjects: inProjects, Permissions: permissions})
		if err != nil {
			t.Fatal(err)
		}
		return auth.Role(uid)
	}
	deployer := role("Deployer", true, access.ReadRegistries)
	helper := role("Helper", false, slices.DeleteFunc(access.Permissions(), func(one access.Permission) bool {
		return one == access.ReadRoles
	})...)
	in := []directory.ProjectRole{{Project: project.UID, Role: deployer}}
	user, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, directory.NewUser{Email: "ada@acme.example", Password: password,
		Role: auth.RoleMember, Projects: in})
	if err != nil {
		t.Fatal(err)
	}
	name := "Team"
	team, err := directory.Teams{Directory: w.Directory}.Create(t.Context(), p, audit.Origin{},
		directory.TeamChange{Name: &name, Projects: &in})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Directory.CreateUser(t.Context(), p, audit.Origin{}, directory.NewUser{Email: "helper@acme.example",
		Password: password, Role: helper}); err != nil {
		t.Fatal(err)
	}
	login := w.send("POST", pathLogin, strings.Replace(loginForm(password), "admin%40", "helper%40", 1)).Result().Cookies()[0]
	cookie := login.Name + "=" + login.Value
	for page, action := range map[string]string{pathUsers + "/" + user.UID: "/projects", "/console/teams/" + team.UID: ""} {
		shown := w.send("GET", page, "", "Cookie", cookie).Body.String()
		if !strings.Contains(shown, ">Staging: Deployer</textarea>") {
			t.Errorf("%s: %s", page, shown)
		}
		form := url.Values{"name": {"Team"}, "projects": {"Staging: Deployer"}}
		if got := w.send("POST", page+action, form.Encode(), "Cookie", cookie); got.Code != http.StatusSeeOther {
			t.Errorf("%s: %d %s", page, got.Code, got.Body)
		}
		form.Set("projects", "Staging: Helper")
		if got := w.send("POST", page+action, form.Encode(), "Cookie", cookie); got.Code != http.StatusBadRequest {
			t.Errorf("%s with a role that is not shown: %d", page, got.Code)
		}
	}
	after, err := w.Directory.User(t.Context(), p, user.UID)
	if err != nil || after.ProjectRoles[project.UID] != deployer {
		t.Errorf("%+v, %v", after, err)
	}
}
