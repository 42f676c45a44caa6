package definitions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/secret"
)

const ghcr = `{"auths": {
	"ghcr.io": {"auth": "dTpw"},
	"*.io": {"auth": "YTpi"},
	"bad.test": {"auth": "dTpw"}, "bad.test/a": {"auth": "YTpi"},
	"half.test": {"username": "u"}, "none.test": {}},
	"credHelpers": {"h.test": "one", "fails.test": "two", "anonymous.test": "three", "identity.test": "four", "other.test": "five",
	"path.test": "../six", "username.test": "seven"}}`

// helper has credentials for some servers; it fails for two, and five must not be started.
func helper(program, server string) (string, secret.String, error) {
	switch program {
	case "docker-credential-one":
		return "from", secret.String(server), nil
	case "docker-credential-two":
		return "", "", errors.New("exit status 1")
	case "docker-credential-three":
		return "", "", nil
	case "docker-credential-four":
		return "<token>", "identity", nil
	case "docker-credential-seven":
		return "u", "", nil
	case "docker-credential-five":
		return "", "", model.ErrHelperNotAllowed
	}
	return "", "", errors.New("unexpected program " + program)
}

// Each case is a reference with what is used for it: the line and the key of the entry, the credentials, the reason and the notices.
func TestLookup(t *testing.T) {
	for _, test := range []struct {
		as               model.Consumer
		reference, wants string
	}{
		{model.Docker, "ghcr.io/acme/charts:1.0", "2 ghcr.io https://ghcr.io acme/charts basic u p"},
		{model.Docker, "ghcr.io/acme/charts@sha256:0", "2 ghcr.io https://ghcr.io acme/charts basic u p"},
		{model.Docker, "ghcr.io", "2 ghcr.io https://ghcr.io  basic u p"},
		{model.Docker, "localhost:5000", "0  https://localhost:5000  noAuth   noMatchingCredentials plainHttpFallback"},
		{model.Helm, "oci://ghcr.io/acme/charts/", "2 ghcr.io https://ghcr.io acme/charts basic u p"},
		{model.Docker, "nginx:1.25", "0  https://registry-1.docker.io library/nginx noAuth   noMatchingCredentials"},
		{model.Docker, "nginx", "0  https://registry-1.docker.io library/nginx noAuth   noMatchingCredentials"},
		{model.Docker, "docker.io/nginx", "0  https://registry-1.docker.io library/nginx noAuth   noMatchingCredentials"},
		{model.Docker, "docker.io", "0  https://registry-1.docker.io  noAuth   noMatchingCredentials"},
		{model.Helm, "oci://docker.io/nginx", "0  https://registry-1.docker.io nginx noAuth   noMatchingCredentials"},
		{model.Docker, "none.test/a", "5 none.test https://none.test a noAuth   noMatchingCredentials"},
		{model.Docker, "half.test/a", "5 half.test https://half.test a noAuth   incomplete"},
		{model.Helm, "bad.test/b", "4 bad.test https://bad.test b basic u p"},
		{model.Docker, "h.test/a", "0  https://h.test a basic from h.test"},
		{model.Docker, "fails.test/a", "0  https://fails.test a noAuth   credentialHelper"},
		{model.Docker, "anonymous.test/a", "0  https://anonymous.test a noAuth   noMatchingCredentials"},
		{model.Docker, "identity.test/a", "0  https://identity.test a token  identity"},
		{model.Docker, "username.test/a", "0  https://username.test a noAuth   incomplete"},
		{model.Docker, "other.test/a", "0  https://other.test a noAuth   credentialHelper"},
		{model.Docker, "path.test/a", "0  https://path.test a noAuth   credentialHelper"},
		{model.Podman, "bad.test/a/b", "4 bad.test/a https://bad.test a/b basic a b"},
		{model.Kubelet, "ghcr.io/acme", "2 ghcr.io https://ghcr.io acme basic u p ambiguousCredentials"},
		{model.Kubelet, "h.test/a", "0  https://h.test a noAuth   noMatchingCredentials"},
		{model.Flux, "ghcr.io/acme", "2 ghcr.io https://ghcr.io acme basic u p"},
	} {
		r, steps, err := Lookup("config.json", []byte(ghcr), test.reference,
			model.Options{Format: model.DockerConfig, As: test.as, Helper: helper})
		if err != nil {
			t.Fatal(err)
		}
		a := r.Definition.Auth
		got := fmt.Sprint(r.Sources[0].Line, " ", r.Sources[0].Object, " ", r.Definition.Endpoint, " ", r.Definition.BaseContentPath, " ",
			a.Kind(), " ", a.Username, " ", a.Password.Reveal()+a.Token.Reveal())
		for _, word := range append([]string{string(r.Reason)}, codes(r.Notices)...) {
			got = strings.TrimSuffix(got+" "+word, " ")
		}
		if got != test.wants {
			t.Errorf("%s as %s: %q, want %q", test.reference, test.as, got, test.wants)
		}
		if len(steps) == 0 || slices.Contains(steps, "") {
			t.Errorf("%s as %s: steps %q", test.reference, test.as, steps)
		}
	}
}

func codes(notices []model.Notice) (codes []string) {
	for _, n := range notices {
		codes = append(codes, string(n.Code))
	}
	return codes
}

func TestLookupSteps(t *testing.T) {
	config := `{"auths": {"https://ghcr.io/a": {"auth": "dTpw"}, "https://ghcr.io/b": {"auth": "YTpi"}}}`
	r, steps, err := Lookup("f", []byte(config), "ghcr.io/a", model.Options{Format: model.DockerConfig})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`The host of the key "https://ghcr.io/a" is the same; docker ignores scheme and path.`,
		`The host of the key "https://ghcr.io/b" is the same; docker ignores scheme and path.`,
		"The credentials differ, and docker uses any one of these entries, by chance.",
	}
	if diff := cmp.Diff(want, steps); diff != "" || r.Reason != model.UnresolvedAmbiguous {
		t.Errorf("%s: %s", r.Reason, diff)
	}
}

