package definitions

import "testing"

// A chart in an OCI registry has its name, version or range of versions wherever the program that reads the file takes them from.
func TestVersionsOfChartsInRegistries(t *testing.T) {
	const (
		helmChart = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: a, namespace: a}\n" +
			"spec: {chart: 'oci://one.test/charts/app'"
		helmOp   = "apiVersion: fleet.cattle.io/v1alpha1\nkind: HelmOp\nmetadata: {name: a, namespace: a}\nspec: {helm: {"
		skipping = "apiVersion: fleet.cattle.io/v1alpha1\nkind: HelmOp\nmetadata: {name: a, namespace: a}\n" +
			"spec: {insecureSkipTLSVerify: true, helm: "
		digest   = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		vendir   = "kind: Config\ndirectories: [{path: a, contents: [{helmChart: {name: app, version: 1.2.3, repository: "
		skaffold = "apiVersion: skaffold/v4beta1\nkind: Config\ndeploy: {helm: {releases: [{name: a, version: 1.2.3, remoteChart: "
		secret   = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\ntype: kubernetes.io/dockerconfigjson\n" +
			`stringData: {.dockerconfigjson: '{"auths": {"one.test": {"username": "u", "password": "p"}}}'}`
		chart = "reference https://one.test charts/app"
	)
	for _, rule := range []formatRule{
		{name: "k3s", file: "a.yaml", text: helmChart + ", version: 1.2.3+4}", want: chart + ":1.2.3_4"},
		{name: "k3s with a range", file: "a.yaml", text: helmChart + ", version: '>=1.2 <2'}", want: chart + ":>=1.2 <2"},
		{name: "k3s without a version", file: "a.yaml", text: helmChart + "}", want: chart},
		{name: "k3s with a variable", file: "a.yaml", text: helmChart + ", version: '${VERSION}'}", want: chart},
		{name: "k3s with a Secret", file: "a.yaml", text: helmChart + ", version: 1.2.3, dockerRegistrySecret: {name: pull}}\n" + secret,
			want: "https://one.test charts/app:1.2.3 u p,https://one.test u p"},
		{name: "Fleet with a tag and without TLS verification", file: "a.yaml",
			text: skipping + "{chart: 'oci://one.test/charts/app:1.2.3'}}",
			want: "https://one.test charts/app:1.2.3,notice insecureSkipVerify"},
		{name: "Fleet with a digest and without TLS verification", file: "a.yaml",
			text: skipping + "{chart: 'oci://one.test/charts/app:1.2.3@" + digest + "'}}",
			want: "https://one.test charts/app@" + digest + ",notice insecureSkipVerify"},
		{name: "Fleet with a variable and without TLS verification", file: "a.yaml",
			text: skipping + "{chart: 'oci://one.test/charts/app:$TAG'}}", want: "https://one.test charts/app,notice insecureSkipVerify"},
		{name: "Fleet", file: "a.yaml", text: helmOp + "chart: 'oci://one.test/charts/app', version: 1.2.3}}", want: chart + ":1.2.3"},
		{name: "Fleet with a repository and a chart", file: "a.yaml",
			text: helmOp + "repo: 'oci://one.test/charts', chart: app, version: 1.2.3}}",
			want: "reference https://one.test charts"},
		{name: "fleet.yaml", file: "fleet.yaml", text: "helm: {chart: 'oci://one.test/charts/app', version: 1.2.3}",
			want: chart + ":1.2.3"},
		{name: "vendir", file: "vendir.yml", text: vendir + "{url: 'oci://one.test/charts/'}}}]}]", want: chart + ":1.2.3"},
		{name: "vendir with a Secret", file: "vendir.yml", text: vendir + "{url: 'oci://one.test/charts', secretRef: {name: a}}}}]}]",
			want: "https://one.test charts/app:1.2.3,unresolved referenceMissing"},
		{name: "skaffold", file: "skaffold.yaml", text: skaffold + "'oci://one.test/charts/app'}]}}", want: chart + ":1.2.3"},
	} {
		rule.check(t)
	}
}
