package definitions

import (
	"strconv"
	"strings"
	"testing"
)

func secretIn(namespace string) string {
	return "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: " + namespace + "}\n" +
		"stringData: {username: u, password: p}\n"
}

// TestRulesOfObjects: which registry an object of Kubernetes names, and which Secrets its program uses.
func TestRulesOfObjects(t *testing.T) {
	const (
		file  = "a.yaml"
		repo  = "apiVersion: catalog.cattle.io/v1\nkind: ClusterRepo\nmetadata: {name: a}\nspec: {url: 'oci://one.test:5000"
		chart = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: a, namespace: a}\n" +
			"spec: {chart: 'oci://one.test/charts/app', version: 1.2.3"
		cluster = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: a}\n" +
			"spec: {imageName: 'one.test/app:1', imagePullSecrets: [{name: login}]}\n"
		provider = "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: a}\n" +
			"spec: {package: 'one.test/app:1', packagePullSecrets: [{name: login}]}\n"
		app = "apiVersion: kappctrl.k14s.io/v1alpha1\nkind: App\nmetadata: {name: a, namespace: a}\n" +
			"spec: {fetch: [{image: {url: 'one.test/app:1', secretRef: {name: login}}}]}\n"
		op = "apiVersion: fleet.cattle.io/v1alpha1\nkind: HelmOp\nmetadata: {name: a, namespace: a}\n" +
			"spec: {helmSecretName: login, helm: {repo: 'oci://one.test:5000', chart: app, version: 1.0.0}}\n"
		ignored = "https://one.test app,notice noMatchingCredentials,notice notUsedByConsumer"
	)
	for _, rule := range []formatRule{
		{name: "the port of a registry of Rancher", file: file,
			text: repo + "', clientSecret: {name: login, namespace: a}}" + secretIn("a"), want: "https://one.test:5000 u p"},
		{name: "the port of a registry of Fleet", file: file, text: op + secretIn("a"), want: "https://one.test:5000 u p"},
		{name: "a registry alone, without a Secret", file: file, text: repo + "'}\n"},
		{name: "a chart without TLS", file: file, text: repo + "/charts', insecurePlainHttp: true}\n",
			want: "http://one.test:5000 charts,notice plainHttp"},
		{name: "a chart without verification", file: file, text: repo + "/charts', insecureSkipTLSVerify: true}\n",
			want: "https://one.test:5000 charts,notice insecureSkipVerify"},
		{name: "charts of Fleet without verification", file: file,
			text: strings.Replace(op, "spec: {", "spec: {insecureSkipTLSVerify: true, ", 1) + secretIn("a"),
			want: "https://one.test:5000 u p,notice insecureSkipVerify"},
		{name: "a chart repository of Fleet without verification", file: file,
			text: strings.NewReplacer("spec: {", "spec: {insecureSkipTLSVerify: true, ", "oci:", "https:").Replace(op) + secretIn("a"),
			want: "https://one.test:5000 app:1.0.0 u p,notice insecureSkipVerify"},
		{name: "a chart with a CA", file: file, text: chart + ", repoCA: " + strconv.Quote(exampleCert) + "}\n",
			want: "https://one.test charts/app:1.2.3"},
		{name: "a chart with an empty CA", file: file, text: chart + ", repoCA: ''}\n",
			want: "reference https://one.test charts/app:1.2.3"},
		{name: "a Secret that kubelet ignores", file: file, text: cluster + secretIn("a"), want: ignored},
		{name: "a Secret that Crossplane ignores", file: file, text: provider + secretIn("crossplane-system"), want: ignored},
		{name: "a Secret that kapp-controller uses", file: file, text: app + secretIn("a"), want: "https://one.test app u p"},
	} {
		rule.check(t)
	}
}
