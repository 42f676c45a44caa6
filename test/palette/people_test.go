package palette_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// projectConfig is a project resource as a Terraform file has it.
type projectConfig struct {
	Name, Description string
	Tags              map[string]string // a tag "a:b" is the label a with the value b
}

// sentObjectMeta is the metadata of projects and users on the wire.
type sentObjectMeta struct {
	Annotations           map[string]string `json:"annotations,omitempty"`
	CreationTimestamp     string            `json:"creationTimestamp"`
	DeletionTimestamp     string            `json:"deletionTimestamp"`
	Labels                map[string]string `json:"labels,omitempty"`
	LastModifiedTimestamp string            `json:"lastModifiedTimestamp"`
	Name                  string            `json:"name,omitempty"`
	UID                   string            `json:"uid,omitempty"`
}

func (c projectConfig) body(t testing.TB, uid string) string {
	meta := sentObjectMeta{CreationTimestamp: zeroTime, DeletionTimestamp: zeroTime, LastModifiedTimestamp: zeroTime,
		Name: c.Name, UID: uid, Labels: c.Tags}
	if c.Description != "" {
		meta.Annotations = map[string]string{"description": c.Description}
	}
	return encoded(t, map[string]sentObjectMeta{"metadata": meta})
}

func (p *provider) createProject(c projectConfig) string {
	p.wire.t.Helper()
	return p.createdUID(post("/v1/projects", c.body(p.wire.t, ""), 201))
}

func (p *provider) createdUID(o operation) string {
	p.wire.t.Helper()
	var created struct {
		UID *string `json:"uid"`
	}
	p.must(o, &created)
	if created.UID == nil || *created.UID == "" {
		p.crash("create returns no uid")
	}
	return *created.UID
}

// readProject is a refresh of a project.
func (p *provider) readProject(uid string) (c projectConfig, there bool) {
	p.wire.t.Helper()
	var read struct {
		Metadata *struct {
			Name                string
			Annotations, Labels map[string]string
		} `json:"metadata"`
	}
	if err := p.call(get("/v1/projects/"+uid), &read); err != nil {
		if err.Code == "ResourceNotFound" {
			return c, false
		}
		p.wire.t.Fatalf("refresh: %v", err)
	}
	if read.Metadata == nil {
		p.crash("metadata")
	}
	return projectConfig{read.Metadata.Name, read.Metadata.Annotations["description"], read.Metadata.Labels}, true
}

func (p *provider) noProjectDrift(uid string, want projectConfig) {
	p.wire.t.Helper()
	if got, there := p.readProject(uid); !there || got.Name != want.Name || got.Description != want.Description ||
		!maps.Equal(got.Tags, want.Tags) {
		p.wire.t.Errorf("the plan is not empty: there %t, %+v, want %+v", there, got, want)
	}
}

// A project's whole life in Terraform: create, plan, rename, import, destroy.
func TestProjectResourceLife(t *testing.T) {
	w := start(t)
	c := projectConfig{"Blue", "the sky", map[string]string{"spectro": "spectro__tag", "team": "a"}}
	uid := w.plugin().createProject(c)
	w.plugin().noProjectDrift(uid, c)
	for _, changed := range []projectConfig{{"Green", "the sea", map[string]string{"team": "b"}}, {Name: "green"}} {
		p := w.plugin()
		p.readProject(uid)
		p.configure()
		p.must(put("/v1/projects/"+uid, changed.body(t, uid)), nil)
		w.plugin().noProjectDrift(uid, changed)
	}
	var names readList
	p := w.plugin()
	p.must(get("/v1/dashboard/projects/metadata"), &names) // what the data source and every start read
	if len(names.Items) != 2 {
		t.Errorf("projects: %+v", names.Items)
	}
	p.refused(post("/v1/projects", projectConfig{Name: "Green"}.body(t, ""), 201), 409, "ProjectAlreadyExists")
	p.refused(get("/v1/projects/00000000-0000-4000-8000-000000000000"), 404, "ResourceNotFound") // import of what does not exist
	p.refused(get("/v1/projects/green"), 404, "ResourceNotFound")                                // of a name
	p.refused(del("/v1/projects/"+uid+"?cleanupProjectResources=true"), 400, "InvalidRequest")
	p.must(del("/v1/projects/"+uid), nil)
	if _, there := p.readProject(uid); there {
		t.Error("a destroyed project is still there")
	}
}

