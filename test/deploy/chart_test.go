package deploy_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/internal/needs"
)

var update = flag.Bool("update", false, "write the rendered chart, its page and the manifests")

const (
	chartDir  = deployDir + "/chart"
	namespace = "regwarden"
)

// scenarios are the values files in testdata/chart, each with what the chart makes of it.
var scenarios = []string{"sqlite", "replicas", "cluster", "everything"}

// generated are the values of a Secret that the chart generates, random each time.
var generated = regexp.MustCompile(`(?m)^  (master-key|first-password): \S{40,}$`)

// render returns the objects in the order of their files, and the notes.
func render(t *testing.T, values map[string]any) (objects, notes string, err error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "regwarden", Namespace: namespace}, nil)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return "", "", err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := strings.Trim(files[name], "\n")
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			notes = text
		case strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "":
			objects += "---\n" + strings.TrimPrefix(text, "---\n") + "\n"
		}
	}
	return generated.ReplaceAllString(objects, "  $1: R0VORVJBVEVE"), notes, nil
}

func valuesOf(t *testing.T, text []byte) (values map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// scenario returns the values of a scenario, and what the chart makes of them.
func scenario(t *testing.T, name string) (values map[string]any, objects string) {
	t.Helper()
	values = valuesOf(t, mustRead(t, "testdata/chart/"+name+".values.yaml"))
	objects, _, err := render(t, values)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return values, objects
}

// golden compares a file with its text, and writes it with -update.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(mustRead(t, file)), text); diff != "" {
		t.Errorf("%s; `make docs` writes it:\n%s", file, diff)
	}
}

func TestChartIsRendered(t *testing.T) {
	for _, name := range scenarios {
		values, objects := scenario(t, name)
		golden(t, "testdata/chart/"+name+".yaml", objects)
		for _, m := range lint.All(chartDir, values, namespace, false).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: helm lint: %s", name, m)
			}
		}
		if *update {
			continue
		}
		for _, document := range documents(objects) {
			decodeObject(t, name, document)
		}
	}
}

// The manifests are the chart with its defaults and a Secret that exists: a file cannot generate one.
func TestManifestsAreOfTheChart(t *testing.T) {
	objects, _, err := render(t, map[string]any{"secret": map[string]any{"existing": "regwarden"}})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, deployDir+"/kubernetes/regwarden.yaml",
		"---\n# The chart of ../chart with its default values and the Secret regwarden: written by `make docs`.\n"+
			strings.TrimPrefix(objects, "---\n"))
}

// A generated Secret is of use: regwarden reads its master key. Rendered without a cluster, each has another key, hence it is immutable:
// Kubernetes refuses to replace the key, without which stored credentials cannot be decrypted.
func TestGeneratedSecret(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: "regwarden", Namespace: namespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict([]byte(files["regwarden/templates/secret.yaml"]), &secret); err != nil {
		t.Fatal(err)
	}
	if key, password := secret.Data["master-key"], secret.Data["first-password"]; len(key) != 44 || len(password) != 32 {
		t.Errorf("the master key has %d characters, the password %d", len(key), len(password))
	}
	if secret.Immutable == nil || !*secret.Immutable {
		t.Error("the Secret can be changed")
	}
}

