package definitions

import (
	"strings"
	"testing"
)

// The path of an image without a namespace is in "library" on Docker Hub, also if its host is written; that of a prefix is as written,
// and a prefix without credentials is no reference.
func TestImagesOnDockerHub(t *testing.T) {
	const (
		hub = "apiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: a}\ntype: kubernetes.io/dockerconfigjson\n" +
			`stringData: {.dockerconfigjson: '{"auths": {"https://index.docker.io/v1/": {"username": "u", "password": "p"}}}'}` + "\n---\n"
		all    = "https://registry-1.docker.io u p,"
		policy = "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: a, namespace: a}\nspec: {rules: [{verifyImages: " +
			"[{imageRegistryCredentials: {secrets: [pull]}, imageReferences: ['"
		end = "']}]}]}\n"
	)
	secretOfKyverno := strings.Replace(hub, "namespace: a", "namespace: kyverno", 1)
	ofOther := func(secret string) string {
		return strings.Replace(secret, "https://index.docker.io/v1/", "one.test:5000", 1)
	}
	for _, rule := range []formatRule{
		{name: "kubelet", file: "a.yaml", text: hub + "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: a}\nspec:\n" +
			"  imagePullSecrets: [{name: pull}]\n  containers: [{image: 'docker.io/redis:7'}, {image: 'index.docker.io/acme/app:7'}]\n",
			want: all + "https://registry-1.docker.io library/redis u p,https://registry-1.docker.io acme/app u p"},
		{name: "Flux", file: "a.yaml", text: hub + "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\n" +
			"metadata: {name: a, namespace: a}\nspec: {image: docker.io/redis, secretRef: {name: pull}}\n",
			want: all + "https://registry-1.docker.io library/redis u p"},
		{name: "Kyverno", file: "a.yaml", text: secretOfKyverno + policy + "docker.io/redis:7" + end,
			want: all + "https://registry-1.docker.io library/redis u p"},
		{name: "Kyverno with a wildcard", file: "a.yaml", text: secretOfKyverno + policy + "docker.io/acme/*" + end,
			want: all + "https://registry-1.docker.io acme u p"},
		{name: "FluxInstance", file: "a.yaml", text: hub + "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n" +
			"metadata: {name: a, namespace: a}\nspec: {distribution: {registry: docker.io/fluxcd, imagePullSecret: pull}}\n",
			want: all + "https://registry-1.docker.io fluxcd u p"},
		{name: "Kyverno with a host and a wildcard", file: "a.yaml", text: ofOther(secretOfKyverno) + policy + "one.test:5000/*" + end,
			want: "https://one.test:5000 u p"},
		{name: "FluxInstance with a host", file: "a.yaml", text: ofOther(hub) + "apiVersion: fluxcd.controlplane.io/v1\n" +
			"kind: FluxInstance\nmetadata: {name: a, namespace: a}\n" +
			"spec: {distribution: {registry: 'one.test:5000', imagePullSecret: pull}}\n", want: "https://one.test:5000 u p"},
		{name: "Kyverno without Secrets", file: "a.yaml",
			text: strings.Replace(policy, "secrets: [pull]", "", 1) + "docker.io/redis:7" + end,
			want: "reference https://registry-1.docker.io library/redis:7"},
		{name: "Kyverno with a wildcard, without Secrets", file: "a.yaml",
			text: strings.Replace(policy, "secrets: [pull]", "", 1) + "docker.io/acme/*" + end},
		{name: "FluxInstance without a Secret", file: "a.yaml", text: "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n" +
			"metadata: {name: a, namespace: a}\nspec: {distribution: {registry: docker.io/fluxcd}}\n"},
		{name: "GitHub", file: ".github/workflows/a.yaml", text: "on: push\njobs:\n  a:\n    container:\n      image: docker.io/redis:7\n" +
			"      credentials: {username: u, password: p}\n    steps: []\n",
			want: "https://registry-1.docker.io library/redis u p,notice secretInRepository"},
	} {
		rule.check(t)
	}
}