// A project with content is not deleted, and Terraform shows what it contains.
func TestProjectWithContentIsNotDeleted(t *testing.T) {
	w := start(t)
	p := w.plugin()
	uid := p.createProject(projectConfig{Name: "Blue"})
	user := userConfig{Email: "ada@acme.example", FirstName: "Ada", LastName: "Lovelace",
		ProjectRoles: map[string][]string{uid: {"member"}}}
	p.createUser(user)
	inside := *p
	inside.project = uid
	c := config{Name: "inside", Endpoint: "https://registry.example", ProviderType: "helm", CredentialType: "noAuth"}
	registry := inside.create(c)
	if e := p.refused(del("/v1/projects/"+uid), 409, "ProjectNotEmpty"); !strings.Contains(e.Message, "inside") ||
		!strings.Contains(e.Message, user.Email) {
		t.Errorf("the message does not name what the project contains: %s", e.Message)
	}
	if e := p.destroy(registry); e != nil {
		t.Fatal(e)
	}
	p.refused(del("/v1/projects/"+uid), 409, "ProjectNotEmpty")
	p.noProjectDrift(uid, projectConfig{Name: "Blue"})
}

// userConfig is a user resource as a Terraform file has it.
type userConfig struct {
	Email, FirstName, LastName string
	TenantRoles                []string
	ProjectRoles               map[string][]string // by the uid of the project
}

// createUser is "apply" of a new user. Without roles none are sent.
func (p *provider) createUser(c userConfig) string {
	p.wire.t.Helper()
	uid := p.createdUID(post("/v1/users", encoded(p.wire.t, map[string]any{
		"metadata": sentObjectMeta{CreationTimestamp: zeroTime, DeletionTimestamp: zeroTime, LastModifiedTimestamp: zeroTime,
			Name: c.FirstName + " " + c.LastName},
		"spec": map[string]any{"emailId": c.Email, "firstName": c.FirstName, "lastName": c.LastName, "roles": nil, "teams": nil},
	}), 201))
	if len(c.ProjectRoles) > 0 {
		p.setProjectRoles(uid, c)
	}
	if len(c.TenantRoles) > 0 {
		p.setTenantRoles(uid, c)
	}
	return uid
}

func (p *provider) setProjectRoles(uid string, c userConfig) {
	p.wire.t.Helper()
	var projects []map[string]any
	for _, project := range slices.Sorted(maps.Keys(c.ProjectRoles)) {
		projects = append(projects, map[string]any{"projectUid": project, "roles": c.ProjectRoles[project]})
	}
	p.must(put("/v1/users/"+uid+"/projects", encoded(p.wire.t, map[string]any{"projects": projects})), nil)
}

func (p *provider) setTenantRoles(uid string, c userConfig) {
	p.wire.t.Helper()
	p.must(put("/v1/users/"+uid+"/roles", encoded(p.wire.t, map[string]any{"roles": append([]string{}, c.TenantRoles...)})), nil)
}

// updateUser is "apply" of a changed user. Old project roles are first taken away by a list that is null.
func (p *provider) updateUser(uid string, old, c userConfig) {
	p.wire.t.Helper()
	if !maps.EqualFunc(old.ProjectRoles, c.ProjectRoles, slices.Equal) {
		if len(old.ProjectRoles) > 0 {
			p.setProjectRoles(uid, userConfig{})
		}
		if len(c.ProjectRoles) > 0 {
			p.setProjectRoles(uid, c)
		}
	}
	if !slices.Equal(old.TenantRoles, c.TenantRoles) {
		p.setTenantRoles(uid, c)
	}
}

type readRole struct {
	UID string `json:"uid"`
}

func uidsOf(roles []readRole) (uids []string) {
	for _, r := range roles {
		uids = append(uids, r.UID)
	}
	return uids
}

