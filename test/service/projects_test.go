package service_test

import (
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

// A project is read, renamed, and deleted once nothing is in it; its alert channels go with it.
func TestProjectLifecycle(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	type project struct {
		Metadata struct {
			UID, Name           string
			Annotations, Labels map[string]string
		}
	}
	blue := admin.make("/v1/projects",
		`{"metadata":{"name":"Blue","annotations":{"description":"sky"},"labels":{"team":"a","spectro__tag":""}}}`)
	path := "/v1/projects/" + blue
	wants := func(p person, name string, annotations, labels map[string]string) {
		t.Helper()
		var got project
		p.get(path, &got)
		if got.Metadata.UID != blue || got.Metadata.Name != name || !maps.Equal(got.Metadata.Annotations, annotations) ||
			!maps.Equal(got.Metadata.Labels, labels) {
			t.Errorf("got %+v", got)
		}
	}
	wants(admin, "Blue", map[string]string{"description": "sky"}, map[string]string{"team": "a", "spectro__tag": ""})
	admin.do("PUT", path, `{"metadata":{"name":"Green","uid":"`+noUID+`","labels":{"team":"b"}},`+
		`"spec":{"logoUrl":"x"}}`).Want(http.StatusNoContent)
	wants(admin, "Green", nil, map[string]string{"team": "b"})
	admin.refused("PUT", path, `{"metadata":{"name":" default"}}`, 409, "ProjectAlreadyExists")
	admin.do("PUT", path, `{"metadata":{"name":"GREEN"}}`).Want(http.StatusNoContent) // its own name in another spelling

	mate := admin.make("/v1/users", newUser("mate@acme.example", object{"projects": []string{blue}}))
	asMate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	wants(asMate, "GREEN", nil, nil)
	other := admin.make("/v1/projects", `{"metadata":{"name":"Other"}}`)
	asMate.refused("GET", "/v1/projects/"+other, "", 404, "ResourceNotFound")

	in := person{t, admin.client, append([]string{"ProjectUid", blue}, admin.credential...)}
	registry := in.make(registriesPath, newRegistry("harbor", spec("https://registry.example", object{"type": "noAuth"}, nil)))
	admin.make(registriesPath, newRegistry("other", spec("https://registry.example", object{"type": "noAuth"}, nil)))
	projectsOfMate := func(projects string) {
		admin.do("PUT", "/v1/users/"+mate+"/projects", `{"projects":`+projects+`}`).Want(http.StatusNoContent)
	}
	for _, left := range []struct {
		words []string
		take  func()
	}{
		{[]string{"harbor", "mate@acme.example"}, func() { projectsOfMate("[]") }},
		{[]string{"harbor"}, func() {
			admin.do("DELETE", at(registry), "").Want(http.StatusNoContent)
			projectsOfMate(`[{"projectUid":"` + blue + `"}]`)
		}},
		{[]string{"mate@acme.example"}, func() { projectsOfMate("[]") }},
	} {
		message := admin.refused("DELETE", path, "", 409, "ProjectNotEmpty").Fault().Message
		for _, name := range []string{"harbor", "mate@acme.example", "other"} {
			if mentioned, contained := strings.Contains(message, name),
				strings.Contains(strings.Join(left.words, " "), name); mentioned != contained {
				t.Errorf("%s: mentioned %t, contained %t: %s", name, mentioned, contained, message)
			}
		}
		left.take()
	}
	admin.do("POST", channelsOf(blue), hook("http://127.0.0.1:5000/")).Want(http.StatusCreated)
	message := admin.refused("DELETE", path+"?cleanupProjectResources=false", "", 409, "ProjectNotEmpty").Fault().Message
	if !strings.Contains(message, "alert channels (127.0.0.1:5000)") {
		t.Error(message)
	}
	contained := in.make(registriesPath, newRegistry("contained", spec("https://registry.example", object{"type": "noAuth"}, nil)))
	projectsOfMate(`[{"projectUid":"` + blue + `"}]`)
	asMate.refused("GET", path+"/contents", "", 403, "OperationForbidden")
	admin.refused("GET", "/v1/projects/"+noUID+"/contents", "", 404, "ResourceNotFound")
	var contents api.Contents
	admin.get(path+"/contents", &contents)
	if want := (api.Contents{Items: []api.ContentsOfKind{{Kind: "registries", Names: []string{"contained"}},
		{Kind: "members", Names: []string{"mate@acme.example"}},
		{Kind: "alert channels", Names: []string{"127.0.0.1:5000"}}}}); !reflect.DeepEqual(contents, want) {
		t.Errorf("contents %+v", contents)
	}
	admin.refused("DELETE", path+"?cascade=all", "", 400, "InvalidRequest")
	admin.do("DELETE", path+"?cascade=true", "").Want(http.StatusNoContent)
	admin.refused("GET", at(contained), "", 404, "ResourceNotFound")
	admin.do("GET", "/v1/users/"+mate, "").Want(http.StatusOK)
	var deleted items
	if admin.get("/v1/audits?action=registry.delete&outcome=succeeded&resourceUid="+contained, &deleted); len(deleted.Items) != 1 {
		t.Errorf("%d records of the deletion of the registry", len(deleted.Items))
	}
	for method, body := range map[string]string{"GET": "", "PUT": `{"metadata":{"name":"Green"}}`, "DELETE": ""} {
		admin.refused(method, path, body, 404, "ResourceNotFound")
	}
	admin.refused("GET", channelsOf(blue), "", 404, "ResourceNotFound")
	in.refused("POST", registriesPath, newRegistry("late", spec("https://registry.example", object{"type": "noAuth"}, nil)), 404,
		"ProjectNotFoundInTenant")
	admin.make("/v1/projects", `{"metadata":{"name":"Green"}}`) // the name is free again

	for _, action := range []string{"project.create", "project.update", "project.delete"} {
		var list items
		admin.get("/v1/audits?outcome=succeeded&resourceUid="+blue+"&action="+action, &list)
		if want := map[string]int{"project.update": 2}[action]; len(list.Items) != max(want, 1) {
			t.Errorf("%s: %d records", action, len(list.Items))
		}
	}
}
