package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// A login with a role in one project of two does by commands what the role may do there, and neither shows nor changes anything of the
// other project, or what is in none.
func TestMatrixOfCommandsInProjects(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for role, permissions := range projectPermissions {
		in := "in-" + role
		own, other := newScene(t, admin, in), newScene(t, admin, "beyond-"+role)
		synchronized := spec("http://127.0.0.1:5000", object{"type": "noAuth"}, object{"isSyncSupported": true})
		admin.do("PUT", at(own.registry), newRegistry("r-"+in, synchronized)).Want(http.StatusNoContent)
		named := role
		if role == customRole {
			named = admin.make("/v1/roles", roleBody("Role", "project", permissions...))
		}
		uid := admin.make("/v1/users", newUser("as-"+in+"@acme.example", object{"roles": []string{"none"}}))
		admin.do("PUT", "/v1/users/"+uid+"/projects", projectRole(own.project, named)).Want(http.StatusNoContent)
		tryInProject(t, server, own, other, role, permissions)
	}
}

// refusals are in what commands print that are refused, or that do not see what they name.
var refusals = []string{"forbidden", "not found", "there is no mute", "is the only project that you see"}

func tryInProject(t *testing.T, server *instance.Server, own, other scene, role string, permissions []string) {
	t.Helper()
	home, names, beyond := t.TempDir(), own.names("in-"+role), other.names("beyond-"+role)
	run := func(stdin, command string, replace func(string) string, more ...string) instance.Result {
		args := strings.Fields(command)
		for i := range args {
			args[i] = replace(args[i])
		}
		return job(t, home, replace(stdin), nil, append(args, more...)...)
	}
	refused := func(what, command string, got instance.Result) {
		t.Helper()
		says := func(text string) bool { return strings.Contains(got.Err, text) }
		if got.Code == 0 || got.Out != "" || !slices.ContainsFunc(refusals, says) {
			t.Errorf("%s: %q: exit code %d\n%s%s", what, command, got.Code, got.Out, got.Err)
		}
	}
	if login := run(matePassword, "login "+server.URL+" --org "+instance.Org+" --password-stdin --email as-in-"+role+"@acme.example",
		names); login.Code != 0 {
		t.Fatalf("%s does not log in: %s", role, login.Err)
	}
	for _, c := range roleCommands {
		if c.needs == noServer {
			continue
		}
		var more []string
		if c.needs == "registry.create" {
			refused(role+" of a project, in none", c.command, run(c.stdin, c.command, names))
			more = []string{"--project", names("{project}")}
		}
		if beyond(c.command) != names(c.command) && c.needs != byAnyone {
			refused(role+" of another project", c.command, run(c.stdin, c.command, beyond))
		}
		got := run(c.stdin, c.command, names, more...)
		may := c.needs == byAnyone || c.needs == "project.listAll" || slices.Contains(permissions, c.needs)
		switch {
		case !may:
			refused(role+" of the project", c.command, got)
		case (got.Code != 0) != (whyNot[c.command] != "") || !strings.Contains(got.Err, whyNot[c.command]):
			t.Errorf("%s of the project may do %q: exit code %d\n%s%s", role, c.command, got.Code, got.Out, got.Err)
		}
		for _, hidden := range []string{other.registry, other.helm, other.project, other.channel, "r-beyond", "Project of beyond"} {
			if strings.Contains(got.Out+got.Err, hidden) {
				t.Errorf("%s of the project: %q shows %s of another project:\n%s%s", role, c.command, hidden, got.Out, got.Err)
			}
		}
	}
}