// readUser is a refresh: by the email of the state, then the roles of all kinds. Each of the calls has to succeed.
func (p *provider) readUser(uid, email string) (c userConfig) {
	p.wire.t.Helper()
	var found struct {
		Items []struct {
			Spec *struct{ EmailID, FirstName, LastName string } `json:"spec"`
		} `json:"items"`
	}
	p.must(post("/v1/users/summary",
		encoded(p.wire.t, map[string]any{"filter": map[string]any{"emailId": map[string]any{"eq": email}}, "sort": nil}), 200), &found)
	if len(found.Items) != 1 {
		p.wire.t.Fatalf("%d users found with email %s", len(found.Items), email)
	}
	if found.Items[0].Spec == nil {
		p.crash("spec")
	}
	spec := found.Items[0].Spec
	c = userConfig{Email: spec.EmailID, FirstName: spec.FirstName, LastName: spec.LastName, ProjectRoles: map[string][]string{}}
	var projects struct {
		Projects []struct {
			UID   string     `json:"uid"`
			Roles []readRole `json:"roles"`
		} `json:"projects"`
	}
	p.must(get("/v1/users/"+uid+"/projects"), &projects)
	for _, project := range projects.Projects {
		if len(project.Roles) > 0 {
			c.ProjectRoles[project.UID] = uidsOf(project.Roles)
		}
	}
	var tenant struct {
		Roles []readRole `json:"roles"`
	}
	p.must(get("/v1/users/"+uid+"/roles"), &tenant)
	c.TenantRoles = uidsOf(tenant.Roles)
	var others struct {
		Projects, ResourceRoles []struct{}
	}
	p.must(get("/v1/workspaces/users/"+uid+"/roles"), &others)
	p.must(get("/v1/users/"+uid+"/resourceRoles"), &others)
	if len(others.Projects)+len(others.ResourceRoles) > 0 {
		p.wire.t.Errorf("the plan is not empty: %+v", others)
	}
	return c
}

func (p *provider) noUserDrift(uid string, want userConfig) {
	p.wire.t.Helper()
	got := p.readUser(uid, want.Email)
	if got.Email != want.Email || got.FirstName != want.FirstName || got.LastName != want.LastName ||
		!slices.Equal(got.TenantRoles, want.TenantRoles) ||
		!maps.EqualFunc(got.ProjectRoles, want.ProjectRoles, slices.Equal) {
		p.wire.t.Errorf("the plan is not empty: %+v, want %+v", got, want)
	}
}

// A user's whole life in Terraform: create, plan, roles given and taken, import, destroy.
func TestUserResourceLife(t *testing.T) {
	w := start(t)
	p := w.plugin()
	blue := p.createProject(projectConfig{Name: "Blue"})
	plain := userConfig{Email: "Ada@acme.example", FirstName: "Ada", LastName: "Lovelace"}
	with := func(tenant []string, projects ...string) userConfig {
		c := plain
		c.TenantRoles, c.ProjectRoles = tenant, map[string][]string{}
		for _, project := range projects {
			c.ProjectRoles[project] = []string{"member"}
		}
		return c
	}
	uid := p.createUser(plain)
	last := plain
	for _, c := range []userConfig{
		plain, with([]string{"admin"}), with([]string{"member"}, blue), with([]string{"member"}, blue, p.projectUID),
		with(nil, p.projectUID), with([]string{"admin"}, blue), plain,
	} {
		p := w.plugin()
		p.updateUser(uid, last, c)
		w.plugin().noUserDrift(uid, c)
		last = c
	}
	p.refused(post("/v1/users", encoded(t,
		map[string]any{"spec": map[string]any{"emailId": "ada@ACME.example", "roles": nil, "teams": nil}}), 201), 409, "UserAlreadyExists")
	p.refused(post("/v1/users", encoded(t, map[string]any{"spec": map[string]any{"emailId": "b@acme.example", "teams": []string{"ops"}}}),
		201), 400, "InvalidRequest")

	var imported struct {
		Metadata *readMetadata                                  `json:"metadata"`
		Spec     *struct{ EmailID, FirstName, LastName string } `json:"spec"`
	}
	p.must(get("/v1/users/"+uid), &imported)
	if imported.Metadata == nil || imported.Metadata.Name != "Ada Lovelace" || imported.Spec == nil ||
		imported.Spec.EmailID != plain.Email {
		t.Errorf("import reads %+v, %+v", imported.Metadata, imported.Spec)
	}
	p.noUserDrift(uid, plain)
	p.must(put("/v1/users/"+uid, encoded(t,
		map[string]any{"spec": map[string]any{"emailId": plain.Email, "firstName": "Augusta", "roles": nil}})), nil)
	if got := p.readUser(uid, plain.Email); got.FirstName != "Augusta" || got.LastName != "" {
		t.Errorf("changed to %+v", got)
	}
	p.refused(post("/v1/auth/authenticate", instance.Credentials(plain.Email, instance.Org, "nine herons by the weir"), 200),
		401, "AuthenticationFailed")
	p.must(del("/v1/users/"+uid), nil)
	p.refused(get("/v1/users/"+uid), 404, "ResourceNotFound")
	p.refused(del("/v1/users/"+uid), 404, "ResourceNotFound")
	if again := p.createUser(plain); again == uid {
		t.Error("a new user has the uid of the old one")
	}
}