func TestLookupErrors(t *testing.T) {
	if _, _, err := Lookup("f", []byte("{"), "ghcr.io/a", model.Options{Format: model.DockerConfig}); err == nil ||
		!strings.Contains(err.Error(), "f is not valid JSON") {
		t.Errorf("%v", err)
	}
	if _, _, err := Lookup("f", []byte("{}"), "ghcr.io/a", model.Options{Format: model.Kubernetes}); err == nil ||
		!strings.Contains(err.Error(), `"kubernetes"`) {
		t.Errorf("%v", err)
	}
	r, steps, err := Lookup("f", []byte(`{"auths": {"a.test": {"auth": "x"}}}`), "ghcr.io/a", model.Options{Format: model.DockerConfig})
	if err != nil || r.Reason != model.UnresolvedIncomplete || !strings.Contains(string(r.Detail), `"a.test"`) || len(steps) != 2 {
		t.Errorf("%+v, %q, %v", r, steps, err)
	}
}

func TestLocations(t *testing.T) {
	mac := map[string]string{"OS": "darwin", "XDG_RUNTIME_DIR": "/run/u"}
	windows := map[string]string{"OS": "windows", "XDG_CONFIG_HOME": "/x", "APPDATA": "/appdata"}
	for _, test := range []struct {
		consumer    model.Consumer
		environment map[string]string // OS, if it is not Linux
		want        []string
	}{
		{model.Docker, nil, []string{"docker-config /home/u/.docker/config.json"}},
		{model.Docker, map[string]string{"DOCKER_CONFIG": "/d", "DOCKER_AUTH_CONFIG": "{}"},
			[]string{"docker-auth-config-env $DOCKER_AUTH_CONFIG", "docker-config /d/config.json"}},
		{model.Helm, nil, []string{"docker-config /home/u/.config/helm/registry/config.json", "docker-config /home/u/.docker/config.json"}},
		{model.Helm, map[string]string{"XDG_CONFIG_HOME": "/x"},
			[]string{"docker-config /x/helm/registry/config.json", "docker-config /home/u/.docker/config.json"}},
		{model.Helm, map[string]string{"XDG_CONFIG_HOME": "/x", "HELM_CONFIG_HOME": "/h"},
			[]string{"docker-config /h/registry/config.json", "docker-config /home/u/.docker/config.json"}},
		{model.Helm, map[string]string{"HELM_CONFIG_HOME": "/h", "HELM_REGISTRY_CONFIG": "/r.json"},
			[]string{"docker-config /r.json", "docker-config /home/u/.docker/config.json"}},
		{model.Podman, nil, []string{"containers-auth /run/containers/1000/auth.json",
			"containers-auth /home/u/.config/containers/auth.json", "docker-config /home/u/.docker/config.json",
			"dockercfg /home/u/.dockercfg"}},
		{model.Podman, map[string]string{"XDG_RUNTIME_DIR": "/run/u", "XDG_CONFIG_HOME": "/x"},
			[]string{"containers-auth /run/u/containers/auth.json", "containers-auth /x/containers/auth.json",
				"docker-config /home/u/.docker/config.json", "dockercfg /home/u/.dockercfg"}},
		{model.Podman, map[string]string{"XDG_RUNTIME_DIR": "/run/u", "DOCKER_CONFIG": "/d"}, []string{"containers-auth /d/config.json"}},
		{model.Podman, map[string]string{"REGISTRY_AUTH_FILE": "/a.json"}, []string{"containers-auth /a.json"}},
		{model.Kubelet, nil, []string{"docker-config /var/lib/kubelet/config.json", "docker-config /home/u/.docker/config.json",
			"docker-config /.docker/config.json",
			"dockercfg /var/lib/kubelet/.dockercfg", "dockercfg /home/u/.dockercfg", "dockercfg /.dockercfg"}},
		{model.Flux, nil, nil},
		{model.Docker, mac, []string{"docker-config /home/u/.docker/config.json"}},
		{model.Podman, mac, []string{"containers-auth /home/u/.config/containers/auth.json", "docker-config /home/u/.docker/config.json",
			"dockercfg /home/u/.dockercfg"}},
		{model.Podman, windows, []string{"containers-auth /home/u/.config/containers/auth.json", "containers-auth /x/containers/auth.json",
			"docker-config /home/u/.docker/config.json", "dockercfg /home/u/.dockercfg"}},
		{model.Helm, mac, []string{"docker-config /home/u/Library/Preferences/helm/registry/config.json",
			"docker-config /home/u/.docker/config.json"}},
		{model.Helm, map[string]string{"OS": "windows", "APPDATA": "/appdata"},
			[]string{"docker-config /appdata/helm/registry/config.json", "docker-config /home/u/.docker/config.json"}},
		{model.Helm, windows, []string{"docker-config /x/helm/registry/config.json", "docker-config /home/u/.docker/config.json"}},
	} {
		environment := model.Environment{OS: "linux", Home: "/home/u", UID: 1000,
			Getenv: func(name string) string { return test.environment[name] }}
		if other := test.environment["OS"]; other != "" {
			environment.OS = other
		}
		var got []string
		for _, l := range Locations(test.consumer, environment) {
			where := l.Path
			if l.Variable != "" {
				where = "$" + l.Variable
			}
			got = append(got, string(l.Format)+" "+where)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s with %v: %s", test.consumer, test.environment, diff)
		}
	}
}
