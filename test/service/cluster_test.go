package service_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/kubernetes/kubernetestest"
	"github.com/regwarden/regwarden/test/instance"
)

// The registries of a cluster are stored, checked, and deleted with their objects, whose Events say how they are.
func TestCluster(t *testing.T) {
	t.Parallel()
	registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "right password of the heron" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(registry.Close)
	const wrong, right = "wrong password of the heron", "right password of the heron"
	secret := func(password string) kubernetestest.Object {
		host := strings.TrimPrefix(registry.URL, "https://")
		config := fmt.Sprintf(`{"auths": {%q: {"username": "ada", "password": %q}}}`, host, password)
		return kubernetestest.Object{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
			"data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString([]byte(config))}}
	}
	api := kubernetestest.New(t)
	api.Put("secrets", "apps", "regcred", secret(wrong))
	server := instance.Start(t, instance.Options{Flags: []string{"--kubernetes", "--kubeconfig", api.Kubeconfig(t, "apps"),
		"--kubernetes-cluster", "prod", "--watch-interval", "2s", "--metrics-listen", "127.0.0.1:0"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	event := func(prefix string) {
		t.Helper()
		instance.Await(t, "the Event "+prefix, func() bool {
			for _, e := range api.Events("Secret", "apps", "regcred") {
				if strings.HasPrefix(e, prefix) {
					return true
				}
			}
			return false
		})
	}
	event("Warning Registry")
	list := admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Body
	if !strings.Contains(list, "prod/apps/Secret/regcred") {
		t.Errorf("list: %s", list)
	}
	applyExport(t, server, admin)
	api.Put("secrets", "apps", "regcred", secret(right))
	event("Normal RegistryValid")
	api.Delete("secrets", "apps", "regcred")
	instance.Await(t, "the deletion", func() bool {
		return !strings.Contains(admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Body, "regcred")
	})
	if log := server.Log() + fmt.Sprint(api.Events("Secret", "apps", "regcred")); strings.Contains(log, "of the heron") {
		t.Errorf("a password is shown:\n%s", log)
	}
}

// applyExport exports the registry of a cluster, only by name, and applies it: nothing is changed or stored twice.
func applyExport(t *testing.T, server *instance.Server, admin person) {
	t.Helper()
	admin.make(registriesPath, newRegistry("own", object{"endpoint": "https://r.test", "auth": object{"type": "noAuth"}}))
	local := []string{"--org", instance.Org, "--data-dir", server.DataDir}
	registry := func(input string, args ...string) instance.Result {
		t.Helper()
		result := instance.Run(t, input, append(append([]string{"registry"}, args...), local...)...)
		if result.Code != 0 {
			t.Errorf("%v: %+v", args, result)
		}
		return result
	}
	all := registry("", "export", "--secrets", "none")
	if !strings.Contains(all.Out, "name: own\n") || strings.Contains(all.Out, "regcred") || !strings.Contains(all.Err, "cluster: 1.") {
		t.Errorf("export of all: %+v", all)
	}
	list := admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Body
	name := regexp.MustCompile(`[^"]+\(prod/apps/Secret/regcred\)`).FindString(list)
	one := registry("", "export", name)
	changed := regexp.MustCompile(`\$\{env:.*\}`).ReplaceAllString(strings.Replace(one.Out, "username: ada", "username: eve", 1), "other")
	for document, result := range map[string]string{all.Out: "own +unchanged", changed: regexp.QuoteMeta(name) + " +read-only"} {
		applied := registry(document, "apply", "-f", "-")
		if !regexp.MustCompile(result).MatchString(applied.Out) {
			t.Errorf("applied:\n%s%+v", document, applied)
		}
		readOnly := strings.Contains(applied.Err, "Change prod/apps/Secret/regcred.")
		if readOnly != (document == changed) {
			t.Errorf("standard error: %s", applied.Err)
		}
	}
	if after := admin.do("GET", "/v1/registries/oci/summary", "").Want(http.StatusOK).Body; strings.Count(after, `"uid":`) !=
		strings.Count(list, `"uid":`) {
		t.Errorf("before and after:\n%s\n%s", list, after)
	}
}
