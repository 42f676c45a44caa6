package scan

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

const withEntry = `{"auths": {"one.test": {"username": "%s", "auth": "YWRhOmh1bnRlcjI="}}}`

func TestLookupInLocations(t *testing.T) {
	home := t.TempDir()
	docker := write(t, filepath.Join(home, ".docker", "config.json"), strings.ReplaceAll(withEntry, "%s", "ada"))
	legacy := write(t, filepath.Join(home, ".dockercfg"), `{"three.test": {"auth": "YWRhOmh1bnRlcjI="}}`)
	environment := model.Environment{OS: "linux", Home: home, UID: 1000, Getenv: func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": filepath.Join(home, "run")}[name]
	}}
	for _, tt := range []struct {
		name, file, reference, stdin string
		o                            model.Options
		user, source, fails          string
	}{
		{name: "docker's file", reference: "one.test/charts", o: model.Options{Format: model.DockerConfig}, user: "ada", source: docker},
		{name: "docker's file as the last of podman's", reference: "one.test/charts:1", o: model.Options{Format: model.ContainersAuth},
			user: "ada", source: docker},
		{name: ".dockercfg as the last of podman's", reference: "three.test/charts", o: model.Options{Format: model.Dockercfg},
			user: "ada", source: legacy},
		{name: ".dockercfg of kubelet", reference: "three.test/charts", o: model.Options{Format: model.Dockercfg, As: model.Kubelet},
			user: "ada", source: legacy},
		{name: "no entry", reference: "two.test/charts", o: model.Options{Format: model.DockerConfig}, source: docker},
		{name: "file", file: docker, reference: "one.test", o: model.Options{Format: model.DockerConfig}, user: "ada", source: docker},
		{name: "standard input", file: Stdin, stdin: withEntry, reference: "one.test/a", o: model.Options{Format: model.DockerConfig},
			user: "ada", source: stdinName},
		{name: "missing", file: filepath.Join(home, "missing"), reference: "one.test/a", o: model.Options{Format: model.DockerConfig},
			fails: "no such file or directory"},
		{name: "directory", file: home, reference: "one.test/a", o: model.Options{Format: model.DockerConfig}, fails: "not a regular file"},
		{name: "not JSON", file: Stdin, stdin: "text", reference: "one.test/a", o: model.Options{Format: model.DockerConfig},
			fails: "not valid JSON"},
		{name: "no location of the format", reference: "one.test/a", o: model.Options{Format: model.ContainersAuth, As: model.Docker},
			fails: "give the file"},
		{name: "no consumer of the format", reference: "one.test/a", o: model.Options{Format: model.Kubernetes}, fails: "give the file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, steps, err := Lookup(tt.file, tt.reference, strings.NewReader(tt.stdin), tt.o, environment)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || found.Sources[0].File != tt.source || found.Definition.Auth.Username != tt.user || len(steps) == 0 {
				t.Errorf("%v: user %q of %v, want %q of %s; steps %q", err, found.Definition.Auth.Username, found.Sources, tt.user,
					tt.source, steps)
			}
			if want := cmp.Or(tt.o.As, definitions.ConsumerOf(tt.o.Format)); found.Consumer != want {
				t.Errorf("chosen as %s, want %s also in the files of other programs", found.Consumer, want)
			}
		})
	}
	environment.Home = t.TempDir()
	if _, _, err := Lookup("", "one.test/a", nil, model.Options{Format: model.DockerConfig}, environment); err == nil ||
		!strings.Contains(err.Error(), "no file of credentials in") {
		t.Errorf("without a file: %v", err)
	}
}

// docker continues after a DOCKER_AUTH_CONFIG that it does not understand.
func TestVariableBeforeFile(t *testing.T) {
	const good = `{"auths": {"ghcr.io": {"auth": "ZW52Omh1bnRlcjI="}}}`
	home := t.TempDir()
	file := write(t, filepath.Join(home, ".docker", "config.json"),
		`{"auths": {"ghcr.io": {"auth": "ZmlsZTpodW50ZXIy"}, "quay.io": {"auth": "ZmlsZTpodW50ZXIy"}}}`)
	for _, test := range []struct{ variable, reference, username, read string }{
		{"", "ghcr.io/acme/app", "file", "Reading " + file + "."},
		{good, "ghcr.io/acme/app", "env", "Reading the variable DOCKER_AUTH_CONFIG."},
		{good, "quay.io/acme/app", "file", "Reading " + file + "."},
		{`{"auths": {"ghcr.io": {"username": "env", "password": "hunter2"}}}`, "ghcr.io/acme/app", "file", "Reading " + file + "."},
	} {
		environment := model.Environment{Home: home, Getenv: func(name string) string {
			return map[string]string{"DOCKER_AUTH_CONFIG": test.variable}[name]
		}}
		r, steps, err := Lookup("", test.reference, nil, model.Options{Format: model.DockerConfig}, environment)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Definition.Auth.Username; got != test.username || !slices.Contains(steps, test.read) {
			t.Errorf("%s with %s: %q, want %q; %q", test.reference, test.variable, got, test.username, steps)
		}
	}
}
