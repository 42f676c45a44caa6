package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestUpdaterSource splits sources of credentials: a registry and = before one is left out, and a kind without a name is none.
func TestUpdaterSource(t *testing.T) {
	for text, want := range map[string][2]string{
		"env:A":          {"env", "A"},
		"ENV:A":          {"env", "A"},
		"r.test=env:A":   {"env", "A"},
		"=env:A":         {"=env", "A"},
		"r.test:5=":      {"r.test", "5="},
		"env:":           {"", ""},
		"env":            {"", ""},
		"":               {"", ""},
		"env:A:B":        {"", ""},
		"r.test=env:A=B": {"env", "A=B"},
	} {
		if kind, name := updaterSource(text); kind != want[0] || name != want[1] {
			t.Errorf("%q: %q and %q", text, kind, name)
		}
	}
}

const updaterConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, namespace: argocd}
data:
  registries.conf: |
    registries:
    - {name: One, prefix: one.test, api_url: "https://one.test", credentials: "%s"}
---
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: argocd}
stringData: {token: "ada:hunter2"}
---
apiVersion: v1
kind: Secret
metadata: {name: pull, namespace: argocd}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths": {"one.test/a": {"auth": "%s"}, "one.test/b": {"auth": "%s"}}}'}
`

// TestCredentialsOfImageUpdater has sources as users write them, and what Image Updater makes of them.
func TestCredentialsOfImageUpdater(t *testing.T) {
	const ada, bob, config = "YWRhOmh1bnRlcjI=", "Ym9iOmh1bnRlcjI=", "argocd-image-updater-config"
	for _, tt := range []struct {
		config, source, first, second string
		want                          string // username or reason
	}{
		{config, "secret:argocd/creds#token", ada, ada, "ada"},
		{config, "pullsecret:argocd/pull", ada, ada, "ada"},
		{config, "pullsecret:argocd/pull", ada, bob, string(model.UnresolvedAmbiguous)},
		{config, "pullsecret:argocd/pull", bob, ada, string(model.UnresolvedAmbiguous)},
		{config, "secret:argocd/absent#token", ada, ada, string(model.UnresolvedReferenceMissing)},
		{config, "secret:creds#token", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:/creds#token", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:argocd/#token", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:argocd/creds", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:argocd/creds#", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:argocd/creds/a#token", ada, ada, string(model.UnresolvedIncomplete)},
		{config, "secret:argocd/creds#token#a", ada, ada, string(model.UnresolvedIncomplete)},
		{"another", "secret:argocd/creds#token", ada, ada, "nothing"},
	} {
		s := newScan(model.Options{})
		text := fmt.Sprintf(updaterConfig, tt.config, tt.source, tt.first, tt.second)
		if err := s.AddReader("in", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		for _, r := range s.result().Registries {
			if strings.HasPrefix(r.Sources[0].Object, "ConfigMap") {
				got = r.Definition.Auth.Username + string(r.Reason)
			}
		}
		if got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.source, tt.config, got, tt.want)
		}
	}
}
