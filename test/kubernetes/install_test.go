package kubernetes_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"
)

// scenarios are the values files of test/deploy.
var scenarios = []string{"sqlite", "replicas", "cluster", "everything"}

// generated are the values of a Secret that the chart generates, random each time.
var generated = regexp.MustCompile(`(?m)^  (master-key|first-password): (\S+)$`)

// Helm lints the chart with the values of each scenario, installs it, upgrades it and uninstalls it. What it installs are the golden
// objects, which it sends with strict validation of fields; a generated Secret stays the same.
func testInstall(t *testing.T, server *apiServer) {
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			values := map[string]any{}
			text, err := os.ReadFile("../deploy/testdata/chart/" + scenario + ".values.yaml")
			if err == nil {
				err = yaml.UnmarshalStrict(text, &values)
			}
			if err != nil {
				t.Fatal(err)
			}
			if result := action.NewLint().Run([]string{chartDir}, values); action.HasWarningsOrErrors(result) {
				t.Errorf("helm lint: %v %v", result.Messages, result.Errors)
			}
			helm := newHelm(t, server)
			installed := helm.install(values)
			want := readDocuments(t, "../deploy/testdata/chart/"+scenario+".yaml")
			got := withoutGenerated(installed)
			for _, document := range want {
				document = strings.TrimSpace(generated.ReplaceAllString(document, "  $1: generated"))
				if !slices.Contains(got, document) {
					t.Errorf("not installed:\n%s", document)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d objects are installed, want %d", len(got), len(want))
			}
			for _, document := range installed {
				server.get(t, pathOf(t, document), asYAML)
			}
			if upgraded := helm.upgrade(values); !slices.Equal(upgraded, installed) {
				t.Errorf("the upgrade changed objects:\n%s", strings.Join(upgraded, "\n---\n"))
			}
			helm.uninstall()
			for _, document := range installed {
				status, text, err := server.do(http.MethodGet, pathOf(t, document), "", asYAML)
				stays := strings.Contains(document, "helm.sh/resource-policy: keep")
				if err != nil || stays != (status == http.StatusOK) || stays == (status == http.StatusNotFound) {
					t.Errorf("after the uninstallation: %d %s %v of\n%s", status, text, err, document)
				}
			}
		})
	}
}

// withoutGenerated returns objects without random values.
func withoutGenerated(documents []string) (texts []string) {
	for _, document := range documents {
		texts = append(texts, generated.ReplaceAllString(document, "  $1: generated"))
	}
	return texts
}

// pathOf returns the path of an object of the chart.
func pathOf(t *testing.T, document string) string {
	t.Helper()
	path := rendered[field(t, document, "kind: ")]
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, field(t, document, "  namespace: "))
	}
	return path + "/" + field(t, document, "  name: ")
}

// helm is Helm with a release named regwarden in the namespace of that name.
type helm struct {
	t             *testing.T
	configuration *action.Configuration
}

const (
	chartDir    = "../../deploy/chart"
	releaseName = "regwarden"
)

func newHelm(t *testing.T, server *apiServer) helm {
	flags := genericclioptions.NewConfigFlags(false)
	file, namespace := server.kubeconfig(t, server.url, token), releaseName
	flags.KubeConfig, flags.Namespace = &file, &namespace
	configuration := action.NewConfiguration()
	if err := configuration.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	oldest, err := common.ParseKubeVersion("v1.30.0") // of the chart; a server that go builds has no version
	if err != nil {
		t.Fatal(err)
	}
	configuration.Capabilities = common.DefaultCapabilities.Copy()
	configuration.Capabilities.KubeVersion = *oldest
	return helm{t, configuration}
}

func (h helm) install(values map[string]any) []string {
	h.t.Helper()
	install := action.NewInstall(h.configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = releaseName, releaseName, true
	install.WaitStrategy = kube.HookOnlyStrategy // no pod runs
	chart, err := loader.Load(chartDir)
	if err != nil {
		h.t.Fatal(err)
	}
	released, err := install.Run(chart, values)
	return h.objects(released, err)
}

func (h helm) upgrade(values map[string]any) []string {
	h.t.Helper()
	upgrade := action.NewUpgrade(h.configuration)
	upgrade.Namespace, upgrade.WaitStrategy = releaseName, kube.HookOnlyStrategy
	chart, err := loader.Load(chartDir)
	if err != nil {
		h.t.Fatal(err)
	}
	released, err := upgrade.Run(releaseName, chart, values)
	return h.objects(released, err)
}

func (h helm) uninstall() {
	h.t.Helper()
	uninstall := action.NewUninstall(h.configuration)
	uninstall.WaitStrategy, uninstall.DeletionPropagation = kube.HookOnlyStrategy, "background"
	if _, err := uninstall.Run(releaseName); err != nil {
		h.t.Fatal(err)
	}
}

// objects returns the objects of a release.
func (h helm) objects(released release.Releaser, err error) (documents []string) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	found, err := release.NewAccessor(released)
	if err != nil {
		h.t.Fatal(err)
	}
	for document := range strings.SplitSeq(found.Manifest(), "---\n") {
		if _, text, isObject := strings.Cut(document, "\n"); isObject { // after the comment that names the template
			documents = append(documents, strings.TrimSpace(text))
		}
	}
	return documents
}