// Values that cannot work are refused, with their name.
func TestValuesAreRefused(t *testing.T) {
	for text, want := range map[string]string{"replicas: 2": "postgresql.urlSecret.name", "replicas: 0": "replicas",
		"replica: 1":                         "replica",
		"clusterSource: {namespaces: [A_b]}": "namespaces", "settings: {REGWARDEN_LISTEN: a}": "REGWARDEN_LISTEN",
		"image: {digest: abc}": "digest", "bootstrap: {email: ada}": "email"} {
		if _, _, err := render(t, valuesOf(t, []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The notes say what the choice of namespaces means.
func TestNotes(t *testing.T) {
	for text, want := range map[string]string{
		"clusterSource: {enabled: true, namespaces: [apps, db]}":  "from the namespaces apps, db, with a Role in each",
		"clusterSource: {enabled: true}":                          "from the namespaces regwarden, with a Role",
		"clusterSource: {enabled: true, allNamespaces: true}":     "can read every Secret of this cluster",
		"ingress: {enabled: true, host: r.test, tlsSecret: cert}": "https://r.test",
	} {
		if _, notes, err := render(t, valuesOf(t, []byte(text))); err != nil || !strings.Contains(notes, want) {
			t.Errorf("%s: %v\n%s", text, err, notes)
		}
	}
}

// The settings that the chart sets exist.
func TestChartSetsKnownSettings(t *testing.T) {
	for _, name := range scenarios {
		_, objects := scenario(t, name)
		var used []string
		for key := range object[corev1.ConfigMap](t, objects, "ConfigMap").Data {
			used = append(used, key)
		}
		for _, e := range object[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.Containers[0].Env {
			if !strings.HasPrefix(e.Name, "OTEL_") { // of OpenTelemetry, from the values
				used = append(used, e.Name)
			}
		}
		knows(t, name, used)
	}
}

// Numbers of the values are written as settings are read: without an exponent, and a fraction is not cut off, but refused at the start.
func TestNumbersOfSettings(t *testing.T) {
	values := "settings: {organization-registries: 2000000, check-per-minute: 10000000, smtp-port: 587, login-queue: 1.5, console: false}"
	objects, _, err := render(t, valuesOf(t, []byte(values)))
	if err != nil {
		t.Fatal(err)
	}
	data := object[corev1.ConfigMap](t, objects, "ConfigMap").Data
	for name, want := range map[string]string{"ORGANIZATION_REGISTRIES": "2000000", "CHECK_PER_MINUTE": "10000000", "SMTP_PORT": "587",
		"LOGIN_QUEUE": "1.5", "CONSOLE": "false"} {
		if got := data["REGWARDEN_"+name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// Only what is read gets rights, those of docs/kubernetes.md, and a Role is in each namespace.
func TestChartRights(t *testing.T) {
	want := documentedRules(t)
	_, everything := scenario(t, "everything")
	if diff := cmp.Diff(want, object[rbacv1.ClusterRole](t, everything, "ClusterRole").Rules); diff != "" {
		t.Errorf("the ClusterRole and docs/kubernetes.md differ:\n%s", diff)
	}
	_, objects := scenario(t, "cluster")
	var namespaces []string
	for _, document := range documents(objects) {
		if strings.Contains(document, "\nkind: Role\n") {
			role := object[rbacv1.Role](t, document, "Role")
			namespaces = append(namespaces, role.Namespace)
			if diff := cmp.Diff(want, role.Rules); diff != "" {
				t.Errorf("the Role of %s and docs/kubernetes.md differ:\n%s", role.Namespace, diff)
			}
			for _, rule := range role.Rules {
				if verbs := strings.Join(rule.Verbs, " "); verbs != "list watch" && (verbs != "create" || rule.Resources[0] != "events") {
					t.Errorf("the role may %s %s", verbs, rule.Resources)
				}
			}
		}
	}
	if !slices.Equal(namespaces, []string{"apps", "flux-system"}) || strings.Contains(objects, "ClusterRole") {
		t.Errorf("roles in %v", namespaces)
	}
	for name, want := range map[string]bool{"sqlite": false, "cluster": true, "everything": true} {
		_, objects := scenario(t, name)
		if got := object[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.AutomountServiceAccountToken; *got != want {
			t.Errorf("%s: a token of the cluster is mounted: %t", name, *got)
		}
	}
}

// documentedRules returns the rules in docs/kubernetes.md.
func documentedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	_, block, found := strings.Cut(string(mustRead(t, "../../docs/kubernetes.md")), "\n    rules:\n")
	if !found {
		t.Fatal("docs/kubernetes.md has no rules")
	}
	block, _, _ = strings.Cut(block, "\n\n")
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(block), &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestChartPage writes the table of values in the chart's README.
func TestChartPage(t *testing.T) {
	var values yamlv3.Node
	if err := yamlv3.Unmarshal(mustRead(t, chartDir+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	file := chartDir + "/README.md"
	page := string(mustRead(t, file))
	const begin, end = "| value | default | |\n| --- | --- | --- |\n", "\n## "
	before, rest, found := strings.Cut(page, begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatal("the page has no table of values")
	}
	golden(t, file, before+begin+rowsOf(t, "", values.Content[0])+end+after)
}

// rowsOf returns a row for each value, with the comment above it.
func rowsOf(t *testing.T, path string, node *yamlv3.Node) (rows string) {
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := path + key.Value
		comment := strings.Join(strings.Fields(strings.ReplaceAll(key.HeadComment, "#", "")), " ")
		if value.Kind == yamlv3.MappingNode && value.Style&yamlv3.FlowStyle == 0 {
			if comment != "" {
				t.Errorf("the comment of %s is not on the page", name)
			}
			rows += rowsOf(t, name+".", value)
			continue
		}
		text, err := yamlv3.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.TrimSpace(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(text), ""))
		rows += fmt.Sprintf("| `%s` | `%s` | %s |\n", name, shown, comment)
	}
	return rows
}

func documents(objects string) (list []string) {
	for document := range strings.SplitSeq(objects, "\n---\n") {
		list = append(list, strings.TrimPrefix(document, "---\n"))
	}
	return list
}

// object returns the first object of a kind, read as Kubernetes does, but refusing what it would ignore: a misspelt field.
func object[T any](t *testing.T, objects, kind string) (o T) {
	t.Helper()
	for _, document := range documents(objects) {
		if strings.Contains("\n"+document, "\nkind: "+kind+"\n") {
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			return o
		}
	}
	t.Fatalf("there is no %s in\n%s", kind, objects)
	return o
}

// serviceMonitor has the fields of the operator's type that the chart uses.
type serviceMonitor struct {
	APIVersion, Kind string
	Metadata         struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Spec struct {
		JobLabel  string
		Selector  struct{ MatchLabels map[string]string }
		Endpoints []struct{ Port, Interval string }
	}
}

func decodeObject(t *testing.T, scenario, document string) {
	t.Helper()
	var head struct{ Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		t.Fatalf("%s: %v\n%s", scenario, err, document)
	}
	into, known := map[string]any{"Deployment": &appsv1.Deployment{}, "ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{},
		"ServiceAccount": &corev1.ServiceAccount{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
		"Ingress": &networkingv1.Ingress{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
		"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		"ServiceMonitor": &serviceMonitor{}}[head.Kind]
	switch {
	case head.Kind == "Secret": // its values are replaced
	case head.Kind == "PrometheusRule":
		checkRules(t, document)
	case !known:
		t.Errorf("%s: %q is not a kind that is known here", scenario, head.Kind)
	default:
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %s: %v", scenario, head.Kind, err)
		}
	}
}

// checkRules has promtool read the groups of a PrometheusRule.
func checkRules(t *testing.T, document string) {
	t.Helper()
	promtool := needs.Program(t, "promtool", "prometheus")
	var rule struct{ Spec map[string]any }
	if err := yaml.Unmarshal([]byte(document), &rule); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("19 rules found")) {
		t.Errorf("%v\n%s", err, out)
	}
}
