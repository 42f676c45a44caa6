package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// noServer is what a command needs that no server decides: it acts on this machine, or on the own login.
const noServer = "no server"

// roleCommands has how each command of the program is tried, in this order, and what it needs. A word in braces is the name or uid of
// something of the scene. Of a command that is there more than once, each way is tried.
var roleCommands = []struct{ command, stdin, needs string }{
	{"check 127.0.0.1:1", "", noServer}, {"scan", "", noServer}, {"serve", "", noServer}, {"health", "", noServer},
	{"config", "", noServer}, {"key init", "", noServer}, {"key rotate", "", noServer}, {"backup", "", noServer}, {"restore", "", noServer},
	{"migrate", "", noServer}, {"completion bash", "", noServer}, {"completion zsh", "", noServer}, {"completion fish", "", noServer},
	{"completion powershell", "", noServer}, {"help", "", noServer}, {"version", "", noServer}, {"doctor", "", noServer},
	{"context list", "", noServer}, {"context use", "", noServer}, {"context delete", "", noServer}, {"login", "", noServer},
	{"logout", "", noServer}, {"audit verify", "", noServer},

	{"whoami", "", byAnyone}, {"expiry", "", byAnyone}, {"session list", "", byAnyone}, {"mfa status", "", byAnyone},
	{"org list", "", byAnyone}, {"apikey list", "", byAnyone}, {"audit list", "", byAnyone}, {"alert reminders", "", byAnyone},
	{"apikey create mine", "", byAnyone}, {"apikey rotate mine", "", byAnyone}, {"apikey deactivate mine", "", byAnyone},
	{"apikey activate mine", "", byAnyone}, {"apikey revoke mine --yes", "", byAnyone}, {"apikey delete mine --yes", "", byAnyone},
	{"audit show {audit}", "", "audit.listAll"},
	{"registry list", "", "registry.get"}, {"registry show {registry}", "", "registry.get"},
	{"registry history {registry}", "", "registry.get"}, {"registry export {registry}", "", "registry.get"},
	{"registry content {registry}", "", "registry.get"}, {"alert mutes", "", "registry.get"},
	{"project list", "", byAnyone}, {"project show {project}", "", "project.listAll"},
	{"alert list --project {project}", "", "project.listAll"},
	{"alert show {channel} --project {project}", "", "project.listAll"},
	{"user list", "", "user.list"}, {"user show {user}", "", "user.list"},
	{"team list", "", "team.list"}, {"team show {team}", "", "team.list"},
	{"role list", "", "role.list"}, {"role show {role}", "", "role.list"},
	{"trust list", "", "trust.list"}, {"trust show {trust}", "", "trust.list"}, {"sso show", "", "trust.list"},
	{"org password-policy show", "", byAnyone},

	{"registry check {registry} --no-wait", "", "registry.validate"}, {"registry sync {registry}", "", "registry.sync"},
	{"registry create new-{name} --endpoint http://127.0.0.1:5000", "", "registry.create"},
	{"registry apply -f - --dry-run", applied, "registry.get"}, {"registry apply -f -", applied, "registry.create"},
	{"import --dry-run -", imported, noServer}, {"import -", imported, "registry.create"},
	{"registry update {registry} --endpoint http://127.0.0.1:5001 --username ci --password-stdin", "secret\n", "registry.update"},
	{"registry label team=a --registry {registry}", "", "registry.update"},
	{"registry credentials {registry} --username ci --password-stdin", "secret of the registry\n", "registry.update"},
	{"alert create --url http://127.0.0.1:5000/new --project {project}", "", "alert.update"},
	{"alert update {channel} --active=false --project {project}", "", "alert.update"},
	{"alert test {channel} --project {project}", "", "alert.update"},
	{"alert mute --registry {registry} --for 1h", "", "alert.update"}, {"alert mute --all --for 1h", "", "project.update"},
	{"alert unmute {mute}", "", "alert.update"}, {"alert remind 9", "", "tenant.update"},
	{"project create new-{name}", "", "project.create"}, {"project rename new-{name} newer-{name}", "", "project.update"},
	{"user create new-{name}@acme.example --password-stdin", matePassword + "\n", "user.create"},
	{"user invite invited-{name}@acme.example", "", "user.create"}, {"user invite {user}", "", "user.setPassword"},
	{"user password {user} --password-stdin", "eleven larks above the meadow\n", "user.setPassword"},
	{"user reset-mfa {user}", "", "user.setPassword"}, {"user disable {user}", "", "user.disable"},
	{"user enable {user}", "", "user.disable"},
	{"user rename {user} --first-name Ada", "", "user.update"}, {"user role {user} --role viewer", "", "user.update"},
	{"user projects {user} --clear", "", "user.update"},
	{"team create new-{name}", "", "team.create"}, {"team set {team} --role viewer", "", "team.update"},
	{"team add {team} {user}", "", "team.update"}, {"team remove {team} {user}", "", "team.update"},
	{"role create new-{name} --permission registry.get", "", "role.create"},
	{"role set {role} --permission registry.get", "", "role.update"},
	{"trust create new-{name} --issuer https://issuer.example.com --claim sub=y --audience new-{name}", "", "trust.create"},
	{"sso set --issuer https://issuer.example.com --client-id x --client-secret-stdin", "secret of the client\n", "trust.create"},
	{"sso link {user} --subject x", "", "trust.create"},
	{"org password-policy set --min-length 16", "", "tenant.update"}, {"mfa require --off", "", "tenant.update"},
	{"org create new-{name}", "", byNoRole}, {"org rename Acme Other", "", byNoRole}, {"org delete Acme --cascade --yes", "", byNoRole},
	{"apikey deactivate {key}", "", "apiKey.manageAll"}, {"apikey activate {key}", "", "apiKey.manageAll"},
	{"apikey rotate {key}", "", "apiKey.manageAll"}, {"apikey revoke {key} --yes", "", "apiKey.manageAll"},
	{"apikey create theirs --email {user}", "", "apiKey.manageAll"},

	{"apikey delete {key} --yes", "", "apiKey.manageAll"}, {"sso delete --yes", "", "trust.delete"},
	{"trust delete {trust} --yes", "", "trust.delete"}, {"alert delete {channel} --yes --project {project}", "", "alert.update"},
	{"registry delete {registry} --yes", "", "registry.delete"}, {"team delete {team} --yes", "", "team.delete"},
	{"role delete {role} --yes", "", "role.delete"}, {"user delete {user} --yes", "", "user.delete"},
	{"project delete {project} --cascade --yes", "", "project.delete"},
	{"mfa enroll --password-stdin", matePassword + "\n", byAnyone}, {"mfa confirm", "000000\n", byAnyone},
	{"mfa recovery-codes --password-stdin", matePassword + "\n000000\n", byAnyone},
	{"mfa remove --password-stdin", matePassword + "\n000000\n", byAnyone},
	{"passwd --password-stdin", matePassword + "\ntwelve wrens in the hedge\n", byAnyone},
	{"session end " + noUID + " --yes", "", byAnyone}, {"session revoke --all --yes", "", byAnyone},
}

