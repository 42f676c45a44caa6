package definitions

import "testing"

func secretIn(namespace string) string {
	return "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: " + namespace + "}\n" +
		"stringData: {username: u, password: p}\n"
}

// TestRulesOfObjects: which registry an object of Kubernetes names.
func TestRulesOfObjects(t *testing.T) {
	const (
		file = "a.yaml"
		repo = "apiVersion: catalog.cattle.io/v1\nkind: ClusterRepo\nmetadata: {name: a}\nspec: {url: 'oci://one.test:5000'"
		op   = "apiVersion: fleet.cattle.io/v1alpha1\nkind: HelmOp\nmetadata: {name: a, namespace: a}\n" +
			"spec: {helmSecretName: login, helm: {repo: 'oci://one.test:5000', chart: app, version: 1.0.0}}\n"
	)
	for _, rule := range []formatRule{
		{name: "the port of a registry of Rancher", file: file,
			text: repo + ", clientSecret: {name: login, namespace: a}}" + secretIn("a"), want: "https://one.test:5000 u p"},
		{name: "the port of a registry of Fleet", file: file, text: op + secretIn("a"), want: "https://one.test:5000 u p"},
		{name: "a registry alone, without a Secret", file: file, text: repo + "}\n"},
	} {
		rule.check(t)
	}
}
