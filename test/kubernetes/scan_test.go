// Package kubernetes_test scans what a Kubernetes API server returns. It is a module of its own, since it builds kube-apiserver.
package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// collections has the path of each kind, without the namespace, and whether a CustomResourceDefinition is needed for it.
var collections = []struct {
	kind, api, resource string
	custom              bool
}{
	{"Secret", "/api/v1", "secrets", false},
	{"ServiceAccount", "/api/v1", "serviceaccounts", false},
	{"ConfigMap", "/api/v1", "configmaps", false},
	{"Deployment", "/apis/apps/v1", "deployments", false},
	{"CronJob", "/apis/batch/v1", "cronjobs", false},
	{"HelmRepository", "/apis/source.toolkit.fluxcd.io/v1", "helmrepositories", true},
	{"OCIRepository", "/apis/source.toolkit.fluxcd.io/v1", "ocirepositories", true},
	{"ImageRepository", "/apis/image.toolkit.fluxcd.io/v1", "imagerepositories", true},
	{"HelmRelease", "/apis/helm.toolkit.fluxcd.io/v2", "helmreleases", true},
	{"Application", "/apis/argoproj.io/v1alpha1", "applications", true},
	{"ServiceMonitor", "/apis/monitoring.coreos.com/v1", "servicemonitors", true},
	{"PrometheusRule", "/apis/monitoring.coreos.com/v1", "prometheusrules", true},
}

func TestAPIServer(t *testing.T) {
	binary := regwarden(t)
	server := startAPIServer(t)
	server.createKinds(t)
	t.Run("objects are read as their files", func(t *testing.T) { testObjects(t, server, binary) })
	t.Run("objects of the chart are admitted", func(t *testing.T) { testChart(t, server) })
	t.Run("Helm installs the chart", func(t *testing.T) { testInstall(t, server) })
	t.Run("rejected Secrets are reported", func(t *testing.T) { testRejectedSecrets(t, server, binary) })
}

// What the API returns for objects must be read as the files from which they were created.
func testObjects(t *testing.T, server *apiServer, binary string) {
	documents := readDocuments(t, "testdata/accepted.yaml")
	var inYAML, inJSON, lists []string
	for _, document := range documents {
		path := server.create(t, document)
		inYAML = append(inYAML, server.get(t, path, asYAML))
		inJSON = append(inJSON, server.get(t, path, asJSON))
	}
	for _, c := range collections {
		lists = append(lists, server.get(t, c.api+"/"+c.resource, asYAML))
	}
	likeKubectl := `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(inJSON, ",") + `]}`
	want := scan(t, binary, documents)
	if n := len(want); n < 20 {
		t.Fatalf("the files have %d definitions, skipped entries and problems", n)
	}
	for name, texts := range map[string][]string{"objects": inYAML, "lists of one kind": lists,
		"list as kubectl prints it": {likeKubectl}} {
		got := scan(t, binary, texts)
		for _, text := range want {
			if !slices.Contains(got, text) {
				t.Errorf("%s: missing %s", name, text)
			}
		}
		for _, text := range got {
			if !slices.Contains(want, text) {
				t.Errorf("%s: unexpected %s", name, text)
			}
		}
	}
}

// scan returns everything that regwarden finds in documents, each as JSON with the names of its objects but without file and line.
func scan(t *testing.T, binary string, documents []string) []string {
	t.Helper()
	out := run(t, strings.NewReader(strings.Join(documents, "\n---\n")), binary, "scan", "-", "--list", "--fail-on",
		"never", "--output", "json")
	if bytes.Contains(out, []byte("hunter2")) {
		t.Error("the output has a secret")
	}
	var result struct{ Registries, Skipped, Problems []map[string]any }
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range slices.Concat(result.Registries, result.Skipped, result.Problems) {
		sources, isList := entry["source"].([]any)
		if !isList {
			sources = []any{entry["source"]}
		}
		var objects []string
		for _, source := range sources {
			objects = append(objects, fmt.Sprint(source.(map[string]any)["object"]))
		}
		slices.Sort(objects)
		entry["source"] = objects
		text, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(text))
	}
	return found
}

// What regwarden reports as rejected by Kubernetes is rejected, and nothing else.
func testRejectedSecrets(t *testing.T, server *apiServer, binary string) {
	for _, document := range readDocuments(t, "testdata/secrets.yaml") {
		found := strings.Join(scan(t, binary, []string{document}), "\n")
		reported := strings.Contains(found, "Kubernetes rejects the Secret")
		status, text, err := server.do(http.MethodPost, "/api/v1/namespaces/apps/secrets", document, asYAML)
		if err != nil || reported != (status/100 == 4) {
			t.Errorf("%s\nreported: %s\nKubernetes: %d %s %v", document, found, status, text, err)
		}
	}
}

// createKinds creates namespaces, and definitions of the kinds of Flux and Argo CD which accept any content.
func (s *apiServer) createKinds(t *testing.T) {
	for _, name := range []string{"apps", "flux-system", "argocd", "zarf"} {
		s.post(t, "/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	}
	for _, c := range collections {
		if !c.custom {
			continue
		}
		parts := strings.Split(c.api, "/")
		group, version := parts[2], parts[3]
		s.post(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s}
  versions:
  - name: %[4]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, c.resource, group, c.kind, version))
		s.await(t, c.api+"/"+c.resource)
	}
}

// create creates an object, and returns its path.
func (s *apiServer) create(t *testing.T, document string) string {
	t.Helper()
	namespace := field(t, document, "  namespace: ")
	for _, c := range collections {
		if c.kind == field(t, document, "kind: ") {
			path := c.api + "/namespaces/" + namespace + "/" + c.resource
			s.post(t, path, document)
			return path + "/" + field(t, document, "  name: ")
		}
	}
	t.Fatalf("the kind is not in collections: %s", document)
	return ""
}

func (s *apiServer) post(t *testing.T, path, document string) {
	t.Helper()
	if status, text, err := s.do(http.MethodPost, path, document, asYAML); err != nil || status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s %v", path, status, text, err)
	}
}

// field returns the rest of the first line that begins with a prefix.
func field(t *testing.T, document, prefix string) string {
	t.Helper()
	for line := range strings.Lines(document) {
		if value, found := strings.CutPrefix(line, prefix); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %q in %s", prefix, document)
	return ""
}

func readDocuments(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
}

// regwarden returns the path of the binary, which is built unless BINARY_UNDER_TEST names it.
func regwarden(t *testing.T) string {
	if built := os.Getenv("BINARY_UNDER_TEST"); built != "" {
		return built
	}
	binary := filepath.Join(t.TempDir(), "regwarden")
	run(t, nil, "go", "build", "-C", "../..", "-buildvcs=false", "-o", binary, "./cmd/regwarden")
	return binary
}