// whyNot has what commands print that fail in the scene although the role may do them.
var whyNot = map[string]string{
	"alert test {channel} --project {project}": "the connection to the receiver failed",
	"user reset-mfa {user}":                    "The user has no second factor",
	"mfa confirm":                              "code is wrong",
	"mfa recovery-codes --password-stdin":      "Your second factor is not confirmed",
	"mfa remove --password-stdin":              "Your second factor is not confirmed",
	"session end " + noUID + " --yes":          "Session not found",
}

const (
	applied = `{"metadata":{"name":"applied-{name}"},"spec":{"endpoint":"http://127.0.0.1:5000","auth":{"type":"noAuth"}}}`
	// imported is a file of docker's.
	imported = `{"auths":{"registry-of-{name}.example.com":{"auth":"dTpw"}}}`
)

// names returns a function that replaces words in braces.
func (s scene) names(name string) func(string) string {
	return strings.NewReplacer("{name}", name, "{registry}", "r-"+name, "{project}", "Project of "+name, "{channel}", s.channel,
		"{mute}", s.mute, "{user}", "target-"+name+"@acme.example", "{role}", "role of "+name, "{team}", "team of "+name, "{key}", s.key,
		"{trust}", "t-"+name, "{audit}", s.audit).Replace
}

// No command does or shows what the role of its login may not, and each does what the role may: for an administrator all.
func TestMatrixOfCommands(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	tried := map[string]bool{}
	for _, c := range roleCommands {
		words := strings.Fields(c.command)
		for n := range words {
			tried[strings.Join(words[:n+1], " ")] = true
		}
	}
	for _, command := range leaves(t) {
		if !tried[command] {
			t.Errorf("%q is not tried", command)
		}
	}
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	for role, permissions := range rolePermissions {
		s, named := newScene(t, admin, role), role
		if role == customRole {
			named = admin.make("/v1/roles", roleBody("Role", "tenant", permissions...))
		}
		admin.make("/v1/users", newUser("as-"+role+"@acme.example", object{"roles": []string{named}}))
		synchronized := spec("http://127.0.0.1:5000", object{"type": "noAuth"}, object{"isSyncSupported": true})
		admin.do("PUT", at(s.registry), newRegistry("r-"+role, synchronized)).Want(http.StatusNoContent)
		admin.do("PATCH", "/v1/teams/"+s.team, `[{"op":"add","path":"/spec/users/-","value":"`+s.user+`"}]`).Want(http.StatusNoContent)
		tryCommands(t, server, s, role, permissions)
	}
}

func tryCommands(t *testing.T, server *instance.Server, s scene, role string, permissions []string) {
	t.Helper()
	home, names := t.TempDir(), s.names(role)
	run := func(stdin string, args ...string) instance.Result { return job(t, home, stdin, nil, args...) }
	login := run(matePassword, "login", server.URL, "--org", instance.Org, "--email", "as-"+role+"@acme.example",
		"--password-stdin")
	if login.Code != 0 {
		t.Fatalf("%s does not log in: %s", role, login.Err)
	}
	for _, c := range roleCommands {
		if c.needs == noServer {
			continue
		}
		args := strings.Fields(c.command)
		for i := range args {
			args[i] = names(args[i])
		}
		got := run(names(c.stdin), args...)
		refused := got.Code != 0 && (strings.Contains(got.Err, "forbidden") || strings.Contains(got.Err, "not found"))
		switch may := c.needs == byAnyone || slices.Contains(permissions, c.needs); {
		case !may && (!refused || got.Out != ""):
			t.Errorf("%s may not do %q: exit code %d\n%s%s", role, c.command, got.Code, got.Out, got.Err)
		case may && ((got.Code != 0) != (whyNot[c.command] != "") || !strings.Contains(got.Err, whyNot[c.command])):
			t.Errorf("%s may do %q: exit code %d\n%s%s", role, c.command, got.Code, got.Out, got.Err)
		}
	}
}

// leaves lists the commands of the program that have none below them, as it completes them in a shell.
func leaves(t *testing.T, parents ...string) (all []string) {
	t.Helper()
	completed := instance.Run(t, "", append(append([]string{"__complete"}, parents...), "")...)
	for line := range strings.Lines(completed.Out) {
		name, _, isCommand := strings.Cut(strings.TrimSpace(line), "\t")
		if !isCommand || len(parents) > 0 && parents[0] == "help" {
			continue
		}
		all = append(all, leaves(t, append(slices.Clone(parents), name)...)...)
	}
	if len(all) == 0 {
		all = []string{strings.Join(parents, " ")}
	}
	return all
}
